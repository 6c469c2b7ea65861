/**
 * The effects of a log whose outcome nobody knows: begun, and not settled by a result, a lookup or a person.
 *
 * It holds effects that are running now as well as those a crash, a timeout or an abort left behind, from every lifecycle.
 * A body that declares the effect "none" changes nothing in the world, so it is never in here.
 *
 * @see architecture "Crash classes", "Order at resume"
 * @module
 */
import {
  type EffectClass,
  type EventData,
  type EventOf,
  isEvent,
  type SessionEvent,
  TOOL_NOT_STARTED,
  TOOL_OUTCOME_UNKNOWN,
  TOOL_TIMEOUT,
} from "../event/mod.ts";
import { ChunkedList } from "./chunked_list.ts";
import type { Fold } from "./fold.ts";
import { isSuccess, subCallIdOf } from "./nested.ts";
import { answeredIndex } from "./pending_calls.ts";

/**
 * Codes of results that do not tell whether the effect happened. `ABORTED` means that a body that ran was told to stop; a
 * request it had sent may still have arrived.
 */
export const UNSETTLED_CODES: ReadonlySet<string> = new Set([TOOL_OUTCOME_UNKNOWN, TOOL_TIMEOUT, "ABORTED"]);

/** An effect whose outcome is not known. */
export interface UnresolvedEffect {
  /** The turn the call belongs to. */
  readonly turn: number;
  /** The step the call belongs to. */
  readonly step: number;
  /** The model's id, or the `subCallId` of a nested call. It need not be unique; `callSeq` is. */
  readonly callId: string;
  /** seq of its `tool/call` (nested: `tool/ptc-dispatch-start`). It names the effect, in a verdict and in `retryOf`. */
  readonly callSeq: number;
  /** The tool that was called. */
  readonly name: string;
  /** The model's raw text. */
  readonly arguments: string;
  /** `null` when no marker was written: another program's call, or a lifecycle without barriers. */
  readonly effectKey: string | null;
  /** As declared at dispatch; "opaque" when there was no marker. */
  readonly effect: EffectClass;
  /** callSeq of the effect it repeats, under the same key. */
  readonly retryOf?: number;
  /** seq of its `effect/dispatched`; left out when there was none. */
  readonly markerSeq?: number;
  /** seq of the result that leaves its effect open; left out while it has none. */
  readonly resultSeq?: number;
  /** seq of the newest `effect/reconciled` that left it undecidable; left out when nobody has asked. */
  readonly askedSeq?: number;
  /** Whether no result can come any more: its call has one, or its turn has ended. */
  readonly isClosed: boolean;
  /** Whether a person allowed a repetition without another question. */
  readonly retryGranted: boolean;
}

/** A call that was recorded and waits for its result. */
export interface AwaitedCall {
  /** The model's id, or the `subCallId` of a nested call. */
  readonly callId: string;
  /** seq of its `tool/call`, or of its `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** The tool that was called. */
  readonly name: string;
  /** The raw text it was called with, as it was recorded. */
  readonly arguments: string;
  /** Whether an `effect/dispatched` names it; a second one then changes nothing. */
  readonly hasMarker: boolean;
}

/** A verdict that the model does not know of yet: its notice is missing. */
export interface UntoldVerdict {
  /** The effect as it was before the verdict. */
  readonly effect: UnresolvedEffect;
  /** seq of the `effect/reconciled`. */
  readonly seq: number;
  /** What it says. */
  readonly data: EventData["effect/reconciled"] & { readonly verdict: "happened" | "absent" | "retry" };
}

/** The unresolved effects of a log, oldest first. They grow by what crashes leave unsettled, never by what was settled. */
export interface Unresolved {
  /** Those that run now and those that were left behind, in the order they became known. */
  readonly effects: readonly UnresolvedEffect[];
  /** The recorded calls of the open turn without a result: what a marker or a result may refer to. */
  readonly awaited: ChunkedList<AwaitedCall>;
  /** The same for nested calls. */
  readonly awaitedNested: ChunkedList<AwaitedCall>;
  /**
   * Verdicts about answered calls whose notice is not in the log. A notice directly follows its verdict, so that this holds
   * something between two appends, and after a crash that kept the one and lost the other.
   */
  readonly untold: readonly UntoldVerdict[];
}

/**
 * The id of the notice that tells the model of a verdict: so that it can be seen whether it was told.
 *
 * @param seq of the `effect/reconciled`, or of a checkpoint/policy directly before it: it only makes the id unique
 *
 * @example
 * ```ts
 * import { noticeId } from "./unresolved.ts";
 *
 * if (noticeId(5, 9) !== "effect-settled-5-9") throw new Error("unreachable");
 * ```
 */
