/**
 * Randomness that repeats: one seed, one run.
 *
 * @module
 */

import type { Random } from "../../src/runtime/runtime.ts";

/** A {@linkcode Random} from a seed, with a few draws that tests need. */
export interface SeededRandom extends Random {
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number;
  /** One of the items. */
  pick<T>(items: readonly T[]): T;
}

/**
 * Makes a generator that yields the same bytes for the same seed, everywhere.
 *
 * @see splitmix32, as published by Guy Steele et al., "Fast Splittable Pseudorandom Number Generators", in its 32-bit form
 */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  function below(limit: number): number {
    if (!Number.isInteger(limit) || limit < 1) {
      throw new RangeError(`Cannot draw a number below ${limit}`);
    }
    return Math.floor((next() / 0x1_0000_0000) * limit);
  }

  return {
    below,
    pick<T>(items: readonly T[]): T {
      return items[below(items.length)]!;
    },
    bytes(sizeBytes: number): Uint8Array<ArrayBuffer> {
      const bytes = new Uint8Array(sizeBytes);
      for (let index = 0; index < sizeBytes; index++) {
        bytes[index] = next() & 0xff;
      }
      return bytes;
    },
  };
}
