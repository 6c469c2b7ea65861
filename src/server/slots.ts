/**
 * How many of something there may be at the same time.
 *
 * @module
 */
import { Refusal } from "./problem.ts";

/**
 * A bound. Who takes a slot gives it back.
 *
 * @example
 * ```ts
 * import { Slots } from "./slots.ts";
 *
 * const slots = new Slots(1, "requests");
 * const giveBack = slots.take();
 * giveBack();
 * giveBack(); // Twice is harmless.
 * slots.take();
 * if (slots.taken !== 1) throw new Error("unreachable");
 * ```
 */
export class Slots {
  readonly #most: number;
  readonly #name: string;
  #taken = 0;
  #whenFree: PromiseWithResolvers<void> | null = null;

  constructor(most: number, name: string) {
    this.#most = most;
    this.#name = name;
  }

  /** How many are taken. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes one.
   *
   * @returns what gives it back
   * @throws {Refusal} when none is left
   */
  take(): () => void {
    if (this.#taken >= this.#most) {
      throw new Refusal(429, "TOO_MANY_REQUESTS", `Cannot take another of the ${this.#name}: ${this.#most} are open`);
    }
    this.#taken += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#taken -= 1;
      if (this.#taken > 0) return;
      this.#whenFree?.resolve();
      this.#whenFree = null;
    };
  }

  /** Resolves when none is taken. */
  async whenFree(): Promise<void> {
    while (this.#taken > 0) await (this.#whenFree ??= Promise.withResolvers<void>()).promise;
  }
}
