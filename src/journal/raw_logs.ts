/**
 * Logs as the bytes they are: taken out whole, and taken in from elsewhere, byte for byte.
 *
 * A log that was taken in may be a copy of one that went on elsewhere, so what is absent from it proves nothing. That it came
 * from elsewhere is kept beside it (`imported.json`), because the log itself stays as it came. Whoever opens it for writing first
 * appends `log/salvaged`, and every call before that is classed by the conservative rules.
 *
 * @module
 */
import { AlreadyExistsError, CorruptLogError, HoldfastError, TooLargeError } from "../errors.ts";
import { checkAppendable, isEvent, type SessionEvent } from "../event/mod.ts";
import { publish } from "../storage/storage_port.ts";
import { checkSpilled, findBlob, type SpilledCheck, type SpilledName } from "../store/check_spilled.ts";
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

/** A log that was taken in. */
export interface TakenLog {
  /** Under which it is kept. */
  readonly id: string;
  /** Up to where it can be read; `null` when it is whole. */
  readonly fault: LogFault | null;
  /** The long results it names, and those that did not come with it: they cannot be read here. */
  readonly spilled: SpilledCheck;
}

/** Access to logs as bytes. */
export interface RawLogs {
  /**
   * The bytes of a session's log, and the name such a file has; with blobs, of a zip archive that holds both. Events that are not
   * durable are not in it. `spilled` says which long results are lost, and so not in it either.
   *
   * @throws {NotFoundError}
   * @throws {TooLargeError} over RAW_LOG_BYTES_MAX
   */
  read(id: string): Promise<
    { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer>; readonly spilled: SpilledCheck }
  >;
  /**
   * Keeps a log under the id in its header, byte for byte; out of an archive also the blobs. A log with a fault is kept too, and
   * can be read up to it. So is one whose long results did not come with it: `spilled` says which are missing.
   *
   * @param name what the file was called
   * @param beside where the blobs are found that a bare log names, when somebody has them
   * @throws {AlreadyExistsError} when there is a session of this id, which its `sessionId` says; nothing was changed
   * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when not even the header can be read
   * @throws {TooLargeError} over RAW_LOG_BYTES_MAX, packed or unpacked
   */
  take(name: string, bytes: Uint8Array<ArrayBuffer>, beside?: Pick<LogReader, "getBlob">): Promise<TakenLog>;
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
      const { blobs, spilled } = await namedBlobs(options, log, bytes);
      if (blobs.length === 0) return { name, bytes, spilled };
      checkSize(
        `read the log of session "${id}" and its blobs`,
        blobs.reduce((sum, { length }) => sum + length, sizeBytes),
      );
      return { name: ARCHIVE_NAME, bytes: await packLog(name, bytes, blobs), spilled };
    },

    async take(name, given, beside) {
      checkSize(`take in "${name}"`, given.length);
      const archive = await unpackLog(name, given, { contentSizeBytesMax: RAW_LOG_BYTES_MAX });
      const { bytes } = archive ?? { bytes: given };
      const texts: SpilledName[] = [];
      const visit = (event: SessionEvent) => {
        if (isEvent(event, "result/spilled")) texts.push({ ...event.data, seq: event.seq });
      };
      const reader = await openLogFile({ ...options, storage: bytesStorage(name, bytes) }, name, { visit });
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
          const note: LogSource = { name, sizeBytes: bytes.length, sha256: await sha256Hex(bytes) };
          // The note first: a log without it would pass for one that was always here.
          await storage.remove(folder + IMPORT_NOTE_NAME, lock);
          await publish(storage, folder + IMPORT_NOTE_NAME, new TextEncoder().encode(JSON.stringify(note)), lock);
          // A log never names what is not there yet.
          const blobs = blobsOf(options, folder);
          const source = archive ?? beside ?? null;
          for (const digest of archive?.digests ?? new Set(texts.map(({ digest }) => digest))) {
            const found = source === null ? null : await findBlob(source, digest);
            if (found?.bytes) await putBlob(blobs, found.bytes, lock);
          }
          const { storedVersion = header.version } = reader;
          await publish(storage, logPath(header, encodingOf(reader), storedVersion), bytes, lock);
          // By what can be read now, and not by what was meant to be there.
          const spilled = await checkSpilled({ getBlob: (digest) => getBlob(blobs, digest) }, texts);
          return { id: header.id, fault: reader.state().fault, spilled };
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

/** The blobs that a log names, as far as it can be read and they are there. */
async function namedBlobs(
  options: RawLogOptions,
  log: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<{ readonly blobs: readonly Uint8Array<ArrayBuffer>[]; readonly spilled: SpilledCheck }> {
  const texts: SpilledName[] = [];
  const visit = (event: SessionEvent) => {
    if (isEvent(event, "result/spilled")) texts.push({ ...event.data, seq: event.seq });
  };
  // A log of which not even the header can be read names none, and goes out all the same.
  const reader = await openLogFile({ ...options, storage: bytesStorage(log, bytes) }, log, { visit }).catch((error) => {
    if (error instanceof HoldfastError) return null;
    throw error;
  });
  await reader?.close();
  const folder = log.slice(0, log.lastIndexOf("/") + 1);
  const blobs: Uint8Array<ArrayBuffer>[] = [];
  // Each is read once. What is lost or damaged here cannot be given to anybody.
  const getAndKeep = async (digest: string) => {
    const blob = await getBlob(blobsOf(options, folder), digest);
    blobs.push(blob);
    return blob;
  };
  const spilled = await checkSpilled({ getBlob: getAndKeep }, texts);
  return { blobs, spilled };
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
