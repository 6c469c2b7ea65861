/**
 * Trying again, a bounded number of times, each time a little later.
 *
 * @module
 */

/** Waits; resolves at once with nothing else to do. Timers come from whoever opens the store. */
export type Sleep = (ms: number) => Promise<void>;

/** The first pause, in milliseconds. Each is twice as long as the one before. */
export const PAUSE_MS_MIN = 20;

/** The longest pause, in milliseconds. */
export const PAUSE_MS_MAX = 1_000;

/**
 * How long something is tried while the database cannot be reached, in milliseconds, from a store's opening to its last statement.
 * Then it is `STORAGE_LOST`. A try that has begun still ends by its own bounds.
 */
export const UNREACHABLE_MS_MAX = 30_000;

/** A bound in time that has begun. */
export interface Bound {
  /** Whether it is over. */
  readonly isOver: boolean;
  /** Nobody asks any more. */
  cancel(): void;
}

/**
 * Begins a bound: tries take time of their own, so the pauses between them do not say how long all of it lasts.
 *
 * @param schedule runs something later; returns what prevents it
 *
 * @example
 * ```ts
 * import { boundOf } from "./backoff.ts";
 *
 * let end = () => {};
 * const bound = boundOf((_ms, wake) => {
 *   end = wake;
 *   return () => {};
 * });
 * const before = bound.isOver;
 * end();
 * if (before || !bound.isOver) throw new Error("unreachable");
 * ```
 */
export function boundOf(
  schedule: (delayMs: number, wake: () => void) => () => void,
  boundMs: number = UNREACHABLE_MS_MAX,
): Bound {
  let isOver = false;
  const cancel = schedule(boundMs, () => isOver = true);
  return {
    get isOver() {
      return isOver;
    },
    cancel,
  };
}

/**
 * The pauses between the tries, until together they are as long as the bound.
 *
 * @example
 * ```ts
 * import { pauses } from "./backoff.ts";
 *
 * const all = [...pauses(100)];
 * if (all.join() !== "20,40,40") throw new Error(all.join());
 * ```
 */
export function* pauses(boundMs: number = UNREACHABLE_MS_MAX): Generator<number> {
  let leftMs = boundMs;
  for (let pauseMs = PAUSE_MS_MIN; leftMs > 0; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    const taken = Math.min(pauseMs, leftMs);
    leftMs -= taken;
    yield taken;
  }
}
