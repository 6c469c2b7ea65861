/**
 * Checks a migrated log on another thread, where there is one.
 *
 * @module
 */
import { accessSync } from "node:fs";
import { CorruptFrameError, CorruptLogError, TooLargeError, UnsupportedFormatError } from "../errors.ts";
import { nodeZstd } from "../frame/node_zstd.ts";
import { type StagedFacts, type StageVerifier, verifyHere } from "../journal/mod.ts";
import { startThread, type Thread } from "./thread.ts";
import type { VerifyAnswer, VerifyOrder } from "./verify_messages.ts";

/** A smaller log is checked where the migration runs: starting a thread takes longer than reading that much. */
export const THREAD_SIZE_BYTES_MIN: number = 4 * 1024 * 1024;

/**
 * The verifier for Deno and Node: a thread of its own for a large log. A process that may not start one, as when it may not read
 * its own sources, checks the log itself, and no less strictly.
 *
 * @example
 * ```ts
 * import { encodeLines } from "../frame/mod.ts";
 * import { JOURNAL_LIMITS } from "../journal/mod.ts";
 * import { verifyOnThread } from "./verify_thread.ts";
 *
 * const header = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}';
 * const bytes = encodeLines([header]);
 * const read = (start: number, end: number) => Promise.resolve(bytes.slice(start, end));
 * const staged = { name: "session.v3.jsonl", sizeBytes: bytes.length, encoding: "none" } as const;
 * if ((await verifyOnThread(staged, read, JOURNAL_LIMITS)).id !== "a") throw new Error("unreachable");
 * ```
 */
export const verifyOnThread: StageVerifier = async (staged, read, limits) => {
  const thread = staged.sizeBytes < THREAD_SIZE_BYTES_MIN ? null : startOrNull();
  const found = thread === null ? null : await askThread(thread, staged, read, limits);
  return found ?? await verifyHere(nodeZstd())(staged, read, limits);
};

/** What the thread found; `null` when it never came up. */
async function askThread(
  thread: Thread,
  ...[staged, read, limits]: Parameters<StageVerifier>
): Promise<StagedFacts | null> {
  const done = Promise.withResolvers<StagedFacts | null>();
  const order = (order: VerifyOrder, transfer?: readonly ArrayBuffer[]) => thread.send(order, transfer);
  let isReady = false;
  let failure: unknown = null;
  thread.onFailure((error) => isReady ? done.reject(error) : done.resolve(null));
  thread.onMessage(async (message) => {
    const answer = message as VerifyAnswer;
    switch (answer.kind) {
      case "ready":
        isReady = true;
        return order({ kind: "check", staged, limits });
      case "done":
        return done.resolve(answer.facts);
      case "refused":
        return done.reject(failure ?? refusal(answer));
      case "read":
        try {
          const bytes = await read(answer.startBytes, answer.endBytes);
          order({ kind: "bytes", bytes }, [bytes.buffer]);
        } catch (error) {
          failure = error; // The medium's own error, which the thread would only repeat.
          order({ kind: "failed", message: String(error) });
        }
    }
  });
  try {
    return await done.promise;
  } finally {
    await thread.terminate();
  }
}

function startOrNull(): Thread | null {
  // The package holds .js where the repository holds .ts.
  const name = import.meta.url.endsWith(".ts") ? "./verify_worker.ts" : "./verify_worker.js";
  const module = new URL(name, import.meta.url);
  try {
    // A process that may not read it would complain aloud.
    accessSync(module);
    return startThread(module);
  } catch {
    return null;
  }
}

function refusal({ code, message }: { readonly code: string | null; readonly message: string }): Error {
  switch (code) {
    case "CORRUPT_FRAME":
      return new CorruptFrameError(message);
    case "CORRUPT_LOG":
      return new CorruptLogError(message);
    case "TOO_LARGE":
      return new TooLargeError(message);
    case "UNSUPPORTED_FORMAT":
      return new UnsupportedFormatError(message);
    default:
      return new Error(message);
  }
}
