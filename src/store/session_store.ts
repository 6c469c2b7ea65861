/**
 * The store port: sessions, not bytes. The journal implements it over a storage port; a database implements it directly.
 *
 * @module
 */
import type { SessionEvent, SessionHeader } from "../event/mod.ts";
import type { KeptFolds } from "../fold/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { StorageTraits } from "../storage/storage_port.ts";

/** Damage, or content this build must not skip: the log is readable up to it and refused for writing. */
export interface LogFault {
  /** The code a writer is refused with: bytes that do not decode, rows that form no log, foreign content. */
  readonly code: "CORRUPT_FRAME" | "CORRUPT_LOG" | "UNSUPPORTED_FORMAT";
  /** Offset in the file of the first byte that was not accepted (start of its frame, when inside one); `null` when the medium has no bytes. */
  readonly offsetBytes: number | null;
  /** The sequence number that was expected there; `null` in the header. */
  readonly seq: number | null;
  /** What was found, in words, to be read after `Cannot open session "a": `. */
  readonly message: string;
}

/** An unfinished last batch: expected after a crash, and repaired by the next writer. */
export interface TornTail {
  /** Where the last complete frame (raw: line) ends. */
  readonly offsetBytes: number;
  /** Bytes from there to the end of the file. */
  readonly bytes: number;
  /** Records that are still readable from it, or from a `.torn` copy of it. */
  readonly salvagedEvents: number;
}

/** What a log is, as found when it was opened or last appended to. */
export interface LogState {
  /** `null` while a created session has no file yet. */
  readonly sizeBytes: number | null;
  /** Complete frames, header frame included; lines when raw; 0 when the medium has none. */
  readonly frames: number;
  /** One more than the last event's seq, salvaged events included. */
  readonly nextSeq: number;
  /** The unfinished last batch; `null` when the log ends whole. */
  readonly torn: TornTail | null;
  /** What keeps the log from being written; `null` when nothing does. */
  readonly fault: LogFault | null;
}

/** One page of history. */
export interface EventPage {
  /** In order of `seq`, without gaps. */
  readonly events: readonly SessionEvent[];
  /** Where the next page begins; `null` at the end. */
  readonly nextFrom: number | null;
}

/** One session in a list. Damaged and foreign ones are rows too. */
export interface SessionRow {
  /** The session's id, or the folder's name when the header cannot be read. */
  readonly id: string;
  /** Where it is kept: the log's name on the medium. */
  readonly name: string;
  /** The first record of the log; `null` when this build cannot read it. */
  readonly header: SessionHeader | null;
  /**
   * `ok`: wholly checked, no open turn. `open`: a turn is open. `damaged`: read-only. `unsupported`: another version.
   * `unchecked`: not wholly read and no reason to doubt it.
   */
  readonly state: "ok" | "open" | "damaged" | "unsupported" | "unchecked";
  /** Why the state is not `ok`, or what a person should know although it is: effects whose outcome is unknown. */
  readonly reason: string | null;
  /** Length of the log on the medium, in bytes; 0 when it is not known. */
  readonly sizeBytes: number;
  /** Format version in the log's name; `null` when what stands there is not laid out as a session. */
  readonly version: number | null;
  /** Zstd frames or plain lines; `null` when there are no bytes, or what stands there is not laid out as a session. */
  readonly encoding: "zstd" | "none" | null;
  /** Time of the newest event that was seen, milliseconds since the epoch. Event time, never file time. */
  readonly lastEventTime: number | null;
  /** Whether a writer holds it now. */
  readonly live: boolean;
}

/** Where an event lies in a log of frames. */
export interface EventPlace {
  /** Index of its frame (raw: of its line); that of the header is 0. */
  readonly frame: number;
  /** Where the frame (raw: the line) begins, in bytes from the start of the log. */
  readonly offsetBytes: number;
}

/** How to open a session. */
export interface OpenOptions {
  /**
   * Called once per stored event, in order, salvaged ones included, while the log is scanned. `place` is where it lies, for a
   * person who wants to look; it is left out for what was salvaged and by media without frames.
   */
  readonly visit?: (event: SessionEvent, place?: EventPlace) => void;
  /** Poll for the lock this long, in milliseconds, with back-off. Default 0: never wait. */
  readonly waitMs?: number;
  /**
   * For writing: takes over what the first events come to, when the store has kept that, and `visit` is then called for the others
   * alone. It may be called again with `null`: everything is visited from the beginning after all. Without it, everything always is.
   */
  readonly restore?: (kept: KeptFolds | null) => void;
  /** Ends the waiting or the scan. */
  readonly signal?: AbortSignal;
  /**
   * For reading: `"stored"` gives the events as the file's own version decodes them, under its own numbers. Default `"current"`:
   * brought to the current version in memory. For a log of the current version both are the same.
   */
  readonly as?: "current" | "stored";
  /** For writing: told how far a log of an older version is, while it is brought to the current one before anything else. */
  readonly onMigration?: (progress: MigrationProgress) => void;
}

/** How far a migration is. */
export interface MigrationProgress {
  /** What is going on: the old log is read and the new one written aside; that one is checked; it has its name. */
  readonly phase: "writing" | "checking" | "published";
  /** How far in the file that is read now, in bytes. */
  readonly doneBytes: number;
  /** How long that file is, in bytes. */
  readonly sizeBytes: number;
}

