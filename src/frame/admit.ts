/**
 * Decides whether a frame may be decoded at all, before anything is allocated for it.
 *
 * Both codecs ask here first, so that they refuse the same frames with the same words, and so that what a header claims is
 * never what a decoder allocates.
 *
 * @module
 */
import { CorruptFrameError, TooLargeError } from "../errors.ts";
import { BLOCK_SIZE_BYTES_MAX, type FrameHeader, type FrameSpan, walkFrame } from "./walk.ts";

/** The largest window that is decoded, as in other decoders by default (RFC 8878 §3.1.1.1.2): 128 MiB. */
export const WINDOW_SIZE_BYTES_MAX: number = 128 * 1024 * 1024;

/** A compressed block has at least a literals header and a sequence count. */
const COMPRESSED_SIZE_BYTES_MIN = 2;

/**
 * The shape of exactly one frame whose content can not be larger than `sizeBytesMax`, or may turn out not to be.
 *
 * @throws {CorruptFrameError} when the bytes are not exactly one frame, or one that no decoder of ours takes
 * @throws {TooLargeError} when the content is certain to be larger than allowed
 *
 * @example
 * ```ts
 * import { admitFrame } from "./admit.ts";
 *
 * const frame = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x09, 0, 0, 0x41);
 * if (admitFrame(frame, 1).contentSizeBytes !== 1) throw new Error("unreachable");
 * ```
 */
export function admitFrame(frame: Uint8Array, sizeBytesMax: number): FrameSpan {
  const walk = walkFrame(frame, 0);
  if (walk.kind === "corrupt") throw new CorruptFrameError(`Cannot decode a frame: ${walk.message}`);
  if (walk.kind === "torn") throw new CorruptFrameError("Cannot decode a frame: it ends too early");
  if (walk.endOffset !== frame.length) {
    throw new CorruptFrameError(`Cannot decode a frame: ${frame.length - walk.endOffset} more bytes follow it`);
  }
  const declared = walk.contentSizeBytes;
  if (declared !== null && declared > sizeBytesMax) {
    throw new TooLargeError(`Cannot decode a frame: it declares ${declared} bytes, the limit is ${sizeBytesMax}`);
  }
  if (walk.contentSizeBytesLeast > sizeBytesMax) {
    throw new TooLargeError(
      `Cannot decode a frame: it holds at least ${walk.contentSizeBytesLeast} bytes, the limit is ${sizeBytesMax}`,
    );
  }
  if (declared !== null && (declared < walk.contentSizeBytesLeast || declared > walk.contentSizeBytesMost)) {
    throw new CorruptFrameError(
      `Cannot decode a frame: it declares ${declared} bytes, and its blocks can not hold that`,
    );
  }
  const problem = headerProblem(walk) ?? blockProblem(walk);
  if (problem !== null) throw new CorruptFrameError(`Cannot decode a frame: ${problem}`);
  return walk;
}

/** Why no frame with this header is decoded, or `null`. A single segment's window is its content, which has its own cap. */
function headerProblem(header: FrameHeader): string | null {
  if (header.dictionaryId !== 0) return `it needs the dictionary ${header.dictionaryId}`;
  if (header.windowSizeBytes > WINDOW_SIZE_BYTES_MAX && header.windowSizeBytes !== header.contentSizeBytes) {
    return `it needs a window of ${header.windowSizeBytes} bytes, the limit is ${WINDOW_SIZE_BYTES_MAX}`;
  }
  return null;
}

/** Decoders disagree about blocks that are larger than the format allows, so they are refused here (RFC 8878 §3.1.1.2.4). */
function blockProblem(frame: FrameSpan): string | null {
  const sizeBytesMax = Math.min(BLOCK_SIZE_BYTES_MAX, frame.windowSizeBytes);
  if (frame.largestBlockSizeBytes > sizeBytesMax) {
    return `it has a block of ${frame.largestBlockSizeBytes} bytes, the limit is ${sizeBytesMax}`;
  }
  if (frame.smallestCompressedSizeBytes < COMPRESSED_SIZE_BYTES_MIN) {
    return `it has a compressed block of ${frame.smallestCompressedSizeBytes} bytes`;
  }
  return null;
}

/** The error for a frame whose content is not as long as its header says. */
export function wronglyDeclared(declaredSizeBytes: number, found: number | "more"): CorruptFrameError {
  return new CorruptFrameError(`Cannot decode a frame: it declares ${declaredSizeBytes} bytes and holds ${found}`);
}
