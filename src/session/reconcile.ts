/**
 * Asking the world about effects whose outcome is unknown, once, within a bounded time.
 *
 * @see architecture "Order at resume"
 * @module
 */
import { checkAppendable, type EventDraft, type SessionEvent } from "../event/mod.ts";
import { foldEvents, logFold, type LogFolds, type UnresolvedEffect } from "../fold/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import { type Finding, verdictDrafts } from "./verdict.ts";

/** How long one lookup may take, in milliseconds. After that the effect counts as undecidable until the next resume. */
export const RECONCILE_TIMEOUT_MS = 10_000;

/** How many effects are asked about at one resume, all at once. The rest is asked about at a later one. */
export const RECONCILE_EFFECTS_MAX = 64;

/**
 * Looks up what became of an effect, by its key. `null` when the tool has no lookup: nothing is written then.
 *
 * @param signal ends the lookup; its answer is dropped
 */
export type Reconcile = (effect: UnresolvedEffect, signal: AbortSignal) => Promise<Lookup | null>;

/** What a lookup answers. */
export type Lookup = Finding & { readonly verdict: "happened" | "absent" | "undecidable" };

const UNDECIDABLE: Lookup = { verdict: "undecidable" };

/**
 * Asks about every unresolved effect that has a key, and returns the events that say what was found.
 *
 * A lookup that fails, takes longer than {@linkcode RECONCILE_TIMEOUT_MS} or answers nonsense leaves its effect undecidable.
 *
 * @param folds the state of the whole log
 * @returns events that continue the log; empty when there is nothing to ask
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { reconcileEffects } from "./reconcile.ts";
 *
 * const runtime = {
 *   clock: { now: () => 0, schedule: () => () => {} },
 *   random: { bytes: (size: number) => new Uint8Array(size) },
 * };
 * const events = await reconcileEffects(logFold.initial(), () => Promise.resolve(null), runtime);
 * if (events.length !== 0) throw new Error("unreachable");
 * ```
 */
export async function reconcileEffects(
  folds: LogFolds,
  reconcile: Reconcile,
  runtime: { readonly clock: Clock; readonly random: Random },
): Promise<SessionEvent[]> {
  const effects = folds.unresolved.effects.filter((effect) => effect.effectKey !== null).slice(
    0,
    RECONCILE_EFFECTS_MAX,
  );
  const findings = await Promise.all(effects.map((effect) => ask(effect, reconcile, runtime.clock)));

  const events: SessionEvent[] = [];
  let state = folds;
  const time = runtime.clock.now();
  for (const [index, effect] of effects.entries()) {
    const finding = findings[index]!;
    if (finding === null) continue;
    const verdict = verdictEvents(state, effect, finding, runtime.random, time);
    events.push(...verdict);
    state = foldEvents(logFold, verdict, state);
  }
  return events;
}

/** One lookup against the clock. Never rejects. */
async function ask(effect: UnresolvedEffect, reconcile: Reconcile, clock: Clock): Promise<Lookup | null> {
  const controller = new AbortController();
  const late = Promise.withResolvers<Lookup>();
  const stopTimer = clock.schedule(RECONCILE_TIMEOUT_MS, () => {
    controller.abort(new DOMException(`The lookup took longer than ${RECONCILE_TIMEOUT_MS} ms`, "TimeoutError"));
    late.resolve(UNDECIDABLE);
  });
  try {
    return await Promise.race([Promise.resolve(reconcile(effect, controller.signal)), late.promise]);
  } catch {
    return UNDECIDABLE;
  } finally {
    stopTimer();
  }
}

/** A lookup is a stranger: an answer that does not fit into an event counts as none. */
function verdictEvents(
  folds: LogFolds,
  effect: UnresolvedEffect,
  finding: Lookup,
  random: Random,
  time: number,
): SessionEvent[] {
  const build = (finding: Lookup) => toEvents(verdictDrafts(folds, effect, finding, "lookup", random), folds, time);
  try {
    return build(finding);
  } catch {
    return build(UNDECIDABLE);
  }
}

function toEvents(drafts: readonly EventDraft[], folds: LogFolds, time: number): SessionEvent[] {
  return drafts.map((draft, index) => checkAppendable(draft, folds.nextSeq + index, time));
}
