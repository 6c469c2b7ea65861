/**
 * Finds the last frames of a file from its last bytes, for a listing that may not read the whole.
 *
 * @module
 */
import { hasCode } from "../errors.ts";
import { FRAME_MAGIC, walkFrame } from "./walk.ts";
import type { ZstdCodec } from "./zstd_codec.ts";

/** At most this many places that look like a frame are tried; a tail with more of them is not searched. */
export const TAIL_CANDIDATES_MAX = 1024;

/** The most content that is decoded while searching one tail, in bytes, unless a caller says otherwise: 4 MiB. */
export const TAIL_CONTENT_SIZE_BYTES_MAX: number = 4 * 1024 * 1024;

/** One of the last frames of a file, decoded. */
export interface TailFrame {
  /** Where the frame begins in the file. */
  readonly offsetBytes: number;
  /** Just behind it. */
  readonly endOffset: number;
  /** What it holds; its checksum was right. */
  readonly content: Uint8Array<ArrayBuffer>;
}

/**
 * The chain of frames that ends exactly at the end of the file, each with a right checksum, in file order.
 *
 * Content can look like frames, so the chain is followed backwards from the end and stops where it is not certain: at a
 * frame without a checksum or with a wrong one, at a frame that begins inside something else that looks like one, and at a
 * named limit. An empty answer says nothing about the file.
 *
 * What begins before the tail can not be seen: when the file is torn inside such a frame, exactly where stored content that
 * looks like a whole frame ends, that content is taken for the last frame. Text can not: the magic number is not UTF-8.
 *
 * @param tail the last bytes of the file
 * @param tailOffset where the tail begins in the file
 * @param sizeBytesMax the most content of all frames together; older frames beyond it are left out
 *
 * @example
 * ```ts
 * import { lastFrames } from "./last_frames.ts";
 * import { portableZstd } from "./portable_zstd.ts";
 *
 * const codec = portableZstd();
 * const frame = codec.compress(new TextEncoder().encode("{}\n"));
 * const tail = Uint8Array.of(1, 2, 3, ...frame);
 * if (lastFrames(tail, 100, codec)[0]?.offsetBytes !== 103) throw new Error("unreachable");
 * ```
 */
export function lastFrames(
  tail: Uint8Array,
  tailOffset: number,
  codec: ZstdCodec,
  sizeBytesMax: number = TAIL_CONTENT_SIZE_BYTES_MAX,
): TailFrame[] {
  const startByEnd = certainStarts(tail);
  const chain: TailFrame[] = [];
  let budgetBytes = sizeBytesMax;
  for (let end = tail.length; end > 0;) {
    const start = startByEnd.get(end);
    if (start === undefined) break;
    const content = tryDecompress(codec, tail.subarray(start, end), budgetBytes);
    if (content === null) break;
    budgetBytes -= content.length;
    chain.unshift({ offsetBytes: tailOffset + start, endOffset: tailOffset + end, content });
    end = start;
  }
  return chain;
}

/** For each end, the start of the frame with a checksum that ends there and begins inside nothing else that looks like a frame. */
function certainStarts(tail: Uint8Array): ReadonlyMap<number, number> {
  const startByEnd = new Map<number, number>();
  let candidates = 0;
  /** How far the candidates seen so far reach; a torn one reaches beyond the end. */
  let reach = 0;
  for (let start = tail.indexOf(FRAME_MAGIC[0]!); start !== -1; start = tail.indexOf(FRAME_MAGIC[0]!, start + 1)) {
    if (!FRAME_MAGIC.every((byte, index) => tail[start + index] === byte)) continue;
    candidates += 1;
    if (candidates > TAIL_CANDIDATES_MAX) return new Map();
    const walk = walkFrame(tail, start);
    if (walk.kind === "corrupt") continue;
    if (walk.kind === "frame" && walk.hasChecksum && reach <= start) startByEnd.set(walk.endOffset, start);
    reach = Math.max(reach, walk.kind === "frame" ? walk.endOffset : Infinity);
  }
  return startByEnd;
}

/** The content, or `null` when the codec refuses it or it is over the budget. */
function tryDecompress(codec: ZstdCodec, frame: Uint8Array, sizeBytesMax: number): Uint8Array<ArrayBuffer> | null {
  try {
    return codec.decompress(frame, sizeBytesMax);
  } catch (error) {
    if (hasCode(error, "CORRUPT_FRAME") || hasCode(error, "TOO_LARGE")) return null;
    throw error;
  }
}
