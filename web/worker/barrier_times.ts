/**
 * How long making something durable took, lately.
 *
 * @module
 */

/** How many appends are remembered. */
export const BARRIERS_REMEMBERED = 128;

/** The times of the last appends. */
export class BarrierTimes {
  /** In milliseconds, oldest first; at most BARRIERS_REMEMBERED. */
  readonly #times: number[] = [];

  add(tookMs: number): void {
    this.#times.push(tookMs);
    if (this.#times.length > BARRIERS_REMEMBERED) this.#times.shift();
  }

  /** The time that this share of the appends stayed within, 0 to 1; `null` before the first. */
  quantile(share: number): number | null {
    if (this.#times.length === 0) return null;
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
  }
}
