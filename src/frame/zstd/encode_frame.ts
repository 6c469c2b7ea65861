/**
 * Writes whole frames: header with content size, blocks, checksum. A block that does not get smaller is stored as it is.
 *
 * @see RFC 8878 §3.1.1
 * @module
 */
import { BlockEncoder } from "./encode_block.ts";
import { BLOCK_SIZE_BYTES_MAX, FRAME_MAGIC } from "../walk.ts";
import { frameChecksum } from "../xxh64.ts";

/** How far back a match reaches. Every decoder must take a window of 8 MiB (RFC 8878 §3.1.1.1.2). */
export const WINDOW_SIZE_BYTES: number = 8 * 1024 * 1024;

/** Compresses one text after the other; its tables (2 MB) are kept for the next one, its content is not. */
export class FrameEncoder {
  readonly #blocks = new BlockEncoder();

  /** One frame with content size and checksum. */
  encode(plain: Uint8Array): Uint8Array<ArrayBuffer> {
    const header = headerFor(plain.length);
    const blocks = Math.max(1, Math.ceil(plain.length / BLOCK_SIZE_BYTES_MAX));
    const frame = new Uint8Array(header.length + 3 * blocks + plain.length + CHECKSUM_SIZE_BYTES);
    frame.set(header);
    let at = header.length;
    this.#blocks.begin(plain, WINDOW_SIZE_BYTES);
    for (let block = 0; block < blocks; block += 1) {
      const start = block * BLOCK_SIZE_BYTES_MAX;
      const end = Math.min(plain.length, start + BLOCK_SIZE_BYTES_MAX);
      const packed = this.#blocks.encode(start, end);
      const payload = packed ?? plain.subarray(start, end);
      const isLast = block === blocks - 1 ? 1 : 0;
      writeNumber(frame, at, 3, (payload.length << 3) | ((packed === null ? RAW : COMPRESSED) << 1) | isLast);
      frame.set(payload, at + 3);
      at += 3 + payload.length;
    }
    this.#blocks.end();
    writeNumber(frame, at, CHECKSUM_SIZE_BYTES, frameChecksum(plain));
    return frame.slice(0, at + CHECKSUM_SIZE_BYTES);
  }
}

const RAW = 0;
const COMPRESSED = 2;
const CHECKSUM_SIZE_BYTES = 4;

/** Up to the window the frame is a single segment; a longer one declares the window, so that a reader needs no more. */
function headerFor(contentSizeBytes: number): number[] {
  const [singleSegment, checksum] = [0x20, 0x04];
  if (contentSizeBytes < 256) return [...FRAME_MAGIC, singleSegment | checksum, contentSizeBytes];
  const size = [0, 8, 16, 24].map((shift) => (contentSizeBytes >>> shift) & 0xff);
  if (contentSizeBytes <= WINDOW_SIZE_BYTES) return [...FRAME_MAGIC, (2 << 6) | singleSegment | checksum, ...size];
  const windowOf8MiB = 13 << 3;
  return [...FRAME_MAGIC, (2 << 6) | checksum, windowOf8MiB, ...size];
}

/** Little-endian. */
function writeNumber(bytes: Uint8Array, offset: number, sizeBytes: number, value: number): void {
  for (let index = 0; index < sizeBytes; index += 1) bytes[offset + index] = (value >>> (8 * index)) & 0xff;
}
