/**
 * Writing all of some bytes, or none of them.
 *
 * @module
 */

import type { SyncHandle } from "./platform.ts";
import { WrongCount } from "./refusal.ts";

/** A write that failed. */
export interface FailedWrite {
  /** What was thrown, or a {@linkcode WrongCount}. */
  readonly error: unknown;
  /** Whether the file has its old length again, so that the same write may be tried once more. */
  readonly isCutBack: boolean;
}

/**
 * Appends `bytes` behind `oldSizeBytes`, the length of the file. In the good case that is one `write` and one look at the size.
 *
 * @returns `null` when all of them were taken
 */
export function appendBytes(handle: SyncHandle, bytes: Uint8Array, oldSizeBytes: number): FailedWrite | null {
  try {
    writeAll(handle, bytes, oldSizeBytes);
    return null;
  } catch (error) {
    return { error, isCutBack: cutBack(handle, oldSizeBytes, bytes.length) };
  }
}

/**
 * Writes `bytes` at an offset. A count is believed only when it is the wanted one and the file is as long as it then must be:
 * Chromium can return a wrapped negative number, Firefox a short one.
 *
 * @throws {WrongCount} or what the browser threw
 */
export function writeAll(handle: SyncHandle, bytes: Uint8Array, offsetBytes: number): void {
  const count = handle.write(bytes as Uint8Array<ArrayBuffer>, { at: offsetBytes });
  if (count !== bytes.length) throw new WrongCount(count, bytes.length);
  const endBytes = handle.getSize();
  if (endBytes < offsetBytes + bytes.length) {
    throw new WrongCount(Math.max(0, endBytes - offsetBytes), bytes.length);
  }
}

/** Never cuts what we did not write: a file that is longer than our write could make it has somebody else's bytes in it. */
function cutBack(handle: SyncHandle, oldSizeBytes: number, writtenBytes: number): boolean {
  try {
    const sizeBytes = handle.getSize();
    if (sizeBytes < oldSizeBytes || sizeBytes > oldSizeBytes + writtenBytes) return false;
    if (sizeBytes > oldSizeBytes) handle.truncate(oldSizeBytes);
    return handle.getSize() === oldSizeBytes;
  } catch {
    return false;
  }
}
