/**
 * Finds where zstd frames begin and end, without decoding anything.
 *
 * The rules are the structural scan of the session format: the end of the bytes inside a frame means torn (expected after a
 * crash); a wrong magic number, a reserved bit or a reserved block type means corruption, wherever it is. Decoders disagree
 * about torn and concatenated input, so none of them is asked.
 *
 * @see RFC 8878 §3.1.1 for the frame, §3.1.1.2 for the block layout
 * @module
 */

/** The first four bytes of a frame, little-endian 0xFD2FB528. */
export const FRAME_MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd];

/** The most content one frame may hold, in bytes, unless a caller says otherwise: 256 MiB. */
export const CONTENT_SIZE_BYTES_MAX: number = 256 * 1024 * 1024;

/** The most bytes one frame may take on the medium: room for CONTENT_SIZE_BYTES_MAX in stored blocks. */
export const FRAME_SIZE_BYTES_MAX: number = CONTENT_SIZE_BYTES_MAX + 1024 * 1024;

/** The most content one block may hold, in bytes (RFC 8878 §3.1.1.2.4). */
export const BLOCK_SIZE_BYTES_MAX: number = 128 * 1024;

/** What the header of a frame says. */
export interface FrameHeader {
  /** Magic number, descriptor, window, dictionary id and content size together. */
  readonly headerSizeBytes: number;
  /** The declared content size; `null` when the frame does not say. Beyond 2^53 it is rounded. */
  readonly contentSizeBytes: number | null;
  /** How far back a match may reach. A single-segment frame uses its content size. */
  readonly windowSizeBytes: number;
  /** 0 when the frame names no dictionary. */
  readonly dictionaryId: number;
  /** Whether four bytes of XXH64 follow the last block. */
  readonly hasChecksum: boolean;
}

/** One complete frame. Its blocks are counted, not listed: 256 MiB of empty blocks would be ninety million entries. */
export interface FrameSpan extends FrameHeader {
  readonly kind: "frame";
  /** Offset of the first byte of the frame in the bytes that were walked. */
  readonly startOffset: number;
  /** Offset just behind the frame. */
  readonly endOffset: number;
  readonly blocks: number;
  /** The content is at least this long: the sizes of its raw and RLE blocks. */
  readonly contentSizeBytesLeast: number;
  /** The content is at most this long: a compressed block yields at most BLOCK_SIZE_BYTES_MAX. */
  readonly contentSizeBytesMost: number;
  /** Size of the largest block as its header says it, compressed or not. */
  readonly largestBlockSizeBytes: number;
  /** Size of the smallest compressed block; `Infinity` when there is none. */
  readonly smallestCompressedSizeBytes: number;
}

/** The bytes end inside the frame. Of its blocks, these are whole. */
export interface TornFrame {
  readonly kind: "torn";
  readonly startOffset: number;
  /** `null` when not even the header is whole. */
  readonly header: FrameHeader | null;
  /** How many blocks are whole, and where the last of them ends. */
  readonly wholeBlocks: number;
  readonly wholeBlocksEndOffset: number;
  /** Their content is at most this long. */
  readonly contentSizeBytesMost: number;
}

/** What stands there is no frame of ours, and more bytes would not make it one. */
export interface NoFrame {
  readonly kind: "corrupt";
  /** Where the refused frame begins. */
  readonly offsetBytes: number;
  /** What was found, for the end of an error message. */
  readonly message: string;
}

/** The answer of {@linkcode walkFrame}. */
export type FrameWalk = FrameSpan | TornFrame | NoFrame;

/**
 * Walks the frame that begins at `offset`. At the very end of the bytes, as with less than four left, the answer is torn.
 *
 * @param sizeBytesMax a frame that is, or says it will be, longer is corrupt
 *
 * @example
 * ```ts
 * import { walkFrame } from "./walk.ts";
 *
 * const frame = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x09, 0, 0, 0x41);
 * const walk = walkFrame(frame, 0);
 * if (walk.kind !== "frame" || walk.contentSizeBytes !== 1) throw new Error("unreachable");
 * if (walkFrame(frame.subarray(0, 9), 0).kind !== "torn") throw new Error("unreachable");
 * ```
 */
