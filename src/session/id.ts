/**
 * Session ids: short, readable, and sorted by time.
 *
 * @see Crockford, "Base 32": no i, l, o and u, so that nothing is misread; digits sort before letters
 * @module
 */
import type { Clock, Random } from "../runtime/runtime.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_CHARS = 10;
const RANDOM_CHARS = 4;

/**
 * Draws an id of 14 characters: the time in milliseconds, then 20 random bits. Ids of one millisecond may collide, once in a
 * million; the store refuses the second.
 *
 * @example
 * ```ts
 * import { newSessionId } from "./id.ts";
 *
 * const clock = { now: () => 1_767_225_600_000, schedule: () => () => {} };
 * const random = { bytes: (size: number) => new Uint8Array(size) };
 * if (newSessionId(clock, random) !== "01kdvdna000000") throw new Error("unreachable");
 * ```
 */
export function newSessionId(clock: Clock, random: Random): string {
  let rest = Math.max(0, Math.trunc(clock.now()));
  let time = "";
  for (let index = 0; index < TIME_CHARS; index++) {
    time = ALPHABET[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  return time + Array.from(random.bytes(RANDOM_CHARS), (byte) => ALPHABET[byte % 32]).join("");
}
