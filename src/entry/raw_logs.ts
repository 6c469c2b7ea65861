/**
 * Logs as bytes, over whatever storage an entry opened: export, and import.
 *
 * @module
 */
import { portableZstd } from "../frame/portable_zstd.ts";
import { type JournalOptions, type RawLogs, rawLogs } from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "./system.ts";

export {
  archiveChunks,
  type ArchivedLog,
  type LogArchive,
  type LogSource,
  RAW_LOG_BYTES_MAX,
  type RawLogs,
  type TakenLog,
  unpackLog,
  type ZipBounds,
} from "../journal/mod.ts";

/**
 * The logs of a storage as bytes.
 *
 * @param storage stays the caller's; it may be one of its own over the same medium as a store's
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "./memory.ts";
 * import { openRawLogs } from "./raw_logs.ts";
 *
 * const logs = openRawLogs(new MemoryStorage());
 * const line = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\n';
 * const { id, fault } = await logs.take("a.jsonl", new TextEncoder().encode(line));
 * if (id !== "a" || fault !== null) throw new Error("unreachable");
 * ```
 */
export function openRawLogs(storage: JournalOptions["storage"], runtime: Runtime = systemRuntime): RawLogs {
  return rawLogs({ storage, codec: portableZstd(), ...runtime });
}
