/**
 * The breaker: automatic compactions that come to nothing again and again are not paid for at every step.
 *
 * It reads a fold of the log, so that restarting does not close it. It opens after BREAKER_FAILURES_MAX in a row; after the
 * cooldown one is tried, and its outcome decides. A person who asks for a compaction always gets one, and so does a request that
 * the provider refused as too long and that pruning cannot save: one is tried before the turn fails.
 *
 * @see compaction §7 W1, issues 7, 8; §7b (1)
 * @module
 */
import type { Compactions } from "../fold/mod.ts";
import { BREAKER_FAILURES_MAX } from "./options.ts";

/** Whether automatic compactions are tried. */
export type BreakerState = "closed" | "open" | "half-open";

/**
 * Says whether a compaction is tried now.
 *
 * A clock that was set back past the last failure counts as if the cooldown were over: otherwise it might not end for years.
 *
 * @example
 * ```ts
 * import { compactionsFold } from "../fold/mod.ts";
 * import { breakerState } from "./breaker.ts";
 *
 * const failed = { ...compactionsFold.initial(), failures: 3, lastFailureTime: 1000 };
 * if (breakerState(failed, 1500, 1000) !== "open") throw new Error("unreachable");
 * if (breakerState(failed, 2000, 1000) !== "half-open") throw new Error("unreachable");
 * ```
 */
export function breakerState(
  { failures, lastFailureTime }: Pick<Compactions, "failures" | "lastFailureTime">,
  nowMs: number,
  cooldownMs: number,
): BreakerState {
  if (failures < BREAKER_FAILURES_MAX || lastFailureTime === null) return "closed";
  const elapsedMs = nowMs - lastFailureTime;
  return elapsedMs >= 0 && elapsedMs < cooldownMs ? "open" : "half-open";
}
