/**
 * Finite state entropy tables: how a frame describes them, and how a decoder walks them.
 *
 * @see RFC 8878 §4.1
 * @module
 */
import { CorruptFrameError } from "../../errors.ts";

/** A decoding table. Its states are the indices of `cells`. */
export interface FseTable {
  /** The table has 2^accuracyLog states. */
  readonly accuracyLog: number;
  /** Symbol in bits 0 to 7, how many bits to read in bits 8 to 15, the next state without those bits above. */
  readonly cells: Uint32Array;
}

/** A distribution as it stands in a frame. */
export interface FseCounts {
  readonly accuracyLog: number;
  /** How many states each symbol has; −1 is one state with the full number of bits. */
  readonly counts: readonly number[];
  /** Just behind the description. */
  readonly endOffset: number;
}

/**
 * Reads the description of a distribution (RFC 8878 §4.1.1).
 *
 * @param end where the bytes it may use end
 * @throws {CorruptFrameError} when it is none
 */
export function readFseCounts(
  bytes: Uint8Array,
  start: number,
  end: number,
  accuracyLogMax: number,
  symbolMax: number,
): FseCounts {
  let bit = 0;
  const peek = (bits: number) => {
    const at = start + (bit >> 3);
    const word = byteAt(bytes, at, end) | (byteAt(bytes, at + 1, end) << 8) | (byteAt(bytes, at + 2, end) << 16);
    return (word >> (bit & 7)) & ((1 << bits) - 1);
  };
  const accuracyLog = peek(4) + 5;
  bit += 4;
  if (accuracyLog > accuracyLogMax) throw corruptTable(`an accuracy of ${accuracyLog}, the limit is ${accuracyLogMax}`);
  const counts: number[] = [];
  /** What is left to hand out, plus one. */
  let remaining = (1 << accuracyLog) + 1;
  while (remaining > 1 && counts.length <= symbolMax) {
    const bits = 32 - Math.clz32(remaining); // Enough for 0 to `remaining`.
    const small = (1 << bits) - 1 - remaining; // Values below it take one bit less.
    let value = peek(bits - 1);
    if (value < small) {
      bit += bits - 1;
    } else {
      value = peek(bits);
      if (value >= 1 << (bits - 1)) value -= small;
      bit += bits;
    }
    const count = value - 1;
    remaining -= Math.abs(count);
    counts.push(count);
    if (count !== 0) continue;
    for (let repeat = 3; repeat === 3 && counts.length <= symbolMax;) {
      repeat = peek(2);
      bit += 2;
      for (let index = 0; index < repeat; index += 1) counts.push(0);
    }
  }
  if (remaining !== 1) throw corruptTable("probabilities that do not add up");
  if (counts.length > symbolMax + 1) throw corruptTable(`more than ${symbolMax + 1} symbols`);
  const endOffset = start + ((bit + 7) >> 3);
  if (endOffset > end) throw corruptTable("a description that ends too early");
  return { accuracyLog, counts, endOffset };
}

/** Bytes behind the end read as zeros; whether any was needed is checked afterwards. */
function byteAt(bytes: Uint8Array, at: number, end: number): number {
  return at < end ? bytes[at]! : 0;
}

/** Builds the decoding table of a distribution (RFC 8878 §4.1.1). */
export function buildFseTable(counts: readonly number[], accuracyLog: number): FseTable {
  const size = 1 << accuracyLog;
  const cells = new Uint32Array(size);
  const next = new Uint16Array(counts.length);
  let high = size - 1;
  for (let symbol = 0; symbol < counts.length; symbol += 1) {
    next[symbol] = Math.abs(counts[symbol]!);
    if (counts[symbol] === -1) cells[high--] = symbol;
  }
  const step = (size >> 1) + (size >> 3) + 3;
  let at = 0;
  for (let symbol = 0; symbol < counts.length; symbol += 1) {
    for (let left = counts[symbol]!; left > 0; left -= 1) {
      cells[at] = symbol;
      do at = (at + step) & (size - 1); while (at > high);
    }
  }
  for (let state = 0; state < size; state += 1) {
    const symbol = cells[state]!;
    const value = next[symbol]!;
    next[symbol] = value + 1;
    const bits = accuracyLog - (31 - Math.clz32(value));
    cells[state] = symbol | (bits << 8) | (((value << bits) - size) << 16);
  }
  return { accuracyLog, cells };
}

/** A table that always gives one symbol and reads nothing. */
export function constantFseTable(symbol: number): FseTable {
  return { accuracyLog: 0, cells: Uint32Array.of(symbol) };
}

function corruptTable(found: string): CorruptFrameError {
  return new CorruptFrameError(`Cannot decode a frame: a probability table has ${found}`);
}
