/**
 * The zstd codec that runs anywhere: reads with `fzstd`, writes stored blocks.
 *
 * `fzstd` checks neither checksums nor content sizes, allocates what a header claims and takes a torn frame for whole. So it
 * only ever sees a frame that was admitted and rebuilt with a window its blocks can fill, and everything it returns is
 * measured and hashed here.
 *
 * Two things can not be repaired from outside. A frame without a checksum whose sequences are damaged may decode to wrong
 * content. And a block whose sequences claim more than a block holds costs time, not memory: a hostile one of 60 KB took two
 * minutes. Our own writers always write checksums; whoever reads strangers' files takes the other codec.
 *
 * @see RFC 8878 §3.1.1 for the stored-block frames it writes
 * @module
 */
import { Decompress } from "fzstd";
import { CorruptFrameError, TooLargeError } from "../errors.ts";
import { admitFrame, wronglyDeclared } from "./admit.ts";
import { rebuildFrame } from "./rebuild.ts";
import { salvageBlocks } from "./salvage.ts";
import { BLOCK_SIZE_BYTES_MAX, FRAME_MAGIC, type FrameSpan } from "./walk.ts";
import { frameChecksum } from "./xxh64.ts";
import type { ZstdCodec } from "./zstd_codec.ts";

/**
 * The portable codec. Its frames are a few bytes longer than their content: nothing is compressed.
 *
 * @example
 * ```ts
 * import { portableZstd } from "./portable_zstd.ts";
 *
 * const codec = portableZstd();
 * const frame = codec.compress(new TextEncoder().encode("{}\n"));
 * if (codec.decompress(frame, 1024).length !== 3) throw new Error("unreachable");
 * ```
 */
export function portableZstd(): ZstdCodec {
  return {
    name: "portable",
    compress: storeFrame,
    decompress,
    salvage(torn, sizeBytesMax) {
      return salvageBlocks(torn, sizeBytesMax, decompress);
    },
  };
}

function decompress(frame: Uint8Array, sizeBytesMax: number): Uint8Array<ArrayBuffer> {
  const span = admitFrame(frame, sizeBytesMax);
  const content = decode(frame, span, sizeBytesMax);
  if (span.contentSizeBytes !== null && span.contentSizeBytes !== content.length) {
    throw wronglyDeclared(span.contentSizeBytes, content.length);
  }
  if (span.hasChecksum && frameChecksum(content) !== readChecksum(frame)) {
    throw new CorruptFrameError("Cannot decode a frame: its checksum is wrong");
  }
  return content;
}

function decode(frame: Uint8Array, span: FrameSpan, sizeBytesMax: number): Uint8Array<ArrayBuffer> {
  const contentSizeBytesMost = Math.min(span.contentSizeBytes ?? Infinity, span.contentSizeBytesMost);
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  const decoder = new Decompress((part) => {
    sizeBytes += part.length;
    if (sizeBytes > sizeBytesMax) {
      throw new TooLargeError(`Cannot decode a frame: it holds more than the limit of ${sizeBytesMax} bytes`);
    }
    parts.push(part);
  });
  try {
    decoder.push(rebuildFrame(frame, span, span.blocks, contentSizeBytesMost), true);
  } catch (error) {
    if (error instanceof TooLargeError) throw error;
    throw new CorruptFrameError("Cannot decode a frame: fzstd refuses it", { cause: error });
  }
  const content = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    content.set(part, at);
    at += part.length;
  }
  return content;
}

/** One frame of raw blocks, with content size and checksum. */
function storeFrame(plain: Uint8Array): Uint8Array<ArrayBuffer> {
  const header = headerFor(plain.length);
  const blocks = Math.max(1, Math.ceil(plain.length / BLOCK_SIZE_BYTES_MAX));
  const frame = new Uint8Array(header.length + 3 * blocks + plain.length + 4);
  frame.set(header);
  let at = header.length;
  for (let block = 0; block < blocks; block += 1) {
    const payload = plain.subarray(block * BLOCK_SIZE_BYTES_MAX, (block + 1) * BLOCK_SIZE_BYTES_MAX);
    writeNumber(frame, at, 3, (payload.length << 3) | (block === blocks - 1 ? 1 : 0));
    frame.set(payload, at + 3);
    at += 3 + payload.length;
  }
  writeNumber(frame, at, 4, frameChecksum(plain));
  return frame;
}

/** Up to one block the frame is a single segment; a longer one declares the window of a block, so that it needs no more to read. */
function headerFor(contentSizeBytes: number): number[] {
  const [singleSegment, checksum] = [0x20, 0x04];
  if (contentSizeBytes < 256) return [...FRAME_MAGIC, singleSegment | checksum, contentSizeBytes];
  const size = [0, 8, 16, 24].map((shift) => (contentSizeBytes >>> shift) & 0xff);
  if (contentSizeBytes <= BLOCK_SIZE_BYTES_MAX) return [...FRAME_MAGIC, (2 << 6) | singleSegment | checksum, ...size];
  const windowOf128KiB = 7 << 3;
  return [...FRAME_MAGIC, (2 << 6) | checksum, windowOf128KiB, ...size];
}

/** The last four bytes of a frame, little-endian. */
function readChecksum(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(frame.length - 4, true);
}

/** Little-endian. */
function writeNumber(bytes: Uint8Array, offset: number, sizeBytes: number, value: number): void {
  for (let index = 0; index < sizeBytes; index += 1) bytes[offset + index] = (value >>> (8 * index)) & 0xff;
}
