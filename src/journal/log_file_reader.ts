/**
 * Reading one log file by its name, wherever it lies.
 *
 * @module
 */
import { NotFoundError } from "../errors.ts";
import { FRAME_MAGIC } from "../frame/mod.ts";
import type { LogReader, OpenOptions } from "../store/session_store.ts";
import { Bells } from "./bells.ts";
import { openReader } from "./generations/open_reader.ts";
import type { JournalOptions } from "./journal.ts";
import { JOURNAL_LIMITS } from "./limits.ts";

/**
 * Opens a bare log file for reading. Its version comes from its header and its encoding from its first bytes; where it lies and
 * what it is called mean nothing. Copies of its torn tail count when they lie beside it.
 *
 * @param name the file's name on the storage. Closing the reader leaves the storage open
 * @throws {NotFoundError}
 * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when not even the header can be read
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../adapters/memory/memory_storage.ts";
 * import { portableZstd } from "../frame/portable_zstd.ts";
 * import { openLogFile } from "./log_file_reader.ts";
 *
 * const storage = new MemoryStorage();
 * const line = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\n';
 * storage.stranger.write("copy of a.jsonl", new TextEncoder().encode(line));
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };
 * await using log = await openLogFile({ storage, codec: portableZstd(), clock, random }, "copy of a.jsonl");
 * if (log.id !== "a") throw new Error("unreachable");
 * ```
 */
export async function openLogFile(
  options: Omit<JournalOptions, "compression">,
  name: string,
  openOptions: OpenOptions = {},
): Promise<LogReader> {
  const { storage, codec, clock, random } = options;
  const limits = { ...JOURNAL_LIMITS, ...options.limits };
  if (await storage.stat(name) === null) throw new NotFoundError(`Cannot open "${name}": there is no such file`);
  const head = await storage.read(name, { startBytes: 0, endBytes: FRAME_MAGIC.length });
  const encoding = FRAME_MAGIC.every((byte, index) => head[index] === byte) ? "zstd" : "none";
  const context = { storage, codec, clock, random, limits, compression: encoding, bells: new Bells() } as const;
  const place = { id: name, folder: name.slice(0, name.lastIndexOf("/") + 1), log: name, encoding } as const;
  return await openReader(context, place, () => Promise.resolve(null), openOptions);
}
