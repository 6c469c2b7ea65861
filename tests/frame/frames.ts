/**
 * Frames and files for the tests of this folder.
 *
 * @module
 */
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { frameChecksum } from "../../src/frame/xxh64.ts";
import type { ZstdCodec } from "../../src/frame/zstd_codec.ts";

export const node: ZstdCodec = nodeZstd();
export const portable: ZstdCodec = portableZstd();
export const codecs: readonly ZstdCodec[] = [node, portable];

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromHex(hex.replaceAll(" ", ""));
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** `count` JSON lines from `seq` on. */
export function rows(seq: number, count: number): string {
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      type: "tool/result",
      seq: seq + index,
      time: 1_787_000_000_000 + 37 * (seq + index),
      data: { turn: 1, text: `line ${Math.imul(seq + index + 1, 2_654_435_761) >>> 0}` },
    }) + "\n").join("");
}

/** A frame without a content size, of these blocks: raw, RLE, raw; with a checksum that is not checked by a walk. */
export function handMadeFrame(): Uint8Array<ArrayBuffer> {
  return joined(
    bytesOf("28b52ffd 04 58"),
    bytesOf("180000 414243"), // raw, 3 bytes
    bytesOf("020800 20"), // RLE, 256 bytes
    bytesOf("000000"), // raw, empty
    bytesOf("110000 0a0a"), // raw, 2 bytes, last
    bytesOf("00000000"),
  );
}

/** A frame of one stored block, as another program may write it: its content stands in it as it is. */
export function storedFrame(content: Uint8Array): Uint8Array<ArrayBuffer> {
  return joined(
    bytesOf("28b52ffd a4"),
    littleEndian(content.length, 4),
    littleEndian((content.length << 3) | 1, 3),
    content,
    littleEndian(frameChecksum(content), 4),
  );
}

/** A frame of these blocks with a window of 8 MiB, no content size and no checksum. */
export function frameOfBlocks(blocks: readonly { readonly type: 0 | 1 | 2; readonly bytes: Uint8Array }[]) {
  return joined(
    bytesOf("28b52ffd 00 68"),
    ...blocks.flatMap(({ type, bytes }, index) => [
      littleEndian((bytes.length << 3) | (type << 1) | (index === blocks.length - 1 ? 1 : 0), 3),
      bytes,
    ]),
  );
}

export function littleEndian(value: number, sizeBytes: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: sizeBytes }, (_, index) => value >>> (8 * index));
}

/** A log of several frames of several kinds, about 2 KiB, with frames of one and of many blocks. */
export function mixedFile(): Uint8Array<ArrayBuffer> {
  return joined(
    portable.compress(utf8('{"type":"session"}\n')),
    node.compress(utf8(rows(0, 6))),
    handMadeFrame(),
    bytesOf("28b52ffd 20 03 190000 7b7d0a"), // no checksum
    bytesOf("28b52ffd 24 00 010000 99e9d851"), // no content
    portable.compress(utf8(rows(6, 3))),
    node.compress(utf8(rows(9, 40))),
  );
}
