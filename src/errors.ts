/**
 * Every error Holdfast throws because the world refused, on one page.
 *
 * A caller's mistake is a plain `TypeError` or `RangeError`. A tool's or a person's answer is a value in the log. What is
 * left, the medium, the lock, the bytes found, is a {@linkcode HoldfastError} with a stable `code`.
 * Identity is the code, not the class: classes do not survive `postMessage` or HTTP, so callers use {@linkcode hasCode}.
 *
 * @module
 */

/** The stable codes. Each is named by what the caller can do next. */
export type ErrorCode =
  | "ALREADY_EXISTS"
  | "NOT_FOUND"
  | "LOCK_HELD"
  | "LOCK_LOST"
  | "STORAGE_FULL"
  | "SHORT_WRITE"
  | "SYNC_FAILED"
  | "STORAGE_LOST"
  | "CORRUPT_FRAME"
  | "CORRUPT_LOG"
  | "UNSUPPORTED_FORMAT"
  | "UNKNOWN_EVENT"
  | "SOURCE_DRIFT"
  | "SEQUENCE_GAP"
  | "FENCED"
  | "CHECKPOINT_FAILED"
  | "OUTCOME_UNRESOLVED"
  | "BUFFER_FULL"
  | "TOO_LARGE"
  | "SESSION_CLOSED"
  | "SANDBOX_UNAVAILABLE"
  | "MCP_UNAVAILABLE";

/**
 * The base of every refusal by the world.
 *
 * The message reads `Cannot <verb> <thing> "<name>": <what was found>`.
 *
 * @example
 * ```ts
 * import { hasCode, LockHeldError } from "./errors.ts";
 *
 * try {
 *   throw new LockHeldError('Cannot lock "a/session.lock": another process holds it');
 * } catch (error) {
 *   if (!hasCode(error, "LOCK_HELD")) throw error;
 * }
 * ```
 */
export abstract class HoldfastError extends Error {
  /** What the caller can do next, as a stable word. */
  abstract readonly code: ErrorCode;

  /** Takes the error's `name` from the class that is constructed. */
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/**
 * Tells whether a value is an error with this code, wherever it came from (this realm, a worker, HTTP).
 *
 * @example
 * ```ts
 * import { hasCode } from "./errors.ts";
 *
 * if (!hasCode({ code: "NOT_FOUND" }, "NOT_FOUND")) throw new Error("unreachable");
 * ```
 */
export function hasCode(error: unknown, code: ErrorCode): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}

/** The name is taken; the bytes that were there first are still there. */
export class AlreadyExistsError extends HoldfastError {
  /** The stable code. */
  readonly code = "ALREADY_EXISTS";
}

/** There is nothing under this name. */
export class NotFoundError extends HoldfastError {
  /** The stable code. */
  readonly code = "NOT_FOUND";
}

/** Another writer, here or in another process, is alive and holds the lock: wait, or open for reading. */
export class LockHeldError extends HoldfastError {
  /** The stable code. */
  readonly code = "LOCK_HELD";
}

/** The file or its lock is not the one we opened any more: stop writing, and reopen. */
export class LockLostError extends HoldfastError {
  /** The stable code. */
  readonly code = "LOCK_LOST";
}

/** The medium has no room. Nothing was acknowledged; free space and try again. */
export class StorageFullError extends HoldfastError {
  /** The stable code. */
  readonly code = "STORAGE_FULL";
}

/** The medium took fewer bytes than it was given. The file was cut back to its old length. */
export class ShortWriteError extends HoldfastError {
  /** The stable code. */
  readonly code = "SHORT_WRITE";
}

/** The medium refused to make bytes durable, twice. The session is read-only until it is reopened. */
export class SyncFailedError extends HoldfastError {
  /** The stable code. */
  readonly code = "SYNC_FAILED";
}

/** The medium cannot be reached: gone, unreadable, forbidden, or not of a kind we write to. */
export class StorageLostError extends HoldfastError {
  /** The stable code. */
  readonly code = "STORAGE_LOST";
}

/** Where in a file and in a log damage lies. */
export interface DamageLocation {
  /** Offset of the first byte that could not be accepted, from the start of the file. */
  readonly offsetBytes?: number;
  /** The sequence number that was expected there. */
  readonly seq?: number;
}

