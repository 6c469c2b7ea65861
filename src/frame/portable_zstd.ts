/**
 * The zstd codec that runs anywhere, in plain TypeScript: there is nothing to load first, and no WebAssembly for a page's
 * content security policy to forbid.
 *
 * Reading takes time and memory proportional to the frame and its content, whoever made the frame. A frame without a
 * checksum whose damage is a valid frame decodes to other content, as with every decoder; our own writers always write
 * checksums.
 *
 * @module
 */
import { CorruptFrameError } from "../errors.ts";
import { admitFrame, wronglyDeclared } from "./admit.ts";
import { decodeFrame } from "./zstd/decode_frame.ts";
import { FrameEncoder } from "./zstd/encode_frame.ts";
import { salvageBlocks } from "./salvage.ts";
import { frameChecksum } from "./xxh64.ts";
import type { ZstdCodec } from "./zstd_codec.ts";

/**
 * The portable codec. Its frames of JSON lines are about as small as those of zstd's levels 1 to 3.
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
    compress(plain) {
      sharedEncoder ??= new FrameEncoder();
      return sharedEncoder.encode(plain);
    },
    decompress,
    salvage(torn, sizeBytesMax) {
      return salvageBlocks(torn, sizeBytesMax, decompress);
    },
  };
}

/** One for all codecs: it has 2 MB of tables, keeps nothing between two texts, and is never interrupted. */
let sharedEncoder: FrameEncoder | null = null;

function decompress(frame: Uint8Array, sizeBytesMax: number): Uint8Array<ArrayBuffer> {
  const span = admitFrame(frame, sizeBytesMax);
  const content = decodeFrame(frame, span, sizeBytesMax);
  if (span.contentSizeBytes !== null && span.contentSizeBytes !== content.length) {
    throw wronglyDeclared(span.contentSizeBytes, content.length);
  }
  if (span.hasChecksum && frameChecksum(content) !== readChecksum(frame)) {
    throw new CorruptFrameError("Cannot decode a frame: its checksum is wrong");
  }
  return content;
}

/** The last four bytes of a frame, little-endian. */
function readChecksum(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(frame.length - 4, true);
}
