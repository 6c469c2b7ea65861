/**
 * Puts whole blocks into a new frame that any decoder takes.
 *
 * A torn frame has no end, and decoders disagree about what to do then; a frame made of its whole blocks has one. The new
 * header claims neither a content size nor a checksum, and no window larger than its blocks can fill.
 *
 * @see RFC 8878 §3.1.1
 * @module
 */
import { FRAME_MAGIC, type FrameHeader } from "./walk.ts";

/**
 * A frame of the first `blocks` blocks of another one.
 *
 * @param bytes the other frame, torn or not; at least `blocks` of its blocks are whole
 * @param contentSizeBytesMost an upper bound of their content, which bounds the window
 */
export function rebuildFrame(
  bytes: Uint8Array,
  header: FrameHeader,
  blocks: number,
  contentSizeBytesMost: number,
): Uint8Array<ArrayBuffer> {
  const start = header.headerSizeBytes;
  let lastBlock = start;
  let end = start;
  for (let block = 0; block < blocks; block += 1) {
    lastBlock = end;
    end += 3 + payloadSize(bytes, end);
  }
  const frame = new Uint8Array(REBUILT_HEADER_SIZE_BYTES + end - start);
  frame.set(FRAME_MAGIC);
  frame[5] = windowDescriptorFor(Math.min(header.windowSizeBytes, contentSizeBytesMost));
  frame.set(bytes.subarray(start, end), REBUILT_HEADER_SIZE_BYTES);
  frame[REBUILT_HEADER_SIZE_BYTES + lastBlock - start]! |= 1;
  return frame;
}

/** Magic number, a descriptor of zeros, the window. */
const REBUILT_HEADER_SIZE_BYTES = 6;

/** Bytes behind a block's header: one for RLE, else what it says. */
function payloadSize(bytes: Uint8Array, offset: number): number {
  const word = bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16);
  return ((word >> 1) & 3) === 1 ? 1 : word >>> 3;
}

/** The smallest window of at least `sizeBytes`: an exponent in bits 3 to 7, eighths in bits 0 to 2. At least 1 KiB. */
function windowDescriptorFor(sizeBytes: number): number {
  for (let exponent = 0; exponent < 32; exponent += 1) {
    const base = 2 ** (10 + exponent);
    for (let eighths = 0; eighths < 8; eighths += 1) {
      if (base + (base / 8) * eighths >= sizeBytes) return (exponent << 3) | eighths;
    }
  }
  throw new RangeError(`Cannot describe a window of ${sizeBytes} bytes`);
}
