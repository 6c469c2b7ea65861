/**
 * What the operating system refused, as an error of ours: for whoever writes files beside the storages.
 *
 * @module
 */
import { refusal } from "../adapters/file/errno.ts";
import type { HoldfastError } from "../errors.ts";

/**
 * Says what the operating system refused. `what` completes "Cannot …" and names the thing.
 *
 * @returns `STORAGE_FULL` when there is no room: on the device, in the quota, or below the file size limit of the process; else
 * `STORAGE_LOST`
 *
 * @example
 * ```ts
 * import { systemError } from "./system_error.ts";
 *
 * const error = systemError(new Error("File too large (os error 27)"), 'write file "a"');
 * if (error.code !== "STORAGE_FULL") throw new Error("unreachable");
 * ```
 */
export function systemError(error: unknown, what: string): HoldfastError {
  return refusal(error, what);
}