export function walkFrame(bytes: Uint8Array, offset: number, sizeBytesMax: number = FRAME_SIZE_BYTES_MAX): FrameWalk {
  const cursor = startCursor(offset);
  const problem = advance(cursor, bytes, bytes.length, sizeBytesMax);
  if (problem !== null) return { kind: "corrupt", offsetBytes: offset, message: problem };
  return cursor.endOffset === null ? tornAt(cursor) : spanOf(cursor, cursor.endOffset);
}

/** All frames of some bytes, and what follows the last of them. */
export interface FramesWalk {
  readonly frames: readonly FrameSpan[];
  /** The torn frame at the end, or `null`. */
  readonly torn: TornFrame | null;
  /** Why the walk stopped early, or `null`. */
  readonly fault: NoFrame | null;
}

/**
 * Walks frame after frame from `offset` to the end of the bytes, a torn tail, or corruption.
 *
 * @example
 * ```ts
 * import { walkFrames } from "./walk.ts";
 *
 * const { frames, torn, fault } = walkFrames(new Uint8Array(4));
 * if (frames.length !== 0 || torn !== null || fault === null) throw new Error("unreachable");
 * ```
 */
export function walkFrames(bytes: Uint8Array, offset = 0): FramesWalk {
  const frames: FrameSpan[] = [];
  while (offset < bytes.length) {
    const walk = walkFrame(bytes, offset);
    if (walk.kind === "torn") return { frames, torn: walk, fault: null };
    if (walk.kind === "corrupt") return { frames, torn: null, fault: walk };
    frames.push(walk);
    offset = walk.endOffset;
  }
  return { frames, torn: null, fault: null };
}

/** Where the walk of one frame stands. It can go on when more bytes have arrived. */
export interface FrameCursor {
  readonly startOffset: number;
  header: FrameHeader | null;
  /** Where the next thing to read (header, block header, checksum) begins. */
  nextOffset: number;
  /** Set after the last block; only the checksum may be missing then. */
  hasLastBlock: boolean;
  endOffset: number | null;
  blocks: number;
  contentSizeBytesLeast: number;
  contentSizeBytesMost: number;
  largestBlockSizeBytes: number;
  smallestCompressedSizeBytes: number;
}

/** A cursor at the first byte of a frame. */
export function startCursor(startOffset: number): FrameCursor {
  return {
    startOffset,
    header: null,
    nextOffset: startOffset,
    hasLastBlock: false,
    endOffset: null,
    blocks: 0,
    contentSizeBytesLeast: 0,
    contentSizeBytesMost: 0,
    largestBlockSizeBytes: 0,
    smallestCompressedSizeBytes: Infinity,
  };
}

/**
 * Moves the cursor over everything that is whole before `limit`. Returns the reason when the frame is corrupt.
 * A frame that is whole sets `endOffset`.
 */
export function advance(cursor: FrameCursor, bytes: Uint8Array, limit: number, sizeBytesMax: number): string | null {
  if (cursor.header === null) {
    const header = readHeader(bytes, cursor.startOffset, limit);
    if (typeof header === "string") return header;
    if (header === null) return null;
    cursor.header = header;
    cursor.nextOffset = cursor.startOffset + header.headerSizeBytes;
  }
  const blockSizeBytesMax = Math.min(BLOCK_SIZE_BYTES_MAX, cursor.header.windowSizeBytes);
  while (!cursor.hasLastBlock) {
    const at = cursor.nextOffset;
    if (at + 3 > limit) return null;
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
    const type = (word >> 1) & 3;
    const sizeBytes = word >>> 3;
    if (type === BLOCK_RESERVED) return "a block of the reserved type";
    const end = at + 3 + (type === BLOCK_RLE ? 1 : sizeBytes);
    if (end - cursor.startOffset > sizeBytesMax) return `a frame of more than ${sizeBytesMax} bytes`;
    if (end > limit) return null;
    cursor.nextOffset = end;
    cursor.hasLastBlock = (word & 1) === 1;
    cursor.blocks += 1;
    cursor.largestBlockSizeBytes = Math.max(cursor.largestBlockSizeBytes, sizeBytes);
    if (type === BLOCK_COMPRESSED) {
      cursor.contentSizeBytesMost += blockSizeBytesMax;
      cursor.smallestCompressedSizeBytes = Math.min(cursor.smallestCompressedSizeBytes, sizeBytes);
    } else {
      cursor.contentSizeBytesLeast += sizeBytes;
      cursor.contentSizeBytesMost += sizeBytes;
    }
  }
  const end = cursor.nextOffset + (cursor.header.hasChecksum ? 4 : 0);
  if (end <= limit) cursor.endOffset = end;
  return null;
}

