/**
 * The context gauge: how full the model's window is, for whoever shows it.
 *
 * @module
 */
import type { Route } from "./route.ts";
import { measure, type TokenMeter } from "./token_meter.ts";

/** How full the window is. */
export interface ContextGauge {
  /** What the next request takes, in tokens: what the provider counted last, and an estimate of what changed since. */
  readonly tokens: number;
  /** How many tokens the model takes at most; `null` when the log does not say. */
  readonly windowTokens: number | null;
  /** Which part of the window that is; above 1 when it is too much, `null` when the window is not known. */
  readonly share: number | null;
}

/**
 * Reads the gauge.
 *
 * @example
 * ```ts
 * import { logFold } from "./log_fold.ts";
 * import { contextGauge } from "./gauge.ts";
 *
 * if (contextGauge(logFold.initial()).tokens !== 0) throw new Error("unreachable");
 * ```
 */
export function contextGauge({ meter, route }: { readonly meter: TokenMeter; readonly route: Route }): ContextGauge {
  const { totalTokens: tokens } = measure({ meter });
  const window = route.context?.contextWindow;
  const windowTokens = window !== undefined && window > 0 ? window : null;
  return { tokens, windowTokens, share: windowTokens === null ? null : tokens / windowTokens };
}
