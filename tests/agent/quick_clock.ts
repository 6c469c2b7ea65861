/**
 * A clock in a hurry: time passes with the microtasks, so that a whole run with timers takes no real time.
 *
 * @module
 */
import type { Clock } from "../../src/runtime/runtime.ts";

/** How many milliseconds pass, about, from one microtask to the next. */
const TICK_MS = 20;
/** No timer takes longer than this many microtasks. */
const TICKS_MAX = 60;

/** See the module. */
export class QuickClock implements Clock {
  #nowMs = 1_700_000_000_000;

  now(): number {
    return this.#nowMs++;
  }

  schedule(delayMs: number, wake: () => void): () => void {
    let isCancelled = false;
    void ticks(1 + Math.min(Math.floor(delayMs / TICK_MS), TICKS_MAX)).then(() => {
      if (isCancelled) return;
      this.#nowMs += delayMs;
      wake();
    });
    return () => isCancelled = true;
  }
}

/** Lets that many microtasks pass. */
export async function ticks(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await null;
}
