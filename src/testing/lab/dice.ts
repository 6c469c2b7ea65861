/**
 * Randomness that repeats: one seed, one run, in every runtime.
 *
 * @module
 */
import type { Random } from "../../runtime/runtime.ts";

/** Bits from a seed, and the draws the lab makes of them. */
export interface Dice extends Random {
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number;
  /** One of the items. */
  pick<Item>(items: readonly Item[]): Item;
  /** Whether one of `outOf` equal cases came up. */
  oneIn(outOf: number): boolean;
}

/**
 * Dice that fall the same way for the same seed.
 *
 * @see splitmix32, the 32-bit form of Guy Steele et al., "Fast Splittable Pseudorandom Number Generators"
 *
 * @example
 * ```ts
 * import { diceOf } from "./dice.ts";
 *
 * if (diceOf(7).below(1000) !== diceOf(7).below(1000)) throw new Error("unreachable");
 * ```
 */
export function diceOf(seed: number): Dice {
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
    if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`Cannot draw a number below ${limit}`);
    return Math.floor((next() / 0x1_0000_0000) * limit);
  }

  return {
    below,
    pick: (items) => items[below(items.length)]!,
    oneIn: (outOf) => below(outOf) === 0,
    bytes(sizeBytes) {
      const bytes = new Uint8Array(sizeBytes);
      for (let index = 0; index < sizeBytes; index++) bytes[index] = next() & 0xff;
      return bytes;
    },
  };
}

/** A seed that follows from others: equal parts give an equal seed, and a changed part another one. */
export function seedFrom(...parts: readonly number[]): number {
  let mixed = 0x811c9dc5;
  for (const part of parts) {
    mixed = Math.imul(mixed ^ (part >>> 0), 0x01000193) >>> 0;
    mixed = (mixed ^ (mixed >>> 15)) >>> 0;
    mixed = Math.imul(mixed, 0x21f0aaad) >>> 0;
  }
  return mixed >>> 0;
}
