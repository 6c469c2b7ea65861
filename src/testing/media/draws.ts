/**
 * Numbers that repeat.
 *
 * @module
 */

import type { Draws } from "./crash_bounds.ts";

/** The draws of a seed, the same everywhere: splitmix32. */
export function drawsOf(seed: number): Draws {
  let state = seed >>> 0;
  return {
    below(limit) {
      state = (state + 0x9e3779b9) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
      return Math.floor(((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000 * limit);
    },
  };
}
