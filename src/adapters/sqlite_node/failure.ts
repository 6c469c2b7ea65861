/**
 * What SQLite refuses, as errors of ours. Translated once, here.
 *
 * @see https://www.sqlite.org/rescode.html
 * @module
 */
import { CorruptLogError, HoldfastError, StorageFullError, StorageLostError, SyncFailedError } from "../../errors.ts";

const BUSY = 5;
const LOCKED = 6;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;
const IOERR_FSYNC = 1034;

/** SQLite's own number for a failure; `null` for anything else. Deno leaves it out of some of its errors, so the text counts too. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  if ("errcode" in error && typeof error.errcode === "number") return error.errcode;
  if (/database (table )?is locked/.test(error.message)) return BUSY;
  if (/database or disk is full/.test(error.message)) return FULL;
  if (/disk I\/O error/.test(error.message)) return IOERR;
  if (/malformed/.test(error.message)) return CORRUPT;
  if (/not a database/.test(error.message)) return NOT_A_DATABASE;
  return null;
}

/** Somebody else holds what was asked for. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && (code & 0xff) === BUSY || code === LOCKED;
}

/** The medium failed, and nobody knows how far it had come. */
export function isIoFailure(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && (code & 0xff) === IOERR && code !== IOERR_FSYNC;
}

/** Any failure as an error of ours; what is one already, or is a caller's mistake, stays as it is. */
export function failureOf(error: unknown, what: string): unknown {
  if (error instanceof HoldfastError || error instanceof TypeError || error instanceof RangeError) return error;
  const code = sqliteCode(error);
  const isSystem = error instanceof Error && "code" in error && /^E[A-Z]+$/.test(String(error.code));
  const isRefused = error instanceof Error && /^(NotCapable|PermissionDenied)$/.test(error.name);
  if (code === null && !isSystem && !isRefused && !isSqlite(error)) return error;
  const message = `Cannot ${what}: ${(error as Error).message}`;
  if (isSystem && /^(ENOSPC|EDQUOT)$/.test(String((error as { code?: unknown }).code))) {
    return new StorageFullError(message, { cause: error });
  }
  if (code === IOERR_FSYNC) return new SyncFailedError(message, { cause: error });
  switch (code === null ? null : code & 0xff) {
    case FULL:
      return new StorageFullError(message, { cause: error });
    case CORRUPT:
    case NOT_A_DATABASE:
      return new CorruptLogError(message, { cause: error });
    default:
      return new StorageLostError(message, { cause: error });
  }
}

function isSqlite(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
}
