/**
 * Logs as the bytes they are: taken out whole, and taken in from elsewhere, byte for byte.
 *
 * A log that was taken in may be a copy of one that went on elsewhere, so what is absent from it proves nothing. That it came
 * from elsewhere is kept beside it (`imported.json`), because the log itself stays as it came. Whoever opens it for writing first
 * appends `log/salvaged`, and every call before that is classed by the conservative rules.
 *
 * @module
 */
import { AlreadyExistsError, CorruptLogError, hasCode, HoldfastError, TooLargeError } from "../errors.ts";
import { checkAppendable, isEvent, type SessionEvent } from "../event/mod.ts";
import { publish } from "../storage/storage_port.ts";
import type { LogFault, LogReader, LogWriter } from "../store/session_store.ts";
import { type Blobs, getBlob, putBlob } from "./blobs.ts";
import { bytesStorage } from "./bytes_storage.ts";
import { sha256Hex } from "./digest.ts";
import type { JournalOptions } from "./journal.ts";
import { LOCK_NAME, logPath, sessionPath } from "./layout.ts";
import { JOURNAL_LIMITS } from "./limits.ts";
import { locate, locateLog } from "./locate.ts";
import { ARCHIVE_NAME, packLog, unpackLog } from "./log_archive.ts";
import { openLogFile } from "./log_file_reader.ts";
import { takeLock } from "./take_lock.ts";

/** The most bytes of a log that are taken in or out at once. */
export const RAW_LOG_BYTES_MAX = 1024 * 1024 * 1024;

/** The name, in a session's folder, of the note that its log came from elsewhere. */
export const IMPORT_NOTE_NAME = "imported.json";

/** The file a log came from. */
export interface LogSource {
  /** What it was called. */
  readonly name: string;
  /** Its length, in bytes. */
  readonly sizeBytes: number;
  /** Of its bytes, 64 lower-case hex digits. */
  readonly sha256: string;
}

