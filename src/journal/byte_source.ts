/**
 * A file's bytes in order: in chunks, and in frames, never more of it in memory than one of them.
 *
 * @module
 */
import { type DelimitedFrame, FrameWalker } from "../frame/mod.ts";
import type { StoragePort } from "../storage/storage_port.ts";
import { READ_CHUNK_BYTES } from "./limits.ts";

/** Something that can be read by range. */
export interface ByteSource {
  /** What the bytes are called, for messages. */
  readonly name: string;
  /** The bytes from `startBytes` up to `endBytes`, fewer when there are not so many. */
  read(startBytes: number, endBytes: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** A file on a medium. */
export function fileSource(storage: StoragePort, name: string): ByteSource {
  return { name, read: (startBytes, endBytes) => storage.read(name, { startBytes, endBytes }) };
}

/** Bytes that were read before. */
export function bytesSource(name: string, bytes: Uint8Array<ArrayBuffer>): ByteSource {
  return { name, read: (startBytes, endBytes) => Promise.resolve(bytes.subarray(startBytes, endBytes)) };
}

/**
 * The bytes of a range, chunk by chunk. Ends early when the file has become shorter: somebody took back what they had begun
 * to write.
 */
export async function* readChunks(
  source: ByteSource,
  startBytes: number,
  endBytes: number,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  for (let at = startBytes; at < endBytes;) {
    signal?.throwIfAborted();
    const chunk = await source.read(at, Math.min(endBytes, at + READ_CHUNK_BYTES));
    if (chunk.length === 0) return;
    at += chunk.length;
    yield chunk;
  }
}

/** One thing that stands in a file of frames. */
export type FramePiece =
  | { readonly kind: "frame"; readonly frame: DelimitedFrame; readonly endOffset: number }
  /** A skippable frame (RFC 8878 §3.1.2): legal zstd, and nothing a session log may hold. */
  | { readonly kind: "skippable"; readonly offsetBytes: number; readonly endOffset: number }
  /** The end of the range lies inside a frame. Always the last piece. */
  | { readonly kind: "torn"; readonly offsetBytes: number; readonly bytes: Uint8Array<ArrayBuffer> }
  /** No frame. Always the last piece. */
  | { readonly kind: "corrupt"; readonly offsetBytes: number; readonly message: string };

/** The frames of a range. A piece's bytes are valid until the next piece is asked for. */
export async function* readFrames(
  source: ByteSource,
  startBytes: number,
  endBytes: number,
  frameSizeBytesMax: number,
  signal?: AbortSignal,
): AsyncGenerator<FramePiece, void, undefined> {
  for (let at: number | null = startBytes; at !== null;) {
    at = yield* framesFrom(source, at, endBytes, frameSizeBytesMax, signal);
  }
}

/** The frames up to the end or to the first thing that is none. Returns where to go on behind a skippable frame. */
async function* framesFrom(
  source: ByteSource,
  startBytes: number,
  endBytes: number,
  frameSizeBytesMax: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<FramePiece, number | null, undefined> {
  const walker = new FrameWalker(startBytes, frameSizeBytesMax);
  for await (const chunk of readChunks(source, startBytes, endBytes, signal)) {
    for (const frame of walker.feed(chunk)) {
      yield { kind: "frame", frame, endOffset: frame.offsetBytes + frame.bytes.length };
    }
    if (walker.fault === null) continue;
    const { offsetBytes, message } = walker.fault;
    const skippableBytes = skippableSizeBytes(await source.read(offsetBytes, Math.min(endBytes, offsetBytes + 8)));
    if (skippableBytes === null || offsetBytes + skippableBytes > endBytes) {
      yield { kind: "corrupt", offsetBytes, message };
      return null;
    }
    yield { kind: "skippable", offsetBytes, endOffset: offsetBytes + skippableBytes };
    return offsetBytes + skippableBytes;
  }
  const rest = walker.end();
  if (rest !== null) yield { kind: "torn", offsetBytes: rest.offsetBytes, bytes: rest.bytes };
  return null;
}

/** The whole size of the skippable frame that begins with these eight bytes, or `null` when none does (RFC 8878 §3.1.2). */
function skippableSizeBytes(head: Uint8Array): number | null {
  if (head.length < 8) return null;
  const isSkippable = (head[0]! & 0xf0) === 0x50 && head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18;
  return isSkippable ? 8 + (head[4]! | (head[5]! << 8) | (head[6]! << 16)) + head[7]! * 0x100_0000 : null;
}
