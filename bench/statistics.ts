/**
 * What samples say: percentiles, and the ratio of two contestants that were measured in the same rounds.
 *
 * @module
 */

/** Samples in a few numbers, in the unit of the samples. */
export interface Summary {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** How many times one contestant is another one, over the rounds both have. */
export interface Ratio {
  readonly pairs: number;
  readonly p25: number;
  readonly p50: number;
  readonly p75: number;
}

/**
 * The nearest-rank percentile: the smallest sample that at least `percent` of all samples do not exceed. Never interpolated,
 * so every figure in a table is a time that was measured.
 *
 * @param percent above 0, at most 100
 * @throws {RangeError} without samples, or with a percentage outside of the range
 *
 * @example
 * ```ts
 * import { percentile } from "./statistics.ts";
 *
 * if (percentile([4, 1, 3, 2], 50) !== 2) throw new Error("unreachable");
 * ```
 */
export function percentile(samples: readonly number[], percent: number): number {
  if (samples.length === 0) throw new RangeError("Cannot take a percentile: there are no samples");
  if (!(percent > 0 && percent <= 100)) {
    throw new RangeError(`Cannot take percentile "${percent}": wanted above 0 to 100`);
  }
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1]!;
}

/**
 * Samples in a few numbers.
 *
 * @throws {RangeError} without samples
 *
 * @example
 * ```ts
 * import { summarize } from "./statistics.ts";
 *
 * if (summarize([1, 2, 3]).max !== 3) throw new Error("unreachable");
 * ```
 */
export function summarize(samples: readonly number[]): Summary {
  return {
    count: samples.length,
    p50: percentile(samples, 50),
    p90: percentile(samples, 90),
    p99: percentile(samples, 99),
    max: percentile(samples, 100),
  };
}

/**
 * The ratio of two series whose samples with the same index come from the same round. A slow second of the machine meets both
 * and so leaves the ratio alone; that is why the median of the quotients is taken, and not the quotient of the medians.
 *
 * Rounds that only one of them has are left out, and so are rounds whose baseline is 0: a clock too coarse for it.
 *
 * @returns `null` when no round is left
 *
 * @example
 * ```ts
 * import { pairedRatio } from "./statistics.ts";
 *
 * if (pairedRatio([2, 30, 4], [1, 10, 2])?.p50 !== 2) throw new Error("unreachable");
 * ```
 */
export function pairedRatio(samples: readonly number[], baseline: readonly number[]): Ratio | null {
  const rounds = Math.min(samples.length, baseline.length);
  const quotients: number[] = [];
  for (let round = 0; round < rounds; round++) {
    if (baseline[round]! > 0) quotients.push(samples[round]! / baseline[round]!);
  }
  if (quotients.length === 0) return null;
  return {
    pairs: quotients.length,
    p25: percentile(quotients, 25),
    p50: percentile(quotients, 50),
    p75: percentile(quotients, 75),
  };
}
