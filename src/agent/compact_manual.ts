/**
 * A compaction that a person asked for, between turns.
 *
 * @see compaction §2 "Manual /compact"
 * @module
 */
import { chooseSpan, type Compacted, CompactionError, compactSpan } from "../compaction/mod.ts";
import { summariserOf, summaryTarget } from "./compact_summary.ts";
import { TurnCancelled } from "./failure.ts";
import type { Loop } from "./loop.ts";

/** How a compaction is asked for. */
export interface CompactOptions {
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Id of the command that asked, as the log tells it. */
  readonly commandId?: string;
}

/**
 * Compacts everything but the newest unit. Nothing is pruned first.
 *
 * @param stopped aborted when the agent is told to stop
 * @returns `null` when there is nothing to compact; nothing was written then
 * @throws {CompactionError} for everything but the caller's own abort, whose reason it throws
 *
 * @example
 * ```ts
 * import { compactNow } from "./compact_manual.ts";
 * import type { Loop } from "./loop.ts";
 *
 * async function compact(loop: Loop, stopped: AbortSignal): Promise<boolean> {
 *   return await compactNow(loop, stopped, {}) !== null;
 * }
 * ```
 */
export async function compactNow(
  loop: Loop,
  stopped: AbortSignal,
  { signal, commandId }: CompactOptions,
): Promise<Compacted | null> {
  const { session } = loop;
  const span = chooseSpan(session.folds, { retainTokens: 0 });
  if (span === null) return null;
  const { startSeq, endSeq } = span;
  const [target, summarise] = [summaryTarget(loop), summariserOf(loop)];
  const either = eitherOf(stopped, signal);
  const rest = { owner: "none", stability: "span", target, summarise, isFlushed: true } as const;
  try {
    return await compactSpan(session, { startSeq, endSeq, commandId, signal: either.signal, ...rest });
  } catch (error) {
    if (!(error instanceof TurnCancelled) || error !== stopped.reason) throw error;
    const found = "the agent was told to stop";
    throw new CompactionError("cancelled", `Cannot compact session "${session.id}": ${found}`, { cause: error });
  } finally {
    either.leave();
  }
}

/** Aborts with the first of two signals and its reason. Not every browser has `AbortSignal.any`. */
function eitherOf(left: AbortSignal, right: AbortSignal | undefined) {
  const controller = new AbortController();
  const signals = right === undefined ? [left] : [left, right];
  const listeners = signals.map((signal) => {
    const onAbort = () => controller.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    return () => signal.removeEventListener("abort", onAbort);
  });
  return { signal: controller.signal, leave: () => listeners.forEach((remove) => remove()) };
}
