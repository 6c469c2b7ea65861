/**
 * Huffman codes, the writing side: code lengths, the description of a code, and streams.
 *
 * @see RFC 8878 §4.2
 * @module
 */
import { BitWriter } from "./bit_writer.ts";
import {
  buildFseEncoder,
  type FseEncoder,
  lastState,
  normalizeCounts,
  previousState,
  writeFseCounts,
} from "./fse_encoder.ts";
import { HUFFMAN_BITS_MAX } from "./huffman.ts";

/** A code: for each symbol its bits and how many they are; 0 for a symbol that does not occur. */
export interface HuffmanCode {
  readonly lengths: Uint8Array;
  readonly codes: Uint16Array;
  readonly symbolMax: number;
  readonly bitsMax: number;
}

/** A code for at least two symbols that occur. */
export function buildHuffmanCode(occurrences: Uint32Array): HuffmanCode {
  // Count and symbol in one number: sorting plain numbers is several times faster than comparing by a function.
  const sorted = new Uint32Array(256);
  let distinct = 0;
  let symbolMax = 0;
  for (let symbol = 0; symbol < 256; symbol += 1) {
    if (occurrences[symbol] === 0) continue;
    sorted[distinct++] = occurrences[symbol]! * 256 + symbol;
    symbolMax = symbol;
  }
  const ranks = sorted.subarray(0, distinct).sort();
  const lengths = limitLengths(treeDepths(ranks.map((rank) => rank >>> 8)));
  const bitsMax = Math.max(...lengths);
  const bySymbol = new Uint8Array(256);
  for (let index = 0; index < distinct; index += 1) bySymbol[ranks[index]! & 0xff] = lengths[index]!;

  // The longest codes come first, and those of one length in the order of their symbols (RFC 8878 §4.2.1.3).
  const codes = new Uint16Array(256);
  let cell = 0;
  for (let length = bitsMax; length > 0; length -= 1) {
    for (let symbol = 0; symbol <= symbolMax; symbol += 1) {
      if (bySymbol[symbol] !== length) continue;
      codes[symbol] = cell >> (bitsMax - length);
      cell += 1 << (bitsMax - length);
    }
  }
  return { lengths: bySymbol, codes, symbolMax, bitsMax };
}

/** Depths of a Huffman tree over ascending counts: leaves and joined nodes both come in ascending order. */
function treeDepths(counts: Uint32Array): Uint8Array {
  const sums = new Uint32Array(2 * counts.length - 1);
  sums.set(counts);
  let nodes = counts.length;
  const parents = new Uint16Array(sums.length);
  let leaf = 0;
  let joined = counts.length;
  const takeSmallest = () =>
    leaf < counts.length && (joined >= nodes || sums[leaf]! <= sums[joined]!) ? leaf++ : joined++;
  for (let join = 1; join < counts.length; join += 1) {
    const first = takeSmallest();
    const second = takeSmallest();
    parents[first] = nodes;
    parents[second] = nodes;
    sums[nodes++] = sums[first]! + sums[second]!;
  }
  const depths = new Uint8Array(sums.length);
  for (let node = sums.length - 2; node >= 0; node -= 1) depths[node] = depths[parents[node]!]! + 1;
  return depths.subarray(0, counts.length);
}

/** Shortens codes over the limit and lengthens others until they fit exactly. Rarest symbol first, here and there. */
function limitLengths(depths: Uint8Array): Uint8Array {
  const lengths = depths.map((depth) => Math.min(depth, HUFFMAN_BITS_MAX));
  const cells = (length: number) => 1 << (HUFFMAN_BITS_MAX - length);
  let excess = lengths.reduce((sum, length) => sum + cells(length), 0) - cells(0);
  while (excess > 0) {
    const index = lengths.findIndex((length) => length < HUFFMAN_BITS_MAX);
    lengths[index]! += 1;
    excess -= cells(lengths[index]!);
  }
  for (let index = lengths.length - 1; index >= 0 && excess < 0; index -= 1) {
    while (excess + cells(lengths[index]!) <= 0 && lengths[index]! > 1) {
      excess += cells(lengths[index]!);
      lengths[index]! -= 1;
    }
  }
  return lengths;
}

/** Writes what `readHuffmanTable()` reads. Returns where it ends, or `null` when this code can not be described. */
export function writeHuffmanCode(code: HuffmanCode, target: Uint8Array, at: number): number | null {
  // The weight of the last symbol follows from the others.
  const weights = code.lengths.slice(0, code.symbolMax).map((length) => length === 0 ? 0 : code.bitsMax + 1 - length);
  const end = packWeights(weights, target, at + 1);
  if (end !== null && end - at - 1 < PACKED_SIZE_BYTES_END) {
    target[at] = end - at - 1;
    return end;
  }
  if (weights.length > PLAIN_WEIGHTS_MAX) return null;
  target[at] = 127 + weights.length;
  for (let index = 0; index < weights.length; index += 2) {
    target[at + 1 + (index >> 1)] = (weights[index]! << 4) | (weights[index + 1] ?? 0);
  }
  return at + 1 + ((weights.length + 1) >> 1);
}

const PACKED_SIZE_BYTES_END = 128;
const PLAIN_WEIGHTS_MAX = 128;
const WEIGHT_ACCURACY_LOG = 6;

/** `null` when all weights are the same, which this form can not say. */
function packWeights(weights: Uint8Array, target: Uint8Array, at: number): number | null {
  const occurrences = new Uint32Array(HUFFMAN_BITS_MAX + 1);
  for (const weight of weights) occurrences[weight]! += 1;
  if (weights.length < 3 || occurrences.some((count) => count === weights.length)) return null;
  const counts = normalizeCounts(occurrences, WEIGHT_ACCURACY_LOG);
  const header = new BitWriter(target, at);
  writeFseCounts(header, counts, WEIGHT_ACCURACY_LOG);
  const encoder: FseEncoder = buildFseEncoder(counts, WEIGHT_ACCURACY_LOG);
  const writer = new BitWriter(target, header.end());
  // Two states take turns, even and odd.
  const last = weights.length - 1;
  const states = [0, 0];
  states[last & 1] = lastState(encoder, weights[last]!);
  states[(last - 1) & 1] = lastState(encoder, weights[last - 1]!);
  for (let index = last - 2; index >= 0; index -= 1) {
    states[index & 1] = previousState(encoder, writer, states[index & 1]!, weights[index]!);
  }
  writer.add(states[1]!, WEIGHT_ACCURACY_LOG);
  writer.add(states[0]!, WEIGHT_ACCURACY_LOG);
  return writer.endWithMark();
}

/** Writes the bytes as one stream, last byte first. Returns where it ends. */
export function writeHuffmanStream(code: HuffmanCode, bytes: Uint8Array, target: Uint8Array, at: number): number {
  const { lengths, codes } = code;
  let word = 0;
  let bits = 0;
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    const symbol = bytes[index]!;
    word |= codes[symbol]! << bits;
    bits += lengths[symbol]!;
    while (bits >= 8) {
      target[at++] = word;
      word >>>= 8;
      bits -= 8;
    }
  }
  target[at++] = word | (1 << bits);
  return at;
}
