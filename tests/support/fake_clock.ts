/**
 * A clock that only moves when a test says so.
 *
 * @module
 */

import type { Clock } from "../../src/runtime/runtime.ts";

/** Turns of the task queue given to pending work between two timers: enough for any chain of awaits and file calls in a test. */
const SETTLE_TURNS = 10;

interface Timer {
  readonly id: number;
  readonly dueMs: number;
  readonly wake: () => void;
}

/** A {@linkcode Clock} whose time stands still until `advance` or `set`. */
export class FakeClock implements Clock {
  #nowMs: number;
  #elapsedMs = 0;
  #nextId = 0;
  #timers: Timer[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  schedule(delayMs: number, wake: () => void): () => void {
    if (!Number.isInteger(delayMs) || delayMs < 0 || delayMs > 0x7fffffff) {
      throw new RangeError(
        `Cannot schedule a timer: ${delayMs} ms is not an integer from 0 to 2147483647`,
      );
    }
    const timer: Timer = {
      id: this.#nextId++,
      dueMs: this.#elapsedMs + delayMs,
      wake,
    };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Timers that wait. */
  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** Milliseconds until the next timer, or null when none waits. */
  get nextTimerMs(): number | null {
    const next = this.#next();
    return next === undefined ? null : next.dueMs - this.#elapsedMs;
  }

  /**
   * Lets `ms` pass: wakes every timer that falls due, in order, each at its own time, and lets pending promises settle
   * before, between and after. A timer set meanwhile for a time within the span is woken too.
   */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#elapsedMs + ms;
    await settle();
    for (
      let next = this.#next();
      next !== undefined && next.dueMs <= targetMs;
      next = this.#next()
    ) {
      this.#moveTo(next.dueMs);
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.wake();
      await settle();
    }
    this.#moveTo(targetMs);
    await settle();
  }

  /** Sets the wall clock, also backwards, as an administrator does. Timers do not notice. */
  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  #next(): Timer | undefined {
    return this.#timers.toSorted((a, b) => a.dueMs - b.dueMs || a.id - b.id)[0];
  }

  #moveTo(elapsedMs: number): void {
    this.#nowMs += elapsedMs - this.#elapsedMs;
    this.#elapsedMs = elapsedMs;
  }
}

/** Lets every promise that can settle without a timer settle. Through a message port: no real timer, no waiting. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) {
    const { port1, port2 } = new MessageChannel();
    await new Promise<void>((resolve) => {
      port1.onmessage = () => resolve();
      port2.postMessage(null);
    });
    port1.close();
    port2.close();
  }
}