/** A log open for reading. */
export interface LogReader extends AsyncDisposable {
  /** The session's id. */
  readonly id: string;
  /** The first record of the log. */
  readonly header: SessionHeader;
  /** How many events at the start came from a parent. */
  readonly inheritedEventCount: number;
  /**
   * The version the file has, when that is not the one of `header`: then the events were brought to another version in memory.
   * Absent otherwise.
   */
  readonly storedVersion?: number;
  /** Zstd frames or plain lines; `null` when the medium has no bytes. */
  readonly encoding: "zstd" | "none" | null;
  /** What the medium under the log promises. */
  readonly traits: StorageTraits;
  /** The state when it was opened, or after the last append. */
  state(): LogState;
  /**
   * Events from `from` (default 0), at most `limit` (default PAGE_EVENTS_DEFAULT, 1000). Sees what is durable now. A log that
   * has a fault is read up to it.
   */
  read(options?: { readonly from?: number; readonly limit?: number }): Promise<EventPage>;
  /** Every event from `from` on, each once and in order, as it becomes durable. Ends with the signal or the reader. */
  watch(from: number, options?: { readonly signal?: AbortSignal }): AsyncIterable<SessionEvent>;
  /**
   * Reads bytes that `putBlob` kept, checked against their digest.
   *
   * @param digest 64 lower-case hex digits
   * @throws {NotFoundError} when there is no such blob
   */
  getBlob(digest: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Ends what watches through this log and releases what it holds: a writer, its lock. Twice is harmless. */
  close(): Promise<void>;
}

/** What became of the snapshots of an open log. Nothing depends on it but time. */
export interface SnapshotReport {
  /** Whether the log was opened by a snapshot, or read whole. */
  readonly openedBy: "snapshot" | "whole read";
  /** Why the snapshots that were there were not used; `null` when one was, or there was none. */
  readonly refused: string | null;
  /** How many events the snapshot that was used stood for; 0 without one. */
  readonly coveredEvents: number;
  /** The check of what it stood for, in the background: `none` without one, `ended` when it was closed or could not go on. */
  readonly check: "none" | "running" | "passed" | "failed" | "ended";
  /** How many were written since the log was opened. */
  readonly written: number;
  /** Why the last one could not be written; `null` when it could. */
  readonly problem: string | null;
}

/** A log open for writing: the only one, anywhere. */
export interface LogWriter extends LogReader {
  /**
   * Appends one batch and makes it durable, as far as `traits.sync` says. A pending torn tail is recovered first.
   *
   * @param events contiguous, the first with `seq === state().nextSeq`
   * @param options.batchId repeating the last acknowledged batch under its id appends nothing and acknowledges again
   * @returns the last durable seq
   * @throws {SequenceGapError} when the batch does not continue the log
   */
  append(events: readonly SessionEvent[], options?: { readonly batchId?: string }): Promise<number>;
  /**
   * Keeps what a torn tail still yields, drops the rest (a copy of the bytes stays), and appends `events`, possibly none.
   *
   * @returns the last durable seq, −1 for an empty log
   */
  recover(events: readonly SessionEvent[]): Promise<number>;
  /** Publishes a created session that has no events yet. */
  materialize(): Promise<void>;
  /** Keeps bytes under their SHA-256, durable when it resolves. Returns the digest, 64 lower-case hex digits. */
  putBlob(bytes: Uint8Array): Promise<string>;
  /**
   * Offers what the acknowledged events come to, for whoever opens the log next. The store keeps it, in the background, when that
   * saves enough, and forgets it when anything is in the way. Left out by stores that keep nothing of the kind.
   */
  offer?(kept: KeptFolds): void;
  /** What became of snapshots. Left out by stores that have none. */
  snapshots?(): SnapshotReport;
  /** Why nothing can be appended any more, found in the background; `null` or left out while nothing was. */
  readonly doubt?: Error | null;
}

/** A place that keeps sessions. */
export interface SessionStore extends AsyncDisposable {
  /** What the medium under the store promises. */
  readonly traits: StorageTraits;
  /** The clock and the randomness the store was wired with; whoever builds on the store uses the same by default. */
  readonly runtime: Runtime;
  /**
   * Starts a session. Nothing is written before the first `append` or `materialize`.
   *
   * @throws {AlreadyExistsError} when the id is taken, here or by a session this store has created and not yet written
   */
  create(header: SessionHeader): Promise<LogWriter>;
  /**
   * Opens for reading: never writes a byte, takes no lock, shows a damaged log up to the damage. A log of an older version is
   * brought to the current one in memory; what has no place in it is shown as it is stored, with a fault that says why. A log of
   * a later version is shown as far as it can be understood.
   *
   * @throws {NotFoundError}
   * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when not even the header can be read
   */
  open(id: string, mode: "read", options?: OpenOptions): Promise<LogReader>;
  /**
   * Opens for writing: takes the lock first. A log of an older version is brought to the current one beforehand: what came of it
   * is published beside it, and the old file stays as it is for ever.
   *
   * @throws {NotFoundError}
   * @throws {LockHeldError} when another writer is alive
   * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when the log has a fault, or cannot be brought to the
   * current version; nothing was published
   * @throws {SourceDriftError} when somebody wrote to the old log meanwhile; nothing was published
   */
  open(id: string, mode: "write", options?: OpenOptions): Promise<LogWriter>;
  /** Every session, ascending by id. Reads at most LIST_BYTES_MAX (64 KiB) of each and never throws because of one. */
  list(): AsyncIterable<SessionRow>;
  /** One row, or `null` when there is none. */
  stat(id: string): Promise<SessionRow | null>;
  /**
   * Takes the lock, removes the log first and its folder last, with everything that belongs to the session.
   *
   * @throws {NotFoundError}
   * @throws {LockHeldError}
   */
  delete(id: string): Promise<void>;
  /** Closes every log that is still open, then the medium. Twice is harmless. */
  close(): Promise<void>;
}
