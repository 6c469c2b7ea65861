/**
 * Who in this process writes which log, and who waits for news of it.
 *
 * @module
 */
import type { Clock } from "../runtime/runtime.ts";

/** One log that somebody in this store has open. */
export class Bell {
  /** Raised with every ring, so that a ring between looking and waiting is not missed. */
  rings = 0;
  /** How far a writer of this store has come: what stands behind it is not acknowledged. `null` without such a writer. */
  acknowledgedBytes: number | null = null;
  readonly #waiting = new Set<() => void>();

  /** Wakes everybody who waits. */
  ring(): void {
    this.rings += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits for a ring after `rings`, at most `delayMs`, or until the signal. Never rejects. */
  async wait(rings: number, delayMs: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
    if (this.rings !== rings || signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.schedule(delayMs, resolve);
    this.#waiting.add(resolve);
    signal?.addEventListener("abort", resolve as () => void);
    try {
      await promise;
    } finally {
      cancel();
      this.#waiting.delete(resolve);
      signal?.removeEventListener("abort", resolve as () => void);
    }
  }
}

/** The bells of one store, one for each log that is open. */
export class Bells {
  readonly #bells = new Map<string, { readonly bell: Bell; holders: number }>();

  /** The bell of a log. Give it back with `release()`. */
  acquire(log: string): Bell {
    let entry = this.#bells.get(log);
    if (entry === undefined) this.#bells.set(log, entry = { bell: new Bell(), holders: 0 });
    entry.holders += 1;
    return entry.bell;
  }

  /** Wakes whoever waits for news of a log, if anybody has it open. */
  ring(log: string): void {
    this.#bells.get(log)?.bell.ring();
  }

  release(log: string): void {
    const entry = this.#bells.get(log);
    if (entry === undefined) return;
    entry.holders -= 1;
    if (entry.holders === 0) this.#bells.delete(log);
  }
}
