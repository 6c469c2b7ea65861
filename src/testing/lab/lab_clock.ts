/**
 * Time and order of a simulated run: nothing happens by itself, and of two things that are due at once a seed says which is first.
 *
 * @module
 */
import type { Clock } from "../../runtime/runtime.ts";
import type { Dice } from "./dice.ts";

/** When simulated time begins, in milliseconds since the epoch. */
export const LAB_EPOCH_MS = 1_700_000_000_000;

/**
 * How many rounds of the microtask queue work gets before the next timer wakes. Whatever takes more of them takes time, as it
 * would on a busy machine; the number is fixed, so it always takes the same.
 */
const ROUNDS_PER_TIMER = 3000;

/** The same where timers are many and their order is left to chance anyway. */
const ROUNDS_PER_TIMER_BY_CHANCE = 300;

/** How many tasks in a row nothing may happen in, with no timer waiting, before work counts as stuck. */
const IDLE_TASKS_MAX = 3;

interface Timer {
  readonly dueMs: number;
  readonly rank: number;
  readonly wake: () => void;
}

/**
 * A clock that moves only when everything else has come to rest.
 *
 * @example
 * ```ts
 * import { LabClock } from "./lab_clock.ts";
 *
 * const clock = new LabClock();
 * const woken = new Promise<string>((resolve) => clock.schedule(5000, () => resolve("woken")));
 * const ended = await clock.run(woken);
 * if (ended.kind !== "done" || ended.value !== "woken") throw new Error("unreachable");
 * if ((await clock.run(new Promise(() => {}))).kind !== "stuck") throw new Error("unreachable");
 * ```
 */
export class LabClock implements Clock {
  #nowMs: number;
  #timers: Timer[] = [];
  #nextRank = 0;
  readonly #dice: Dice | null;

  /** @param dice decides between timers that are due at once; without it the one that was set first is first */
  constructor(dice: Dice | null = null, startMs = LAB_EPOCH_MS) {
    this.#dice = dice;
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  schedule(delayMs: number, wake: () => void): () => void {
    const order = this.#nextRank++;
    const rank = this.#dice === null ? order : this.#dice.below(0x1_0000_0000);
    const timer: Timer = { dueMs: this.#nowMs + delayMs, rank, wake };
    this.#timers.push(timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index !== -1) this.#timers.splice(index, 1);
    };
  }

  /** Resolves after so many milliseconds of simulated time. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.schedule(delayMs, resolve));
  }

  /** Forgets every timer: the process that set them is dead. */
  clear(): void {
    this.#timers = [];
  }

  /**
   * Runs until `work` is settled, waking timers in their order whenever nothing else can go on.
   *
   * @param idleTasksMax how many tasks in a row nothing may happen in, with no timer waiting
   * @returns `stuck` when nothing can go on and no timer waits. Never rejects
   */
  async run<Value>(work: Promise<Value>, idleTasksMax: number = IDLE_TASKS_MAX): Promise<Ended<Value>> {
    let ended: Ended<Value> | null = null;
    work.then((value) => ended = { kind: "done", value }, (error) => ended = { kind: "failed", error });
    const rounds = this.#dice === null ? ROUNDS_PER_TIMER : ROUNDS_PER_TIMER_BY_CHANCE;
    for (let idle = 0; idle < idleTasksMax;) {
      for (let round = 0; round < rounds; round++) {
        if (ended !== null) return ended;
        await null;
      }
      const timer = this.#takeNext();
      if (timer === null) {
        idle++;
        await rest();
      } else {
        idle = 0;
        this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
        timer.wake();
      }
    }
    return ended ?? STUCK;
  }

  #takeNext(): Timer | null {
    let first: Timer | null = null;
    for (const timer of this.#timers) {
      if (first === null || timer.dueMs < first.dueMs || (timer.dueMs === first.dueMs && timer.rank < first.rank)) {
        first = timer;
      }
    }
    if (first !== null) this.#timers.splice(this.#timers.indexOf(first), 1);
    return first;
  }
}

/** How work on a simulated clock ended. */
export type Ended<Value> =
  | { readonly kind: "done"; readonly value: Value }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "stuck" };

const STUCK = { kind: "stuck" } as const;

/**
 * Resolves when the microtask queue is empty: in a task of its own. Costs too much to be done at each timer; but a run that never
 * does it keeps everything alive that a weak reference was looked at through, until the memory is full.
 */
export function rest(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    resolve();
  };
  port2.postMessage(null);
  return promise;
}
