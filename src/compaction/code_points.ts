/**
 * Texts cut by Unicode code points: a pair of surrogates is never split. What a person sees as one character (an emoji with its
 * skin tone, a letter with its accents) may be.
 *
 * @module
 */

/**
 * How many code points a text has; a lone surrogate is one.
 *
 * @example
 * ```ts
 * import { countCodePoints } from "./code_points.ts";
 *
 * if (countCodePoints("a😀b") !== 3 || countCodePoints("\ud83d") !== 1) throw new Error("unreachable");
 * ```
 */
export function countCodePoints(text: string): number {
  let pairs = 0;
  for (let index = 0; index < text.length - 1; index++) {
    if (isPairAt(text, index)) {
      pairs++;
      index++;
    }
  }
  return text.length - pairs;
}

/**
 * Where the first `count` code points of a text end, as an index of UTF-16 units; the length of a shorter text.
 *
 * @example
 * ```ts
 * import { headEnd } from "./code_points.ts";
 *
 * if (headEnd("a😀b", 2) !== 3 || headEnd("a", 9) !== 1) throw new Error("unreachable");
 * ```
 */
export function headEnd(text: string, count: number): number {
  let index = 0;
  for (let taken = 0; taken < count && index < text.length; taken++) index += isPairAt(text, index) ? 2 : 1;
  return index;
}

/**
 * Where the last `count` code points of a text begin; 0 for a shorter text.
 *
 * @example
 * ```ts
 * import { tailStart } from "./code_points.ts";
 *
 * if (tailStart("a😀b", 2) !== 1 || tailStart("a", 9) !== 0) throw new Error("unreachable");
 * ```
 */
export function tailStart(text: string, count: number): number {
  let index = text.length;
  for (let taken = 0; taken < count && index > 0; taken++) index -= isPairAt(text, index - 2) ? 2 : 1;
  return index;
}

function isPairAt(text: string, index: number): boolean {
  const [high, low] = [text.charCodeAt(index), text.charCodeAt(index + 1)];
  return high >= 0xd800 && high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;
}
