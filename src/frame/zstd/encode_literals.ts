/**
 * The first half of a compressed block, written: literals as they are, as one byte, or in a Huffman code.
 *
 * @see RFC 8878 §3.1.1.3.1
 * @module
 */
import { BitWriter } from "./bit_writer.ts";
import { buildHuffmanCode, writeHuffmanCode, writeHuffmanStream } from "./huffman_encoder.ts";

/** Fewer literals are stored: a code takes 20 to 60 bytes to describe. */
const HUFFMAN_LITERALS_MIN = 64;

/** Fewer literals than this stand in one stream. */
const FOUR_STREAMS_LITERALS_MIN = 256;

/** Writes the literals section at the start of the target, which has room for more than the literals. Returns where it ends. */
export function writeLiterals(literals: Uint8Array, target: Uint8Array): number {
  const size = literals.length;
  const occurrences = new Uint32Array(256);
  for (let index = 0; index < size; index += 1) occurrences[literals[index]!]! += 1;
  if (size > 3 && occurrences[literals[0]!] === size) {
    const at = writePlainHeader(target, 1, size);
    target[at] = literals[0]!;
    return at + 1;
  }
  const packed = size < HUFFMAN_LITERALS_MIN ? null : writePacked(literals, occurrences, target);
  if (packed !== null && packed < size) return packed;
  const at = writePlainHeader(target, 0, size);
  target.set(literals, at);
  return at + size;
}

/** The header of stored (0) or repeated (1) literals (RFC 8878 §3.1.1.3.1.1). */
function writePlainHeader(target: Uint8Array, type: number, size: number): number {
  const writer = new BitWriter(target, 0);
  writer.add(type, 2);
  if (size < 32) {
    writer.add(0, 1);
    writer.add(size, 5);
  } else if (size < 4096) {
    writer.add(1, 2);
    writer.add(size, 12);
  } else {
    writer.add(3, 2);
    writer.add(size, 20);
  }
  return writer.end();
}

/** Huffman-coded literals, or `null` when no code can be described. */
function writePacked(literals: Uint8Array, occurrences: Uint32Array, target: Uint8Array): number | null {
  const size = literals.length;
  const code = buildHuffmanCode(occurrences);
  const isOneStream = size < FOUR_STREAMS_LITERALS_MIN;
  const [format, sizeBits] = isOneStream ? [0, 10] : size < 1024 ? [1, 10] : size < 16384 ? [2, 14] : [3, 18];
  const headerSizeBytes = (4 + 2 * sizeBits) >> 3;
  const streamsAt = writeHuffmanCode(code, target, headerSizeBytes);
  if (streamsAt === null) return null;
  let end: number;
  if (isOneStream) {
    end = writeHuffmanStream(code, literals, target, streamsAt);
  } else {
    const segment = (size + 3) >> 2;
    end = streamsAt + 6;
    for (let stream = 0; stream < 4; stream += 1) {
      const start = end;
      end = writeHuffmanStream(code, literals.subarray(stream * segment, (stream + 1) * segment), target, start);
      if (stream === 3) break;
      target[streamsAt + 2 * stream] = end - start;
      target[streamsAt + 2 * stream + 1] = (end - start) >> 8;
    }
  }
  const packedSizeBytes = end - headerSizeBytes;
  if (packedSizeBytes >= size) return null;
  const header = new BitWriter(target, 0);
  header.add(2, 2);
  header.add(format, 2);
  header.add(size, sizeBits);
  header.add(packedSizeBytes, sizeBits);
  header.end();
  return end;
}