/** Access to logs as bytes. */
export interface RawLogs {
  /**
   * The bytes of a session's log, and the name such a file has; with blobs, of a zip archive that holds both. Events that are not
   * durable are not in it.
   *
   * @throws {NotFoundError}
   * @throws {TooLargeError} over RAW_LOG_BYTES_MAX
   */
  read(id: string): Promise<{ readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }>;
  /**
   * Keeps a log under the id in its header, byte for byte; out of an archive also the blobs. A log with a fault is kept too, and can be read up to it.
   *
   * @param name what the file was called
   * @throws {AlreadyExistsError} when there is a session of this id, which its `sessionId` says; nothing was changed
   * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when not even the header can be read as version 3
   * @throws {TooLargeError} over RAW_LOG_BYTES_MAX
   */
  take(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<{ readonly id: string; readonly fault: LogFault | null }>;
  /** Whether a session's log was taken in here and nothing was written to it since. */
  isAsItCame(id: string): Promise<boolean>;
  /**
   * Appends `log/salvaged` to a log that came from elsewhere and does not say so yet. Does nothing for any other.
   *
   * @param events those of the log that are of the type `log/salvaged`
   * @returns the event, durable; `null` when there was nothing to do
   */
  admit(log: LogWriter, events: Iterable<SessionEvent>): Promise<SessionEvent | null>;
}

/**
 * The logs of a storage as bytes. The storage stays the caller's.
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../adapters/memory/memory_storage.ts";
 * import { portableZstd } from "../frame/portable_zstd.ts";
 * import { rawLogs } from "./raw_logs.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };
 * const logs = rawLogs({ storage: new MemoryStorage(), codec: portableZstd(), clock, random });
 * const line = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\n';
 * await logs.take("copy of a.jsonl", new TextEncoder().encode(line));
 * if (new TextDecoder().decode((await logs.read("a")).bytes) !== line) throw new Error("unreachable");
 * ```
 */
export function rawLogs(options: Omit<JournalOptions, "compression">): RawLogs {
  const { storage, clock } = options;
  return {
    async read(id) {
      const { log } = await locateLog(storage, id);
      const { sizeBytes } = await storage.stat(log) ?? { sizeBytes: 0 };
      checkSize(`read the log of session "${id}"`, sizeBytes);
      const name = log.slice(log.lastIndexOf("/") + 1);
      const bytes = await storage.read(log);
      // By these very bytes: the log may grow meanwhile.
      const blobs = await namedBlobs(options, log, bytes);
      if (blobs.length === 0) return { name, bytes };
      checkSize(
        `read the log of session "${id}" and its blobs`,
        blobs.reduce((sum, { length }) => sum + length, sizeBytes),
      );
      return { name: ARCHIVE_NAME, bytes: await packLog(name, bytes, blobs) };
    },

    async take(name, given) {
      checkSize(`take in "${name}"`, given.length);
      const { bytes, blobs } = await unpackLog(name, given) ?? { bytes: given, blobs: [] };
      const reader = await openLogFile({ ...options, storage: bytesStorage(name, bytes) }, name);
      try {
        const { header } = reader;
        const folder = sessionPath(header);
        const lock = await takeLock(storage, folder + LOCK_NAME, `take in session "${header.id}"`, clock);
        try {
          const { places: [taken] } = await locate(storage, header.id);
          if (taken !== undefined) {
            const message = `Cannot take in session "${header.id}": "${taken.log}" is there already`;
            throw Object.assign(new AlreadyExistsError(message), { sessionId: header.id });
          }
          const source: LogSource = { name, sizeBytes: bytes.length, sha256: await sha256Hex(bytes) };
          // The note first: a log without it would pass for one that was always here.
          await storage.remove(folder + IMPORT_NOTE_NAME, lock);
          await publish(storage, folder + IMPORT_NOTE_NAME, new TextEncoder().encode(JSON.stringify(source)), lock);
          // A log never names what is not there yet.
          for (const blob of blobs) await putBlob(blobsOf(options, folder), blob, lock);
          await publish(storage, logPath(header, encodingOf(reader)), bytes, lock);
          return { id: header.id, fault: reader.state().fault };
        } finally {
          await lock.release();
        }
      } finally {
        await reader.close();
      }
    },

    async isAsItCame(id) {
      const { places: [place] } = await locate(storage, id);
      if (place === undefined) return false;
      const note = place.folder + IMPORT_NOTE_NAME;
      if (await storage.stat(note) === null) return false;
      const log = await storage.stat(place.log);
      return log?.sizeBytes === sourceOf(note, await storage.read(note)).sizeBytes;
    },

    async admit(log, events) {
      const note = sessionPath(log.header) + IMPORT_NOTE_NAME;
      if (await storage.stat(note) === null) return null;
      const source = sourceOf(note, await storage.read(note));
      for (const event of events) if (sourceIn(event)?.sha256 === source.sha256) return null;
      const { nextSeq } = log.state();
      const kept = nextSeq === 0 ? [] : [[0, nextSeq - 1] as const];
      const data = { version: 1, source: { ...source }, kept, dropped: [], inferred: [] };
      const event = checkAppendable({ type: "log/salvaged", data, ignorable: true }, nextSeq, clock.now());
      await log.append([event]);
      return event;
    },
  };
}

/** The blobs that a log names, as far as it can be read and they are there. A log without any is not read. */
async function namedBlobs(
  options: RawLogOptions,
  log: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const folder = log.slice(0, log.lastIndexOf("/") + 1);
  if ((await options.storage.list(`${folder}blobs/`)).length === 0) return [];
  const digests = new Set<string>();
  const visit = (event: SessionEvent) => {
    if (isEvent(event, "result/spilled")) digests.add(event.data.digest);
  };
  // A log of which not even the header can be read names none, and goes out all the same.
  const reader = await openLogFile({ ...options, storage: bytesStorage(log, bytes) }, log, { visit }).catch((error) => {
    if (error instanceof HoldfastError) return null;
    throw error;
  });
  await reader?.close();
  const blobs: Uint8Array<ArrayBuffer>[] = [];
  for (const digest of digests) {
    const blob = await getBlob(blobsOf(options, folder), digest).catch((error) => {
      // What is lost or damaged here cannot be given to anybody.
      if (hasCode(error, "NOT_FOUND") || hasCode(error, "CORRUPT_FRAME")) return null;
      throw error;
    });
    if (blob !== null) blobs.push(blob);
  }
  return blobs;
}

type RawLogOptions = Omit<JournalOptions, "compression">;

function blobsOf({ storage, codec, limits }: RawLogOptions, folder: string): Blobs {
  return { storage, codec, limits: { ...JOURNAL_LIMITS, ...limits }, folder };
}

function checkSize(what: string, sizeBytes: number): void {
  if (sizeBytes <= RAW_LOG_BYTES_MAX) return;
  throw new TooLargeError(`Cannot ${what}: ${sizeBytes} bytes are more than ${RAW_LOG_BYTES_MAX}`);
}

function sourceIn({ type, data }: SessionEvent): { readonly sha256?: unknown } | undefined {
  return type === "log/salvaged" ? (data as { readonly source?: { readonly sha256?: unknown } }).source : undefined;
}

/** A file has bytes, so it has an encoding. */
function encodingOf(reader: LogReader): "zstd" | "none" {
  return reader.encoding ?? "none";
}

function sourceOf(note: string, bytes: Uint8Array): LogSource {
  const text = new TextDecoder().decode(bytes);
  try {
    const { name, sizeBytes, sha256 } = JSON.parse(text);
    return { name, sizeBytes, sha256 };
  } catch (cause) {
    throw new CorruptLogError(`Cannot read "${note}": it is no note of where a log came from`, { cause });
  }
}
