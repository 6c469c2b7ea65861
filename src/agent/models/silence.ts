/**
 * Notices that a provider says nothing any more.
 *
 * @module
 */
import type { LlmFailure } from "../../event/mod.ts";
import type { Clock } from "../../runtime/runtime.ts";

/**
 * Aborts its signal when nothing was heard for a while. It listens from the start, and until `end()`.
 *
 * @example
 * ```ts
 * import { Silence } from "./silence.ts";
 *
 * let wake = () => {};
 * const clock = { now: () => 0, schedule: (_delayMs: number, due: () => void) => (wake = due, () => {}) };
 * const silence = new Silence(clock, 1000);
 * wake();
 * if (!silence.signal.aborted || silence.failure()?.code !== "TIMEOUT") throw new Error("unreachable");
 * ```
 */
export class Silence {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #limitMs: number;
  #cancel: () => void = () => {};

  /** Begins to listen. */
  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.heard();
  }

  /** Aborts when the while is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the while anew. */
  heard(): void {
    this.#cancel();
    this.#cancel = this.#clock.schedule(this.#limitMs, () => this.#controller.abort());
  }

  /** The failure that the silence is, or null while there is none. */
  failure(): LlmFailure | null {
    if (!this.signal.aborted) return null;
    return { message: `the provider was silent for ${this.#limitMs} ms`, code: "TIMEOUT" };
  }

  /** Listens no more. */
  end(): void {
    this.#cancel();
  }
}
