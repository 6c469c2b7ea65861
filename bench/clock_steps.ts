/**
 * How fine a clock is: browsers make theirs coarse on purpose.
 *
 * @module
 */

/** How many steps are looked at. */
const STEPS = 20;
/** A clock that stands still for so many looks is given up. */
const LOOKS_MAX = 5_000_000;

/**
 * The smallest step in which the clock was seen to move.
 *
 * @returns 0 when it stands still
 *
 * @example
 * ```ts
 * import { timerStepMs } from "./clock_steps.ts";
 *
 * let looks = 0;
 * if (timerStepMs(() => Math.floor(looks++ / 7) * 0.5) !== 0.5) throw new Error("unreachable");
 * ```
 */
export function timerStepMs(nowMs: () => number): number {
  let smallestMs = Infinity;
  let lastMs = nowMs();
  for (let looks = 0, steps = 0; looks < LOOKS_MAX && steps < STEPS; looks++) {
    const foundMs = nowMs();
    if (foundMs === lastMs) continue;
    smallestMs = Math.min(smallestMs, foundMs - lastMs);
    lastMs = foundMs;
    steps++;
  }
  return smallestMs === Infinity ? 0 : smallestMs;
}
