/**
 * The bytes of a log that is written in memory first: what is not whole is never kept.
 *
 * @module
 */
import { MemoryStorage } from "../adapters/memory/mod.ts";
import { portableZstd } from "../frame/portable_zstd.ts";
import { openJournal } from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SessionStore } from "../store/session_store.ts";

/**
 * Gives a store in memory to a function that writes one session into it, and the bytes of its log back.
 *
 * @returns what the function said, and the log; an empty one when it made no session
 *
 * @example
 * ```ts
 * import { logInMemory } from "./log_in_memory.ts";
 * import { systemRuntime } from "./system.ts";
 *
 * const { log } = await logInMemory(systemRuntime, () => Promise.resolve(null));
 * if (log.length !== 0) throw new Error("unreachable");
 * ```
 */
export async function logInMemory<Result extends { readonly id: string } | null>(
  runtime: Runtime,
  make: (store: SessionStore) => Promise<Result>,
): Promise<{ readonly result: Result; readonly log: Uint8Array<ArrayBuffer> }> {
  const storage = new MemoryStorage();
  const store = openJournal({ storage, codec: portableZstd(), ...runtime });
  const result = await make(store);
  const row = result === null ? null : await store.stat(result.id);
  return { result, log: row === null ? new Uint8Array(0) : await storage.read(row.name) };
}
