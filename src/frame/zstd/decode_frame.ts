/**
 * Decodes one admitted frame, in time proportional to its bytes and its content.
 *
 * A block is never trusted: what it yields is bounded before it is copied, and the room for it grows as content arrives, not
 * as a header claims. Whatever the format forbids is refused, also where other decoders let it pass.
 *
 * @see RFC 8878 §3.1.1.2 and §3.1.1.3
 * @module
 */
import { CorruptFrameError, TooLargeError } from "../../errors.ts";
import { LiteralsDecoder, type Work } from "./literals.ts";
import { SequencesDecoder } from "./sequences.ts";
import { BLOCK_SIZE_BYTES_MAX, type FrameSpan } from "../walk.ts";

/** A declared content of at most this many bytes gets its room at once; more grows by doubling. */
const FIRST_ROOM_SIZE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The content of a frame, its checksum not verified.
 *
 * @param frame exactly the frame
 * @param span its shape, as `admitFrame()` gave it for the same limit
 * @param sizeBytesMax the most content; at most one block more is allocated
 * @param work is added to while decoding, so that a caller can tell what a frame cost, a refused one too
 * @throws {CorruptFrameError} when a block is not valid, or the content is longer than declared
 * @throws {TooLargeError} when the content is larger than allowed
 *
 * @example
 * ```ts
 * import { admitFrame } from "../admit.ts";
 * import { decodeFrame } from "./decode_frame.ts";
 *
 * const frame = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, 0x1b, 0, 0, 0x41);
 * const content = decodeFrame(frame, admitFrame(frame, 3), 3);
 * if (String.fromCharCode(...content) !== "AAA") throw new Error("unreachable");
 * ```
 */
export function decodeFrame(
  frame: Uint8Array,
  span: FrameSpan,
  sizeBytesMax: number,
  work: Work = { steps: 0 },
): Uint8Array<ArrayBuffer> {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const literalsDecoder = new LiteralsDecoder(frame, view, work);
  const sequencesDecoder = new SequencesDecoder(frame, view, work);
  const { windowSizeBytes } = span;
  const blockSizeBytesMax = Math.min(BLOCK_SIZE_BYTES_MAX, windowSizeBytes);
  const ceiling = span.contentSizeBytes ?? Math.min(span.contentSizeBytesMost, sizeBytesMax + blockSizeBytesMax);
  let bytes = new Uint8Array(Math.min(span.contentSizeBytes ?? 0, FIRST_ROOM_SIZE_BYTES_MAX));
  let at = 0;
  let isLast = false;
  for (let offset = span.headerSizeBytes; !isLast;) {
    const word = frame[offset]! | (frame[offset + 1]! << 8) | (frame[offset + 2]! << 16);
    work.steps += 1;
    isLast = (word & 1) === 1;
    const type = (word >> 1) & 3;
    const sizeBytes = word >>> 3;
    const start = offset + 3;
    const end = start + (type === RLE ? 1 : sizeBytes);
    const yieldsMost = type === COMPRESSED ? blockSizeBytesMax : sizeBytes;
    const limit = Math.min(at + yieldsMost, ceiling);
    bytes = withRoom(bytes, at, limit, ceiling);
    if (type === COMPRESSED) {
      const literals = literalsDecoder.decode(start, end, limit - at);
      at = sequencesDecoder.execute(literals.sectionEndOffset, end, literals, {
        bytes,
        at,
        end: limit,
        windowSizeBytes,
      });
    } else {
      if (at + sizeBytes > limit) throw new CorruptFrameError("Cannot decode a frame: it holds more than it declares");
      if (type === RLE) bytes.fill(frame[start]!, at, at + sizeBytes);
      else bytes.set(frame.subarray(start, end), at);
      at += sizeBytes;
    }
    if (at > sizeBytesMax) {
      throw new TooLargeError(`Cannot decode a frame: it holds more than the limit of ${sizeBytesMax} bytes`);
    }
    offset = end;
  }
  return at === bytes.length ? bytes : bytes.slice(0, at);
}

const RLE = 1;
const COMPRESSED = 2;

/** Room up to `end`: what is there, or at least twice as much, but never more than the ceiling. */
function withRoom(
  bytes: Uint8Array<ArrayBuffer>,
  filledBytes: number,
  end: number,
  ceiling: number,
): Uint8Array<ArrayBuffer> {
  if (end <= bytes.length) return bytes;
  const grown = new Uint8Array(Math.min(ceiling, Math.max(end, 2 * bytes.length)));
  grown.set(bytes.subarray(0, filledBytes));
  return grown;
}
