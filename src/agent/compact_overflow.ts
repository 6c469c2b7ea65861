/**
 * Overflow: a request was refused as too long. It is made again when, and only when, the surface was rewritten meanwhile.
 *
 * @see compaction §3 "Overflow", §7 issue 6; rulings 17
 * @module
 */
import {
  breakerState,
  busyError,
  chooseSpan,
  compactSpan,
  CONTEXT_WINDOW_EXCEEDED,
  pruneSession,
} from "../compaction/mod.ts";
import type { LlmFailure } from "../event/mod.ts";
import { messageOf } from "../tool/mod.ts";
import type { CompactionPlace } from "./compact_pressure.ts";
import { summariserOf, summaryTarget } from "./compact_summary.ts";
import type { Loop } from "./loop.ts";

/**
 * Makes room after a request that was too long. It needs no knowledge of the window, and the newest unit alone stays.
 *
 * Any progress is enough, also a result that was only pruned: how often is capped, and counted anew after every answer. While the
 * breaker is open a summary is tried only when nothing could be pruned, as the last thing before the turn fails: a row of requests
 * that pruning saves must not pay for a summary that fails at each of them.
 *
 * @param unreadFromSeq where the messages begin that this request was to tell for the first time; they stay
 * @returns whether the request is to be made again
 * @throws the signal's reason, and nothing else
 *
 * @example
 * ```ts
 * import { recoverFromOverflow } from "./compact_overflow.ts";
 * import type { Loop } from "./loop.ts";
 *
 * function isRetried(loop: Loop, signal: AbortSignal): Promise<boolean> {
 *   const failure = { message: "too long", code: "CONTEXT_WINDOW_EXCEEDED" };
 *   return recoverFromOverflow(loop, { signal }, failure, loop.session.nextSeq);
 * }
 * ```
 */
export async function recoverFromOverflow(
  loop: Loop,
  { signal }: CompactionPlace,
  { code }: LlmFailure,
  unreadFromSeq: number,
): Promise<boolean> {
  const { session, compaction } = loop;
  if (code !== CONTEXT_WINDOW_EXCEEDED || !compaction.auto || session.folds.route.header === null) return false;
  if (loop.overflowRetries >= compaction.maxOverflowRetries) return false;
  const generation = session.folds.surface.replaceGeneration;
  try {
    await makeRoom(loop, signal, unreadFromSeq);
  } catch (error) {
    signal.throwIfAborted();
    loop.tell({ kind: "warning", code: "COMPACTION_FAILED", message: messageOf(error) });
  }
  if (session.folds.surface.replaceGeneration === generation) return false;
  loop.overflowRetries += 1;
  return true;
}

async function makeRoom(loop: Loop, signal: AbortSignal, unreadFromSeq: number): Promise<void> {
  const { session, compaction } = loop;
  if (session.folds.brackets.compaction !== null) throw busyError(session.id);
  const pruned = compaction.prune === null
    ? []
    : pruneSession(session, { ...compaction.prune, protectRecent: 0 }).pruned;
  const state = breakerState(session.folds.compactions, session.clock.now(), compaction.cooldownMs);
  if (state === "open" && pruned.length > 0) return;
  const span = chooseSpan(session.folds, { retainTokens: 0, unreadFromSeq });
  if (span === null) return;
  const { startSeq, endSeq } = span;
  const [target, summarise] = [summaryTarget(loop), summariserOf(loop)];
  const rest = { owner: "turn", stability: "surface", target, summarise, isFlushed: false, signal } as const;
  await compactSpan(session, { startSeq, endSeq, ...rest });
}