/** A complete frame does not decode, has a wrong checksum, or is no frame at all. */
export class CorruptFrameError extends HoldfastError {
  /** The stable code. */
  readonly code = "CORRUPT_FRAME";
  /** Offset of the first byte that could not be accepted; undefined when no file offset is known. */
  readonly offsetBytes: number | undefined;

  /** Takes from `options` where the damage lies, as far as it is known. A frame has no `seq`, so that is not kept. */
  constructor(message: string, options: { cause?: unknown } & DamageLocation = {}) {
    super(message, options);
    this.offsetBytes = options.offsetBytes;
  }
}

/** The bytes are whole but do not form a log: a bad header or row, a gap, an impossible surface operation. */
export class CorruptLogError extends HoldfastError {
  /** The stable code. */
  readonly code = "CORRUPT_LOG";
  /** Offset of the first byte that could not be accepted; undefined when no file offset is known. */
  readonly offsetBytes: number | undefined;
  /** The sequence number that was expected there; undefined when it is no single event that is wrong. */
  readonly seq: number | undefined;

  /** Takes from `options` where the damage lies, as far as it is known. */
  constructor(message: string, options: { cause?: unknown } & DamageLocation = {}) {
    super(message, options);
    this.offsetBytes = options.offsetBytes;
    this.seq = options.seq;
  }
}

/** The log is intact, but of another version, or holds an event this build must not skip. The message names the direction. */
export class UnsupportedFormatError extends HoldfastError {
  /** The stable code. */
  readonly code = "UNSUPPORTED_FORMAT";
  /** The sequence number of the event that must not be skipped; undefined when it is the header or the layout. */
  readonly seq: number | undefined;
  /** The version found, when it is the version that is not supported. */
  readonly version: number | undefined;
  /** The event type found, when it is an event that is not known. */
  readonly type: string | undefined;

  /** Takes from `options` what was found: a version, or the `seq` and type of an event. */
  constructor(message: string, options: { cause?: unknown; seq?: number; version?: number; type?: string } = {}) {
    super(message, options);
    this.seq = options.seq;
    this.version = options.version;
    this.type = options.type;
  }
}

/** Refused at append: a reopen would not understand this event. Custom types need `ignorable: true`. */
export class UnknownEventError extends HoldfastError {
  /** The stable code. */
  readonly code = "UNKNOWN_EVENT";
}

/** The file a migration read is not the file that is there now. */
export class SourceDriftError extends HoldfastError {
  /** The stable code. */
  readonly code = "SOURCE_DRIFT";
}

/** The batch does not continue the log. */
export class SequenceGapError extends HoldfastError {
  /** The stable code. */
  readonly code = "SEQUENCE_GAP";
}

/** A newer owner took the session over. */
export class FencedError extends HoldfastError {
  /** The stable code. */
  readonly code = "FENCED";
}

/** A barrier got no acknowledgement, so what waited behind it did not run. */
export class CheckpointFailedError extends HoldfastError {
  /** The stable code. */
  readonly code = "CHECKPOINT_FAILED";
}

/** The thing asked for needs an effect's outcome to be settled first. */
export class OutcomeUnresolvedError extends HoldfastError {
  /** The stable code. */
  readonly code = "OUTCOME_UNRESOLVED";
}

/** The write-behind buffer is at its bound: the event was not appended. Flush, then append again. */
export class BufferFullError extends HoldfastError {
  /** The stable code. */
  readonly code = "BUFFER_FULL";
}

/** A size is over its named limit. Nothing was allocated or written. */
export class TooLargeError extends HoldfastError {
  /** The stable code. */
  readonly code = "TOO_LARGE";
}

/** The session, store or file was closed. */
export class SessionClosedError extends HoldfastError {
  /** The stable code. */
  readonly code = "SESSION_CLOSED";
}

/**
 * A command was to be confined and nothing here can do it. It was not started: it never runs unconfined instead.
 *
 * Both a refusal of the host and, in a log, the code of a tool's failure.
 *
 * @see execution §3.6, §6
 */
export class SandboxUnavailableError extends HoldfastError {
  /** The stable code. */
  readonly code = "SANDBOX_UNAVAILABLE";
}

/**
 * A server of tools cannot be reached, does not speak the protocol, or says more than its bounds allow. The call that met this
 * was not sent: where it may have run, its outcome is unknown instead.
 *
 * Both a refusal when the server is connected and, in a log, the code of a tool's failure.
 */
export class McpUnavailableError extends HoldfastError {
  /** The stable code. */
  readonly code = "MCP_UNAVAILABLE";
}
