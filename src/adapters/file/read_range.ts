/**
 * Reading a range of a file that somebody may be appending to.
 *
 * @module
 */

import type { ByteRange } from "../../storage/storage_port.ts";
import { attempt } from "./errno.ts";
import type { FileSystem } from "./file_system.ts";

/** Reads a range, clipped to the size first seen. What is appended meanwhile is not part of it. */
export function readRange(fs: FileSystem, descriptor: number, range: ByteRange, what: string): Uint8Array<ArrayBuffer> {
  const { size } = attempt(what, () => fs.fstatSync(descriptor));
  const startBytes = Math.min(range.startBytes, size);
  const bytes = new Uint8Array(Math.max(0, Math.min(range.endBytes ?? size, size) - startBytes));
  let filledBytes = 0;
  while (filledBytes < bytes.length) {
    const leftBytes = bytes.length - filledBytes;
    const offsetBytes = startBytes + filledBytes;
    const count = attempt(what, () => fs.readSync(descriptor, bytes, filledBytes, leftBytes, offsetBytes));
    // Somebody cut the file back while we read.
    if (count === 0) return bytes.slice(0, filledBytes);
    filledBytes += count;
  }
  return bytes;
}
