/**
 * Session logs of other programs, made into logs of new sessions.
 *
 * @module
 */
import { type ForeignReport, openForeign } from "../foreign/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { logInMemory } from "./log_in_memory.ts";
import { systemRuntime } from "./system.ts";

export { type ForeignFormat, type ForeignLoss, type ForeignReport, recogniseForeign } from "../foreign/mod.ts";

/** A file that may be the session log of another program. */
export interface ForeignConversionOptions {
  /** Makes the id of the new session: called once, and only when the file is such a log. */
  readonly newId: () => string;
  /** What the file is called. */
  readonly name: string;
  /** The whole of it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whose clock stands for times the file does not give. Default: the system's. */
  readonly runtime?: Runtime;
}

/** A session that was made of a foreign log. */
export interface ForeignConversion extends ForeignReport {
  /** The id of the new session. */
  readonly id: string;
  /** The new log: `RawLogs.take` keeps it, whole or not at all. */
  readonly log: Uint8Array<ArrayBuffer>;
}

/**
 * Makes the log of a new session of a session log of Claude Code, OpenAI Codex or pi, and says what was left out.
 *
 * Everything happens in memory: nothing is kept yet when it resolves.
 *
 * @returns `null` when the file is the log of none of these programs
 * @throws {CorruptLogError} when there is no message in it
 * @throws {TooLargeError} when it has too many lines
 *
 * @example
 * ```ts
 * import { convertForeign } from "./foreign.ts";
 *
 * const line = '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}';
 * const made = await convertForeign({ newId: () => "a", name: "s.jsonl", bytes: new TextEncoder().encode(line) });
 * if (made?.program !== "Claude Code" || made.messages !== 1) throw new Error("unreachable");
 * ```
 */
export async function convertForeign(options: ForeignConversionOptions): Promise<ForeignConversion | null> {
  const { name, bytes, newId, runtime = systemRuntime } = options;
  const foreign = openForeign({ name, bytes });
  if (foreign === null) return null;
  const now = runtime.clock.now();
  const id = newId();
  const { log } = await logInMemory(runtime, async (store) => {
    const writer = await store.create(foreign.header(id, now));
    try {
      for await (const batch of foreign.batches(now)) await writer.append(batch);
    } finally {
      await writer.close();
    }
    return { id };
  });
  return { id, log, ...foreign.report() };
}
