/**
 * What a damaged frame still yields: its blocks up to the first one that does not decode.
 *
 * @module
 */
import { hasCode } from "../../errors.ts";
import type { ZstdCodec } from "../../frame/mod.ts";
import { rebuildFrame } from "../../frame/rebuild.ts";
import { advance, startCursor } from "../../frame/walk.ts";

/** The content of the first blocks of a frame. Nobody has verified it. */
export interface WholeBlocks {
  readonly content: Uint8Array<ArrayBuffer>;
  /** How many blocks decode, and how many the frame has, as far as it can be walked. */
  readonly goodBlocks: number;
  readonly walkedBlocks: number;
  /** Whether the walk came to the last block. */
  readonly hasEnd: boolean;
}

/**
 * Decodes as many blocks as possible of the frame that begins these bytes, without asking for its checksum.
 *
 * @param bytes from the frame's start; they may end inside it, or far behind it
 * @returns `null` when not even its header can be read
 *
 * @example
 * ```ts
 * import { nodeZstd } from "../../frame/node_zstd.ts";
 * import { wholeBlocks } from "./whole_blocks.ts";
 *
 * const frame = nodeZstd().compress(new TextEncoder().encode("{}\n"));
 * frame[frame.length - 1]! ^= 1; // Its checksum.
 * if (wholeBlocks(frame, nodeZstd(), 100)?.content.length !== 3) throw new Error("unreachable");
 * ```
 */
export function wholeBlocks(bytes: Uint8Array, codec: ZstdCodec, sizeBytesMax: number): WholeBlocks | null {
  const cursor = startCursor(0);
  advance(cursor, bytes, bytes.length, bytes.length);
  const { header, blocks } = cursor;
  if (header === null) return null;
  let content: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  const attempt = (count: number): boolean => {
    try {
      content = codec.decompress(rebuildFrame(bytes, header, count, cursor.contentSizeBytesMost), sizeBytesMax);
      return true;
    } catch (error) {
      if (hasCode(error, "CORRUPT_FRAME") || hasCode(error, "TOO_LARGE")) return false;
      throw error;
    }
  };
  // Blocks depend on those before them, so the good ones are the first ones: few attempts, whatever their number.
  let good = 0;
  for (let least = 0, most = blocks, count = most; least < most; count = Math.ceil((least + most) / 2)) {
    if (attempt(count)) good = least = count;
    else most = count - 1;
  }
  return { content, goodBlocks: good, walkedBlocks: blocks, hasEnd: cursor.hasLastBlock };
}
