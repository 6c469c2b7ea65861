/**
 * Session logs of other programs, taken into any store as new sessions.
 *
 * @module
 */
import { type ForeignReport, openForeign } from "../foreign/mod.ts";
import type { SessionStore } from "../store/session_store.ts";

export { type ForeignFormat, type ForeignLoss, type ForeignReport, recogniseForeign } from "../foreign/mod.ts";

/** A file that may be the session log of another program. */
export interface ForeignImportOptions {
  /** Where the new session is kept. */
  readonly store: SessionStore;
  /** Makes the id of the new session: called once, and only when the file is such a log. */
  readonly newId: () => string;
  /** What the file is called. */
  readonly name: string;
  /** The whole of it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A session that was made of a foreign log. */
export interface ForeignImport extends ForeignReport {
  /** The id of the new session. */
  readonly id: string;
}

/**
 * Makes a new session of a session log of Claude Code, OpenAI Codex or pi, and says what was left out.
 *
 * The session is durable when it resolves. One that could not be made whole is removed again.
 *
 * @returns `null` when the file is the log of none of these programs; nothing was written then
 * @throws {CorruptLogError} when there is no message in it
 * @throws {TooLargeError} when it has too many lines
 *
 * @example
 * ```ts
 * import { importForeign } from "./foreign.ts";
 * import { openMemoryStore } from "./memory.ts";
 *
 * await using store = openMemoryStore();
 * const line = '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}';
 * const made = await importForeign({ store, newId: () => "a", name: "s.jsonl", bytes: new TextEncoder().encode(line) });
 * if (made?.program !== "Claude Code" || made.messages !== 1) throw new Error("unreachable");
 * ```
 */
export async function importForeign(options: ForeignImportOptions): Promise<ForeignImport | null> {
  const { store, name, bytes } = options;
  const foreign = openForeign({ name, bytes });
  if (foreign === null) return null;
  const now = store.runtime.clock.now();
  const id = options.newId();
  const log = await store.create(foreign.header(id, now));
  let isWhole = false;
  try {
    for await (const batch of foreign.batches(now)) await log.append(batch);
    isWhole = true;
  } finally {
    const isWritten = log.state().sizeBytes !== null;
    await log.close().catch(() => {});
    if (!isWhole && isWritten) await store.delete(id).catch(() => {});
  }
  return { id, ...foreign.report() };
}