export function noticeId(callSeq: number, seq: number): string {
  return `${noticePrefix(callSeq)}${seq}`;
}

/** Follows markers, results and verdicts. */
export const unresolvedFold: Fold<Unresolved> = {
  name: "unresolved",
  version: 2,

  initial: () => ({ effects: [], awaited: noCalls(), awaitedNested: noCalls(), untold: [] }),

  apply(state: Unresolved, event: SessionEvent): Unresolved {
    if (isEvent(event, "turn/start") || isEvent(event, "turn/end")) return withTurnOver(state);
    if (isEvent(event, "tool/call")) {
      const { callId, name } = event.data;
      const call = { callId, callSeq: event.seq, name, arguments: event.data.arguments, hasMarker: false };
      return { ...state, awaited: state.awaited.with(call) };
    }
    if (isEvent(event, "tool/ptc-dispatch-start")) {
      const { subCallId, name } = event.data;
      const call = { callId: subCallId, callSeq: event.seq, name, arguments: event.data.arguments, hasMarker: false };
      return { ...state, awaitedNested: state.awaitedNested.with(call) };
    }
    if (isEvent(event, "effect/dispatched")) return withMarker(state, event.seq, event.data);
    if (isEvent(event, "tool/result")) return withResult(state, event);
    if (event.type === "tool/ptc-dispatch") return withNestedResult(state, subCallIdOf(event), isSuccess(event));
    if (isEvent(event, "effect/reconciled")) return withVerdict(state, event.seq, event.data);
    if (isEvent(event, "agent/inbox/spliced")) return withNotices(state, event.data.inserted);
    return state;
  },
};

/**
 * What a person who looks at a list should know of a log that is whole: an open turn, effects whose outcome is unknown.
 *
 * @returns `null` when there is nothing to say
 *
 * @example
 * ```ts
 * import { attentionText } from "./unresolved.ts";
 *
 * if (attentionText(6, { effects: [] }) !== "turn 6 is open") throw new Error("unreachable");
 * ```
 */
export function attentionText(openTurn: number | null, { effects }: Pick<Unresolved, "effects">): string | null {
  const parts: string[] = [];
  if (openTurn !== null) parts.push(`turn ${openTurn} is open`);
  if (effects.length > 0) parts.push(`${effects.length} outcome${effects.length === 1 ? "" : "s"} unknown`);
  return parts.length === 0 ? null : parts.join(", ");
}

function withMarker(state: Unresolved, markerSeq: number, data: EventData["effect/dispatched"]): Unresolved {
  const { turn, step, callId, callSeq, effectKey, effect, retryOf } = data;
  const isIt = (call: AwaitedCall) => call.callSeq === callSeq;
  const index = state.awaited.findIndex(callId, isIt);
  const inner = state.awaitedNested.findIndex(callId, isIt);
  const call = index !== -1 ? state.awaited.at(index) : inner !== -1 ? state.awaitedNested.at(inner) : undefined;
  // A stray marker names no call to ask about. It makes the pending calls unknown, and their closers bring them in here.
  if (call === undefined || call.hasMarker) return state;

  const marked = { ...call, hasMarker: true };
  const next = index !== -1
    ? { ...state, awaited: state.awaited.withSpan(index, index, marked) }
    : { ...state, awaitedNested: state.awaitedNested.withSpan(inner, inner, marked) };
  if (effect === "none") return next;
  const { name, arguments: text } = call;
  const key = { effectKey, effect, ...(retryOf === undefined ? {} : { retryOf }), markerSeq };
  const begun = { turn, step, callId, callSeq, name, arguments: text, ...key, isClosed: false, retryGranted: false };
  // What a person granted was one repetition, and this is it, whatever becomes of it.
  const earlier = retryOf === undefined ? state.effects : state.effects.map((each) => {
    const isSpent = each.retryGranted && (each.callSeq === retryOf || each.effectKey === effectKey);
    return isSpent ? { ...each, retryGranted: false } : each;
  });
  return { ...next, effects: [...earlier, begun] };
}

