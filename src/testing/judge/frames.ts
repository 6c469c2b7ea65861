/**
 * The judge's own walk over zstd frames: where each begins and ends, and what a torn one still holds.
 *
 * Written from RFC 8878 §3.1.1 and the session format §5.2; the payloads of whole blocks are left to the decoder it is given.
 *
 * @module
 */

/** Decodes one whole frame with its checksum verified. @throws when it is bad */
export type DecodeFrame = (frame: Uint8Array) => Uint8Array;

/** Where the frames of a log lie. */
export interface FrameWalk {
  /** Ends of the whole frames: frame k is `bytes.subarray(ends[k - 1] ?? 0, ends[k])`. */
  readonly ends: readonly number[];
  /** What follows the last whole frame: nothing, a torn frame, or bytes that no frame begins with. */
  readonly tail: "none" | "torn" | "damage";
}

/** Descriptor bits 3 and 4 must be zero. */
const RESERVED_BITS = 0b0001_1000;
const CHECKSUM_BIT = 0b0000_0100;
const SINGLE_SEGMENT_BIT = 0b0010_0000;
/** A window of 8 MiB, for frames that are put together from whole blocks: exponent 13, RFC 8878 §3.1.1.1.2. */
const WINDOW_DESCRIPTOR = 13 << 3;

const TORN = -1;
const DAMAGE = -2;

/** Walks the frames of a log. */
export function walkFrames(bytes: Uint8Array): FrameWalk {
  const ends: number[] = [];
  let position = 0;
  while (position < bytes.length) {
    const end = frameEnd(bytes, position, null);
    if (end === TORN) return { ends, tail: "torn" };
    if (end === DAMAGE) return { ends, tail: "damage" };
    ends.push(end);
    position = end;
  }
  return { ends, tail: "none" };
}

/**
 * The whole blocks of a torn frame, put together as a frame of its own without checksum and size; `null` when there is none.
 * A frame whose last block is whole, and that lacks bytes of its checksum only, gives all its blocks.
 */
export function wholeBlocks(torn: Uint8Array): Uint8Array | null {
  const blocks: number[] = [];
  if (frameEnd(torn, 0, blocks) === DAMAGE || blocks.length < 2) return null;
  const start = blocks[0]!;
  const end = blocks[blocks.length - 1]!;
  const frame = new Uint8Array(6 + end - start);
  frame.set([0x28, 0xb5, 0x2f, 0xfd, 0, WINDOW_DESCRIPTOR]);
  frame.set(torn.subarray(start, end), 6);
  const lastHeader = 6 + blocks[blocks.length - 2]! - start;
  frame[lastHeader] = frame[lastHeader]! | 1;
  return frame;
}

/**
 * The end of the frame that begins at `start`, or {@linkcode TORN}, or {@linkcode DAMAGE}.
 *
 * @param blocks receives the start of the first block and the end of every whole one
 */
function frameEnd(bytes: Uint8Array, start: number, blocks: number[] | null): number {
  const size = bytes.length;
  if (size - start < 4) return TORN;
  if (
    bytes[start] !== 0x28 || bytes[start + 1] !== 0xb5 || bytes[start + 2] !== 0x2f || bytes[start + 3] !== 0xfd
  ) return DAMAGE;
  if (size - start < 5) return TORN;
  const descriptor = bytes[start + 4]!;
  if (descriptor & RESERVED_BITS) return DAMAGE;
  const isSingle = (descriptor & SINGLE_SEGMENT_BIT) !== 0;
  const dictionaryFlag = descriptor & 3;
  const sizeFlag = descriptor >> 6;
  let position = start + 5 + (isSingle ? 0 : 1) + (dictionaryFlag === 3 ? 4 : dictionaryFlag) +
    (sizeFlag === 0 ? (isSingle ? 1 : 0) : 1 << sizeFlag);
  blocks?.push(position);
  for (;;) {
    if (position + 3 > size) return TORN;
    const header = bytes[position]! | (bytes[position + 1]! << 8) | (bytes[position + 2]! << 16);
    const type = (header >> 1) & 3;
    if (type === 3) return DAMAGE;
    position += 3 + (type === 1 ? 1 : header >> 3);
    if (position > size) return TORN;
    blocks?.push(position);
    if (header & 1) break;
  }
  if (descriptor & CHECKSUM_BIT) position += 4;
  return position > size ? TORN : position;
}
