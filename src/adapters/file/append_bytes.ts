/**
 * Appending all of some bytes, or none of them.
 *
 * @module
 */

import { type HoldfastError, ShortWriteError } from "../../errors.ts";
import { refusal } from "./errno.ts";
import type { FileSystem } from "./file_system.ts";

/** An append that failed. */
export interface FailedAppend {
  readonly error: HoldfastError;
  /** Whether the file has its old length again, so that the same append may be tried once more. */
  readonly isCutBack: boolean;
}

/**
 * Appends `bytes` to a descriptor opened for appending. In the good case that is one `write`.
 *
 * @returns `null` when all of them were taken
 */
export function appendBytes(
  fs: FileSystem,
  descriptor: number,
  bytes: Uint8Array,
  oldSizeBytes: number,
  what: string,
): FailedAppend | null {
  let error: HoldfastError;
  try {
    writeAll(fs, descriptor, bytes, what);
    return null;
  } catch (caught) {
    error = caught instanceof ShortWriteError ? caught : refusal(caught, what);
  }
  return { error, isCutBack: cutBack(fs, descriptor, oldSizeBytes, bytes.length) };
}

/** A short write is followed by one for the rest: that one says why. */
function writeAll(fs: FileSystem, descriptor: number, bytes: Uint8Array, what: string): void {
  let writtenBytes = 0;
  while (writtenBytes < bytes.length) {
    const leftBytes = bytes.length - writtenBytes;
    const takenBytes = fs.writeSync(descriptor, bytes, writtenBytes, leftBytes, null);
    if (!(takenBytes > 0 && takenBytes <= leftBytes)) {
      throw new ShortWriteError(`Cannot ${what}: of ${leftBytes} bytes the system says it took ${takenBytes}`);
    }
    writtenBytes += takenBytes;
  }
}

/** Never cuts what we did not write: a file that is longer than our append could make it has somebody else's bytes in it. */
function cutBack(fs: FileSystem, descriptor: number, oldSizeBytes: number, appendedBytes: number): boolean {
  try {
    const { size } = fs.fstatSync(descriptor);
    if (size < oldSizeBytes || size > oldSizeBytes + appendedBytes) return false;
    if (size > oldSizeBytes) fs.ftruncateSync(descriptor, oldSizeBytes);
    return fs.fstatSync(descriptor).size === oldSizeBytes;
  } catch {
    return false;
  }
}
