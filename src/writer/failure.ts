/**
 * Which failures a retry can heal, and which end a session's writing for good.
 *
 * @module
 */
import { type ErrorCode, hasCode } from "../errors.ts";

/**
 * The log is no longer ours, or no longer what we think it is: writing the same batch again would fail again, or fork the
 * log. Everything else (a full disk, an I/O error, a lock that is still held elsewhere) may pass.
 */
const PERMANENT_CODES: readonly ErrorCode[] = [
  "ALREADY_EXISTS",
  "CORRUPT_FRAME",
  "CORRUPT_LOG",
  "FENCED",
  "LOCK_LOST",
  "NOT_FOUND",
  "SEQUENCE_GAP",
  "SESSION_CLOSED",
  "SOURCE_DRIFT",
  "SYNC_FAILED",
  "TOO_LARGE",
  "UNKNOWN_EVENT",
  "UNSUPPORTED_FORMAT",
];

/**
 * Tells whether a failed write ends all writing: the session is then read-only until it is reopened.
 *
 * A `TypeError` or a `RangeError` says that the batch itself is refused, which no retry changes.
 *
 * @example
 * ```ts
 * import { LockLostError, StorageFullError } from "../errors.ts";
 * import { isPermanentFailure } from "./failure.ts";
 *
 * if (!isPermanentFailure(new LockLostError("another writer"))) throw new Error("unreachable");
 * if (isPermanentFailure(new StorageFullError("no room"))) throw new Error("unreachable");
 * ```
 */
export function isPermanentFailure(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return PERMANENT_CODES.some((code) => hasCode(error, code));
}