function withResult(state: Unresolved, result: EventOf<"tool/result">): Unresolved {
  const index = answeredIndex(state.awaited, result);
  if (index === -1) return state;
  const call = state.awaited.at(index)!;
  const next = { ...state, awaited: state.awaited.withSpan(index, index) };

  const { turn, step, message, error } = result.data;
  if (error === undefined || !UNSETTLED_CODES.has(error.code)) {
    const [block] = message.content;
    const isError = block?.type === "tool-result" && block.isError === true;
    // A marked call that did not start after all: under its key nothing will ever happen, and the body knows it.
    const isVoid = call.hasMarker && error?.code === TOOL_NOT_STARTED;
    return {
      ...next,
      effects: settled(state.effects, call.callSeq, isVoid ? "absent" : isError ? "failed" : "happened"),
    };
  }
  const closed = { isClosed: true, resultSeq: result.seq };
  if (call.hasMarker) return { ...next, effects: changed(state.effects, call.callSeq, closed) };
  if (error.code !== TOOL_OUTCOME_UNKNOWN) return next;
  const { callId, callSeq, name, arguments: text } = call;
  const known = { turn, step, callId, callSeq, name, arguments: text };
  const assumed = { effectKey: null, effect: "opaque", retryGranted: false } as const;
  return { ...next, effects: [...state.effects, { ...known, ...assumed, ...closed }] };
}

function withNestedResult(state: Unresolved, callId: string | null, happened: boolean): Unresolved {
  const index = state.awaitedNested.findIndex(callId);
  if (index === -1) return state;
  const how = happened ? "happened" : "failed";
  const effects = settled(state.effects, state.awaitedNested.at(index)!.callSeq, how);
  return { ...state, awaitedNested: state.awaitedNested.withSpan(index, index), effects };
}

function withVerdict(state: Unresolved, seq: number, data: EventData["effect/reconciled"]): Unresolved {
  const { callId, callSeq, verdict } = data;
  if (verdict === "undecidable") return { ...state, effects: changed(state.effects, callSeq, { askedSeq: seq }) };
  const effect = state.effects.find((each) => each.callSeq === callSeq);
  if (effect === undefined) return state;
  // A call that waits for its result is told by it.
  const isAwaited = state.awaited.findIndex(callId, (call) => call.callSeq === callSeq) !== -1;
  const untold = isAwaited ? state.untold : [...state.untold, { effect, seq, data: { ...data, verdict } }];
  const effects = verdict === "retry"
    ? changed(state.effects, callSeq, { retryGranted: true })
    : settled(state.effects, callSeq, howSettled(verdict, data.by));
  return { ...state, effects, untold };
}

/** A lookup asks the target about a key, a person looks for a call. */
function howSettled(verdict: "happened" | "absent", by: "lookup" | "person"): Settlement {
  return verdict === "happened" ? "happened" : by === "lookup" ? "absent" : "failed";
}

function withNotices(state: Unresolved, inserted: readonly { readonly id: string }[]): Unresolved {
  if (state.untold.length === 0) return state;
  // Verdicts about one call are told one by one, in their order.
  const untold = [...state.untold];
  for (const { id } of inserted) {
    const index = untold.findIndex(({ effect }) => id.startsWith(noticePrefix(effect.callSeq)));
    if (index !== -1) untold.splice(index, 1);
  }
  return untold.length === state.untold.length ? state : { ...state, untold };
}

function noticePrefix(callSeq: number): string {
  return `effect-settled-${callSeq}-`;
}

function withTurnOver(state: Unresolved): Unresolved {
  const effects = state.effects.every((effect) => effect.isClosed)
    ? state.effects
    : state.effects.map((effect) => ({ ...effect, isClosed: true }));
  return { ...state, effects, awaited: noCalls(), awaitedNested: noCalls() };
}

function noCalls(): ChunkedList<AwaitedCall> {
  return ChunkedList.from<AwaitedCall>([], ({ callId }) => callId);
}

/**
 * How an effect is settled. What is known of its key is known of everything that shares it: with `happened` the effect is there,
 * with `absent` it never will be. A repetition that `failed` says nothing about the first try.
 */
type Settlement = "happened" | "absent" | "failed";

/** Takes an effect out, and what it settles with it. */
function settled(
  effects: readonly UnresolvedEffect[],
  callSeq: number,
  how: Settlement,
): readonly UnresolvedEffect[] {
  const effect = effects.find((each) => each.callSeq === callSeq);
  if (effect === undefined) return effects;
  return effects.filter((each) => {
    if (each === effect) return false;
    const sharesKey = each.effectKey !== null && each.effectKey === effect.effectKey;
    switch (how) {
      case "happened":
        return !sharesKey && each.callSeq !== effect.retryOf;
      case "absent":
        return !sharesKey;
      case "failed":
        return true;
    }
  });
}

function changed(
  effects: readonly UnresolvedEffect[],
  callSeq: number,
  change: Partial<UnresolvedEffect>,
): readonly UnresolvedEffect[] {
  return effects.map((effect) => effect.callSeq === callSeq ? { ...effect, ...change } : effect);
}
