/**
 * Pressure: before a step, when its request would take most of the window.
 *
 * In this order: long results that were read lose their middle; what is old is summarised; and when the request would not fit
 * even so, also the results that nobody has read yet are cut.
 *
 * It stands before anything is put together for the step, so that whoever adds to a step sees what the surface still holds and
 * says again what was summarised away. Whatever fails here is told, and the step goes on with the surface as it is.
 *
 * @see compaction §3 "Pressure", §7 W1, W8, issues 5, 14, 21
 * @module
 */
import {
  breakerState,
  type Budget,
  budgetOf,
  busyError,
  chooseSpan,
  CompactionError,
  compactSpan,
  pruneSession,
  pruneToFit,
} from "../compaction/mod.ts";
import type { Message } from "../event/mod.ts";
import { measure, priceOfMessage } from "../fold/mod.ts";
import { messageOf } from "../tool/mod.ts";
import { summariserOf, summaryTarget } from "./compact_summary.ts";
import { settleWarnings, warn } from "./compact_warning.ts";
import type { Loop } from "./loop.ts";
import { modelWindow } from "./model_window.ts";

/**
 * A first summary is asked for only when it can stand for at least this part of the window that was never summarised before.
 * Where the rest of the window is taken by what cannot shrink, every step would otherwise pay for a summary of next to nothing.
 */
export const FRESH_SHARE_MIN = 0.05;

/** The turn a compaction belongs to. */
export interface CompactionPlace {
  readonly signal: AbortSignal;
}

/**
 * Makes room before a step, when it is time to.
 *
 * @param waiting what the step will be told beside what stands on the surface
 * @throws the signal's reason, and nothing else
 *
 * @example
 * ```ts
 * import { relievePressure } from "./compact_pressure.ts";
 * import type { Loop } from "./loop.ts";
 *
 * async function beforeStep(loop: Loop, signal: AbortSignal): Promise<void> {
 *   await relievePressure(loop, { signal }, []);
 * }
 * ```
 */
export async function relievePressure(loop: Loop, place: CompactionPlace, waiting: readonly Message[]): Promise<void> {
  if (!loop.compaction.auto) return;
  try {
    await compactIfNeeded(loop, place, waiting);
  } catch (error) {
    place.signal.throwIfAborted();
    // Each one is told: there are few of them, because the breaker counts them.
    loop.tell({ kind: "warning", code: "COMPACTION_FAILED", message: messageOf(error) });
  }
}

/**
 * Prunes and compacts while the next request would be over the threshold. Where that comes to nothing and the request could not
 * even fit, the newest results are cut too.
 *
 * @throws {CompactionError} busy; what a compaction failed with; that the surface is still too large after all tries
 * @throws the signal's reason
 *
 * @example
 * ```ts
 * import { compactIfNeeded } from "./compact_pressure.ts";
 * import type { Loop } from "./loop.ts";
 *
 * async function makeRoom(loop: Loop, signal: AbortSignal): Promise<void> {
 *   await compactIfNeeded(loop, { signal }, []);
 * }
 * ```
 */
export async function compactIfNeeded(
  loop: Loop,
  { signal }: CompactionPlace,
  waiting: readonly Message[],
): Promise<void> {
  const { session, compaction } = loop;
  const budget = budgetNow(loop);
  if (budget === null) return;
  const { usableTokens, thresholdTokens } = budget;
  const waitingTokens = waiting.reduce((sum, message) => sum + priceOfMessage(message), 0);
  const requestTokens = () => measure(session.folds).totalTokens + waitingTokens;
  const isBelow = () => requestTokens() < thresholdTokens;
  if (isBelow()) return settleWarnings(loop, "NOTHING_TO_COMPACT", "COMPACTION_PAUSED");
  if (session.folds.brackets.compaction !== null) throw busyError(session.id);
  if (compaction.prune !== null) pruneSession(session, compaction.prune);
  if (isBelow()) return;

  let stuck: Stuck | null = null;
  let failure: unknown = null;
  try {
    stuck = await summariseWhile(() => !isBelow(), loop, budget, signal);
  } catch (error) {
    signal.throwIfAborted();
    failure = error;
  }
  const canPrune = compaction.prune !== null && session.folds.brackets.compaction === null;
  // The reserve for the answer is no part of it: a request that takes some of that is still answered.
  if (canPrune) pruneToFit(session, compaction.prune, () => requestTokens() > usableTokens);
  if (failure !== null) throw failure;
  if (stuck === null || isBelow()) return;
  if (stuck.code !== null) return warn(loop, stuck.code, stuck.message);
  const found = `it still takes ${requestTokens()} tokens, and ${thresholdTokens} are the threshold`;
  throw new CompactionError("summary", `Cannot compact session "${session.id}" far enough: ${found}`);
}

