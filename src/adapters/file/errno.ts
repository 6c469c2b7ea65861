/**
 * What the operating system said, translated once.
 *
 * @module
 */

import { HoldfastError, StorageFullError, StorageLostError, SyncFailedError } from "../../errors.ts";

/** Numbers that Deno reports without a code: `File too large (os error 27)`. */
const CODES_BY_NUMBER: Readonly<Record<string, string>> = {
  "27": "EFBIG",
  "28": "ENOSPC",
  "69": "EDQUOT",
  "122": "EDQUOT",
};
/** No room: on the device, in the quota, below the process's file size limit. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
/** The file system, or a rule about it, knows no hard links here. */
const NO_LINKS: ReadonlySet<string> = new Set([
  "EPERM",
  "EACCES",
  "ENOTSUP",
  "EOPNOTSUPP",
  "EXDEV",
  "EMLINK",
  "EINVAL",
  "ENOSYS",
]);

/** The error's code, like `ENOENT`; the empty text when it has none. */
export function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  if ("code" in error && typeof error.code === "string") return error.code;
  const number = error instanceof Error ? /\(os error (\d+)\)/.exec(error.message)?.[1] : undefined;
  return CODES_BY_NUMBER[number ?? ""] ?? "";
}

/** Whether there is simply nothing under the name; a name longer than the system takes cannot be there either. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || codeOf(error) === "ENAMETOOLONG";
}

/** Whether `link()` is not to be had here, so that a name must be claimed another way. */
export function hasNoLinks(error: unknown): boolean {
  return NO_LINKS.has(codeOf(error));
}

/**
 * Says what the world refused. `what` completes "Cannot …" and names the thing.
 *
 * @returns `STORAGE_FULL` when there is no room, else `STORAGE_LOST`; what was translated before stays
 */
export function refusal(error: unknown, what: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const found = error instanceof Error ? error.message : String(error);
  const message = `Cannot ${what}: ${found}`;
  return FULL.has(codeOf(error))
    ? new StorageFullError(message, { cause: error })
    : new StorageLostError(message, { cause: error });
}

/** A failed sync; its cause says whether it was for lack of room. */
export function syncRefusal(error: unknown, what: string): SyncFailedError {
  const cause = refusal(error, what);
  return new SyncFailedError(cause.message, { cause });
}

/** Runs one call to the operating system; what it throws is translated. */
export function attempt<Result>(what: string, call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    throw refusal(error, what);
  }
}
