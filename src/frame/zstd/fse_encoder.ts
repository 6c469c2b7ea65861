/**
 * Finite state entropy, the writing side: distributions, their description, and the states of an encoder.
 *
 * @see RFC 8878 §4.1
 * @module
 */
import type { BitWriter } from "./bit_writer.ts";
import { buildFseTable } from "./fse.ts";

/** What an encoder needs to know about a distribution. */
export interface FseEncoder {
  readonly accuracyLog: number;
  /** How many states each symbol has. */
  readonly counts: Uint16Array;
  /** For each symbol, where its states begin in `states`. */
  readonly starts: Uint16Array;
  /** The states of a decoding table by symbol, in order. */
  readonly states: Uint16Array;
}

/** Turns how often each symbol occurs into shares of 2^accuracyLog, at least one for each that occurs. */
export function normalizeCounts(occurrences: Uint32Array, accuracyLog: number): number[] {
  const size = 1 << accuracyLog;
  let total = 0;
  for (let symbol = 0; symbol < occurrences.length; symbol += 1) total += occurrences[symbol]!;
  const shares: number[] = [];
  for (let symbol = 0, seen = 0; seen < total; symbol += 1) {
    const count = occurrences[symbol]!;
    shares.push(count === 0 ? 0 : Math.max(1, Math.floor(count * size / total)));
    seen += count;
  }
  let left = size - shares.reduce((sum, share) => sum + share, 0);
  while (left !== 0) {
    // The largest share notices it least.
    const largest = shares.indexOf(Math.max(...shares));
    const change = left > 0 ? left : -1;
    shares[largest]! += change;
    left -= change;
  }
  return shares;
}

/** Writes what `readFseCounts()` reads (RFC 8878 §4.1.1). */
export function writeFseCounts(writer: BitWriter, counts: readonly number[], accuracyLog: number): void {
  writer.add(accuracyLog - 5, 4);
  let remaining = (1 << accuracyLog) + 1;
  for (let symbol = 0; symbol < counts.length; symbol += 1) {
    const value = counts[symbol]! + 1;
    const bits = 32 - Math.clz32(remaining);
    const small = (1 << bits) - 1 - remaining;
    if (value < small) writer.add(value, bits - 1);
    else writer.add(value < 1 << (bits - 1) ? value : value + small, bits);
    remaining -= counts[symbol]!;
    if (counts[symbol] !== 0) continue;
    let zeros = 0;
    while (counts[symbol + 1 + zeros] === 0) zeros += 1;
    symbol += zeros;
    for (; zeros >= 3; zeros -= 3) writer.add(3, 2);
    writer.add(zeros, 2);
  }
}

/** The encoder for a distribution, with −1 for a symbol of one state with the full number of bits. */
export function buildFseEncoder(counts: readonly number[], accuracyLog: number): FseEncoder {
  const { cells } = buildFseTable(counts, accuracyLog);
  const starts = new Uint16Array(counts.length);
  const widths = Uint16Array.from(counts, Math.abs);
  for (let symbol = 1; symbol < starts.length; symbol += 1) starts[symbol] = starts[symbol - 1]! + widths[symbol - 1]!;
  const next = starts.slice();
  const states = new Uint16Array(cells.length);
  for (let state = 0; state < cells.length; state += 1) states[next[cells[state]! & 0xff]!++] = state;
  return { accuracyLog, counts: widths, starts, states };
}

/** A state that gives the symbol, for the end of a text. While other symbols exist it has at least one bit to read. */
export function lastState(encoder: FseEncoder, symbol: number): number {
  return encoder.states[encoder.starts[symbol]!]!;
}

/** The state that gives the symbol and then leads to `state`; writes the bits that lead there. */
export function previousState(encoder: FseEncoder, writer: BitWriter, state: number, symbol: number): number {
  const count = encoder.counts[symbol]!;
  const value = state + (1 << encoder.accuracyLog);
  let bits = encoder.accuracyLog - (31 - Math.clz32(count));
  if (value >> bits < count) bits -= 1;
  writer.add(state, bits);
  return encoder.states[encoder.starts[symbol]! + (value >> bits) - count]!;
}

/** About how many bits the symbols take; `Infinity` when the distribution has none for one that occurs. */
export function costBits(occurrences: Uint32Array, counts: readonly number[], accuracyLog: number): number {
  let bits = 0;
  for (let symbol = 0; symbol < occurrences.length; symbol += 1) {
    if (occurrences[symbol] === 0) continue;
    bits += occurrences[symbol]! * (accuracyLog - Math.log2(Math.abs(counts[symbol] ?? 0)));
  }
  return bits;
}