/** Why nothing more can be summarised; without a code it was, and was not enough. */
type Stuck =
  | { readonly code: "NOTHING_TO_COMPACT" | "COMPACTION_PAUSED"; readonly message: string }
  | { readonly code: null };

/** @returns `null` when it is not over any more */
async function summariseWhile(
  isOver: () => boolean,
  loop: Loop,
  budget: Budget,
  signal: AbortSignal,
): Promise<Stuck | null> {
  const { session, compaction } = loop;
  const { usableTokens, thresholdTokens, retainTokens } = budget;
  // Nothing that a summary can do gets below what system prompt and tools take alone.
  if (measure(session.folds).envelopeTokens >= thresholdTokens) {
    return { code: "NOTHING_TO_COMPACT", message: stuckText(loop, budget) };
  }
  for (let round = 0; round <= compaction.compactionRetries; round++) {
    const state = breakerState(session.folds.compactions, session.clock.now(), compaction.cooldownMs);
    if (state === "open") return { code: "COMPACTION_PAUSED", message: pausedText(loop) };
    const span = chooseSpan(session.folds, { retainTokens, mayRedo: round > 0 });
    const freshTokens = span === null ? 0 : round > 0 ? span.tokens : span.freshTokens;
    if (span === null || freshTokens < usableTokens * FRESH_SHARE_MIN) {
      return { code: "NOTHING_TO_COMPACT", message: stuckText(loop, budget) };
    }
    const { startSeq, endSeq } = span;
    const [target, summarise] = [summaryTarget(loop), summariserOf(loop)];
    const rest = { owner: "turn", stability: "surface", target, summarise, isFlushed: false, signal } as const;
    await compactSpan(session, { startSeq, endSeq, ...rest });
    settleWarnings(loop, "NOTHING_TO_COMPACT", "COMPACTION_PAUSED");
    if (!isOver()) return null;
  }
  return { code: null };
}

/** `null` when no request was made yet, or nobody knows how large the window is. */
function budgetNow(loop: Loop): Budget | null {
  const window = modelWindow(loop);
  if (window === null) return null;
  const { provider, model, contextWindow, reservedTokens } = window;
  if (contextWindow === null) {
    const found = `nobody says how large the window of ${provider}:${model} is`;
    const message = `Nothing is compacted before a request is refused as too long: ${found}`;
    warn(loop, "CAPACITY_UNKNOWN", message, `${provider}:${model}`);
    return null;
  }
  return budgetOf(loop.compaction, { provider, model }, contextWindow, reservedTokens);
}

function stuckText({ session }: Loop, { usableTokens }: Budget): string {
  const { totalTokens, envelopeTokens } = measure(session.folds);
  return `The request takes ${totalTokens} of ${usableTokens} tokens and there is next to nothing to compact: ` +
    `system prompt and tools take ${envelopeTokens}`;
}

function pausedText({ session, compaction }: Loop): string {
  const { failures } = session.folds.compactions;
  return `${failures} compactions in a row came to nothing: the next one is tried in ${
    Math.ceil(compaction.cooldownMs / 1000)
  } seconds at the earliest`;
}