/** The finished cursor as a span. */
export function spanOf(cursor: FrameCursor, endOffset: number): FrameSpan {
  return {
    kind: "frame",
    startOffset: cursor.startOffset,
    endOffset,
    ...cursor.header!,
    blocks: cursor.blocks,
    contentSizeBytesLeast: cursor.contentSizeBytesLeast,
    contentSizeBytesMost: cursor.contentSizeBytesMost,
    largestBlockSizeBytes: cursor.largestBlockSizeBytes,
    smallestCompressedSizeBytes: cursor.smallestCompressedSizeBytes,
  };
}

function tornAt(cursor: FrameCursor): TornFrame {
  return {
    kind: "torn",
    startOffset: cursor.startOffset,
    header: cursor.header,
    wholeBlocks: cursor.blocks,
    wholeBlocksEndOffset: cursor.nextOffset,
    contentSizeBytesMost: cursor.contentSizeBytesMost,
  };
}

const BLOCK_RLE = 1;
const BLOCK_COMPRESSED = 2;
const BLOCK_RESERVED = 3;

/** The header, `null` when the bytes end inside it, or the reason why it is none. */
function readHeader(bytes: Uint8Array, offset: number, limit: number): FrameHeader | string | null {
  if (limit - offset < 4) return null;
  if (FRAME_MAGIC.some((byte, index) => bytes[offset + index] !== byte)) return "no zstd frame";
  if (limit - offset < 5) return null;
  const descriptor = bytes[offset + 4]!;
  // The original refuses the unused bit 4 as well as the reserved bit 3.
  if ((descriptor & 0x18) !== 0) return "a reserved bit in the frame header";

  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionarySizeBytes = [0, 1, 2, 4][descriptor & 3]!;
  const sizeFlag = descriptor >> 6;
  const contentSizeSizeBytes = sizeFlag === 0 ? (isSingleSegment ? 1 : 0) : 1 << sizeFlag;
  const headerSizeBytes = 5 + (isSingleSegment ? 0 : 1) + dictionarySizeBytes + contentSizeSizeBytes;
  if (limit - offset < headerSizeBytes) return null;

  const contentSizeOffset = offset + headerSizeBytes - contentSizeSizeBytes;
  const contentSizeBytes = contentSizeSizeBytes === 0
    ? null
    : readNumber(bytes, contentSizeOffset, contentSizeSizeBytes) + (contentSizeSizeBytes === 2 ? 256 : 0);
  return {
    headerSizeBytes,
    contentSizeBytes,
    windowSizeBytes: isSingleSegment ? contentSizeBytes! : windowSizeOf(bytes[offset + 5]!),
    dictionaryId: readNumber(bytes, contentSizeOffset - dictionarySizeBytes, dictionarySizeBytes),
    hasChecksum: (descriptor & 4) !== 0,
  };
}

/** RFC 8878 §3.1.1.1.2: an exponent in bits 3 to 7, a mantissa of eighths in bits 0 to 2. */
function windowSizeOf(windowDescriptor: number): number {
  const base = 2 ** (10 + (windowDescriptor >> 3));
  return base + (base / 8) * (windowDescriptor & 7);
}

/** Little-endian, unsigned. */
function readNumber(bytes: Uint8Array, offset: number, sizeBytes: number): number {
  let value = 0;
  for (let index = sizeBytes - 1; index >= 0; index -= 1) value = value * 256 + bytes[offset + index]!;
  return value;
}
