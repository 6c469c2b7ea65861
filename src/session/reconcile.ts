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

/** How many lookups one resume makes, all at once. The rest is asked about at a later one. */
export const RECONCILE_EFFECTS_MAX = 64;

/** How much of a failure's message is kept, in UTF-16 units. */
const NOTE_LENGTH_MAX = 1000;

/**
 * Looks up what became of an effect, by its key. `null` when the tool has no lookup: nothing is written then.
 *
 * @param signal ends the lookup; its answer is dropped
 */
export type Reconcile = (effect: UnresolvedEffect, signal: AbortSignal) => Promise<Lookup | null> | null;

/** What a lookup answers. */
export type Lookup = Finding & { readonly verdict: "happened" | "absent" | "undecidable" };

const UNDECIDABLE: Lookup = { verdict: "undecidable" };

/** What looking up needs beside the log. */
export interface ReconcileOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends every lookup. */
  readonly signal?: AbortSignal;
}

/**
 * Asks once about every unresolved effect that has a key, and returns the events that say what was found.
 *
 * Tries that share a key are one effect: it is asked about once, and one verdict settles them. Those of an open turn are asked
 * about first, then those that nobody has asked about, then those whose last question is the longest ago; so that with more
 * than {@linkcode RECONCILE_EFFECTS_MAX} of them each has its turn.
 *
 * A lookup that fails, takes longer than {@linkcode RECONCILE_TIMEOUT_MS} or answers nonsense leaves its effect undecidable.
 *
 * @param folds the state of the whole log
 * @returns events that continue the log; empty when there is nothing to ask
 * @throws the signal's reason when it is aborted: nothing was found out then
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
  options: ReconcileOptions,
): Promise<SessionEvent[]> {
  const { clock, random, signal } = options;
  signal?.throwIfAborted();
  const asked: { readonly effect: UnresolvedEffect; readonly finding: Promise<Lookup | null> }[] = [];
  for (const effect of questions(folds)) {
    if (asked.length === RECONCILE_EFFECTS_MAX) break;
    const finding = ask(effect, reconcile, options);
    if (finding !== null) asked.push({ effect, finding });
  }
  const findings = await Promise.all(asked.map(({ finding }) => finding));
  signal?.throwIfAborted();

  const events: SessionEvent[] = [];
  let state = folds;
  const time = clock.now();
  // Told in the order of the log, whatever the order of the questions was.
  const inOrder = asked.map(({ effect }, index) => ({ effect, finding: findings[index]! }));
  for (const { effect, finding } of inOrder.toSorted((a, b) => a.effect.callSeq - b.effect.callSeq)) {
    if (finding === null) continue;
    const verdict = verdictEvents(state, effect, finding, random, time);
    events.push(...verdict);
    state = foldEvents(logFold, verdict, state);
  }
  return events;
}

/** One effect for each key, in the order in which they are asked about. */
function questions({ unresolved, pendingCalls }: LogFolds): UnresolvedEffect[] {
  const pending = new Set(pendingCalls.calls.map(({ callSeq }) => callSeq));
  const byKey = new Map<string, UnresolvedEffect>();
  for (const effect of unresolved.effects) {
    if (effect.effectKey === null) continue;
    const known = byKey.get(effect.effectKey);
    // Of several tries the one whose call waits for its result, else the newest: that is the call the model last heard of.
    if (known === undefined || !pending.has(known.callSeq)) byKey.set(effect.effectKey, effect);
  }
  // Sorting is stable: equals stay in the order of the log.
  const rank = (effect: UnresolvedEffect) => pending.has(effect.callSeq) ? -2 : effect.askedSeq ?? -1;
  return [...byKey.values()].toSorted((a, b) => rank(a) - rank(b));
}

/** One lookup against the clock; `null` when there is none. Never rejects. */
function ask(
  effect: UnresolvedEffect,
  reconcile: Reconcile,
  { clock, signal }: ReconcileOptions,
): Promise<Lookup | null> | null {
  const controller = new AbortController();
  let answer: Promise<Lookup | null> | null;
  try {
    answer = reconcile(effect, controller.signal);
  } catch (error) {
    return Promise.resolve(failed(error));
  }
  return answer === null ? null : inTime(answer, controller, clock, signal);
}

async function inTime(
  answer: Promise<Lookup | null>,
  controller: AbortController,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<Lookup | null> {
  const late = Promise.withResolvers<Lookup>();
  const giveUp = (reason: unknown) => {
    controller.abort(reason);
    late.resolve(failed(reason));
  };
  const onAbort = () => giveUp(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const stopTimer = clock.schedule(RECONCILE_TIMEOUT_MS, () => {
    giveUp(new DOMException(`The lookup took longer than ${RECONCILE_TIMEOUT_MS} ms`, "TimeoutError"));
  });
  try {
    return await Promise.race([answer, late.promise]);
  } catch (error) {
    return failed(error);
  } finally {
    stopTimer();
    signal?.removeEventListener("abort", onAbort);
  }
}

/** What a lookup failed with goes on record, so that a person can see why it is still unknown. */
function failed(error: unknown): Lookup {
  let said: string;
  try {
    said = error instanceof Error ? String(error.message) : String(error);
  } catch {
    return UNDECIDABLE; // A thrown value that throws when it is looked at.
  }
  const note = said.length <= NOTE_LENGTH_MAX ? said : `${said.slice(0, NOTE_LENGTH_MAX).toWellFormed()} …`;
  return { verdict: "undecidable", note };
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
