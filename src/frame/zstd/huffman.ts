/**
 * Huffman-coded literals: the description of a code, and the streams written in it.
 *
 * @see RFC 8878 §4.2
 * @module
 */
import { CorruptFrameError } from "../../errors.ts";
import { bitsBelow, streamBits } from "./backward_bits.ts";
import { buildFseTable, readFseCounts } from "./fse.ts";

/** The longest code, in bits (RFC 8878 §4.2.1). */
export const HUFFMAN_BITS_MAX = 11;

/** A byte has 256 values; the weight of the last one is never written. */
const WEIGHTS_MAX = 255;
const WEIGHT_ACCURACY_LOG_MAX = 6;

/** A decoding table: what `bits` bits of a stream begin with. */
export interface HuffmanTable {
  readonly bits: number;
  /** Length of the code in bits 0 to 7, symbol in bits 8 to 15. */
  readonly cells: Uint16Array;
}

/**
 * Reads the description of a code.
 *
 * @returns the table, and where the bytes behind the description begin
 * @throws {CorruptFrameError} when it is none
 */
export function readHuffmanTable(bytes: Uint8Array, view: DataView, start: number, end: number) {
  if (start >= end) throw corruptCode("no description");
  const head = bytes[start]!;
  const isPacked = head < 128;
  const endOffset = start + 1 + (isPacked ? head : (head - 127 + 1) >> 1);
  if (endOffset > end) throw corruptCode("a description that ends too early");
  const weights = isPacked
    ? readPackedWeights(bytes, view, start + 1, endOffset)
    : Array.from({ length: head - 127 }, (_, index) => (bytes[start + 1 + (index >> 1)]! >> (index & 1 ? 0 : 4)) & 15);
  return { table: buildHuffmanTable(weights), endOffset };
}

/** Weights in a stream of their own, with two states that take turns until it is overread (RFC 8878 §4.2.1.2). */
function readPackedWeights(bytes: Uint8Array, view: DataView, start: number, end: number): number[] {
  const { counts, accuracyLog, endOffset } = readFseCounts(bytes, start, end, WEIGHT_ACCURACY_LOG_MAX, WEIGHTS_MAX);
  const { cells } = buildFseTable(counts, accuracyLog);
  let bit = streamBits(bytes, endOffset, end);
  let first = bitsBelow(view, endOffset, bit, accuracyLog);
  let second = bitsBelow(view, endOffset, bit - accuracyLog, accuracyLog);
  bit -= 2 * accuracyLog;
  if (bit < 0) throw corruptCode("a description that ends too early");
  const weights: number[] = [];
  while (bit >= 0) {
    if (weights.length >= WEIGHTS_MAX) throw corruptCode("too many weights");
    const cell = cells[first]!;
    weights.push(cell & 0xff);
    const count = (cell >> 8) & 0xff;
    first = second;
    second = (cell >>> 16) + bitsBelow(view, endOffset, bit, count);
    bit -= count;
  }
  // The state that was read last has no bits of its own; the other one still holds a symbol.
  weights.push(cells[first]! & 0xff);
  if (weights.length > WEIGHTS_MAX) throw corruptCode("too many weights");
  return weights;
}

/** A weight of w stands for 2^(w−1) cells; the last symbol takes the cells that are left (RFC 8878 §4.2.1). */
function buildHuffmanTable(weights: readonly number[]): HuffmanTable {
  let cellsTaken = 0;
  for (const weight of weights) {
    if (weight > HUFFMAN_BITS_MAX) throw corruptCode(`a weight of ${weight}`);
    cellsTaken += (1 << weight) >> 1;
  }
  if (cellsTaken === 0) throw corruptCode("no weights");
  const bits = 32 - Math.clz32(cellsTaken);
  const cellsLeft = (1 << bits) - cellsTaken;
  if (bits > HUFFMAN_BITS_MAX || (cellsLeft & (cellsLeft - 1)) !== 0) throw corruptCode("weights that do not add up");
  const all = [...weights, 32 - Math.clz32(cellsLeft)];
  // A complete code has an even number of longest codes, at least two.
  const longest = all.filter((weight) => weight === 1).length;
  if (longest < 2 || longest % 2 !== 0) throw corruptCode("weights that do not add up");

  const cells = new Uint16Array(1 << bits);
  let at = 0;
  for (let weight = 1; weight <= bits; weight += 1) {
    for (let symbol = 0; symbol < all.length; symbol += 1) {
      if (all[symbol] !== weight) continue;
      const end = at + (1 << (weight - 1));
      cells.fill((symbol << 8) | (bits + 1 - weight), at, end);
      at = end;
    }
  }
  return { bits, cells };
}

/**
 * Decodes one stream into exactly `target.subarray(at, targetEnd)`.
 *
 * @throws {CorruptFrameError} when the stream does not end with the last symbol
 */
export function decodeHuffmanStream(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  table: HuffmanTable,
  target: Uint8Array,
  at: number,
  targetEnd: number,
): void {
  const { bits, cells } = table;
  const shift = 32 - bits;
  let bit = streamBits(bytes, start, end);
  // Four bytes hold at least 24 bits below the position: two codes of 11.
  const fastEnd = targetEnd - 1;
  while (at < fastEnd && bit >= 32) {
    let word = view.getInt32(start + (bit >> 3) - 3, true) << (8 - (bit & 7));
    const first = cells[word >>> shift]!;
    word <<= first & 15;
    const second = cells[word >>> shift]!;
    target[at] = first >> 8;
    target[at + 1] = second >> 8;
    at += 2;
    bit -= (first & 15) + (second & 15);
  }
  for (; at < targetEnd && bit > 0; at += 1) {
    const cell = cells[bitsBelow(view, start, bit, bits)]!;
    target[at] = cell >> 8;
    bit -= cell & 15;
  }
  if (at !== targetEnd || bit !== 0) throw corruptCode("a stream that does not end with its last symbol");
}

function corruptCode(found: string): CorruptFrameError {
  return new CorruptFrameError(`Cannot decode a frame: a Huffman code has ${found}`);
}
