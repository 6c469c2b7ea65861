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

/** The unresolved effects of a log, oldest first. They grow by what crashes leave unsettled, never by what was settled. */
export interface Unresolved {
  /** Those that run now and those that were left behind, in the order they became known. */
  readonly effects: readonly UnresolvedEffect[];
  /** The recorded calls of the open turn without a result: what a marker or a result may refer to. */
  readonly awaited: ChunkedList<AwaitedCall>;
  /** The same for nested calls. */
  readonly awaitedNested: ChunkedList<AwaitedCall>;
}

/** Follows markers, results and verdicts. */
export const unresolvedFold: Fold<Unresolved> = {
  name: "unresolved",
  version: 1,

  initial: () => ({ effects: [], awaited: noCalls(), awaitedNested: noCalls() }),

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
    if (isEvent(event, "effect/dispatched")) return withMarker(state, event.data);
    if (isEvent(event, "tool/result")) return withResult(state, event);
    if (event.type === "tool/ptc-dispatch") return withNestedResult(state, subCallIdOf(event), isSuccess(event));
    if (isEvent(event, "effect/reconciled")) return withVerdict(state, event.data);
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

function withMarker(state: Unresolved, data: EventData["effect/dispatched"]): Unresolved {
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
  const key = { effectKey, effect, ...(retryOf === undefined ? {} : { retryOf }) };
  const begun = { turn, step, callId, callSeq, name, arguments: text, ...key, isClosed: false, retryGranted: false };
  return { ...next, effects: [...state.effects, begun] };
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
    return { ...next, effects: settled(state.effects, call.callSeq, !isError) };
  }
  if (call.hasMarker) return { ...next, effects: changed(state.effects, call.callSeq, { isClosed: true }) };
  if (error.code !== TOOL_OUTCOME_UNKNOWN) return next;
  const { callId, callSeq, name, arguments: text } = call;
  const known = { turn, step, callId, callSeq, name, arguments: text };
  const assumed = { effectKey: null, effect: "opaque", isClosed: true, retryGranted: false } as const;
  return { ...next, effects: [...state.effects, { ...known, ...assumed }] };
}

function withNestedResult(state: Unresolved, callId: string | null, happened: boolean): Unresolved {
  const index = state.awaitedNested.findIndex(callId);
  if (index === -1) return state;
  const effects = settled(state.effects, state.awaitedNested.at(index)!.callSeq, happened);
  return { ...state, awaitedNested: state.awaitedNested.withSpan(index, index), effects };
}

function withVerdict(state: Unresolved, { callSeq, verdict }: EventData["effect/reconciled"]): Unresolved {
  if (verdict === "happened") return { ...state, effects: settled(state.effects, callSeq, true) };
  if (verdict === "absent") return { ...state, effects: settled(state.effects, callSeq, false) };
  if (verdict === "retry") return { ...state, effects: changed(state.effects, callSeq, { retryGranted: true }) };
  return state;
}

function withTurnOver(state: Unresolved): Unresolved {
  const effects = state.effects.every((effect) => effect.isClosed)
    ? state.effects
    : state.effects.map((effect) => ({ ...effect, isClosed: true }));
  return { effects, awaited: noCalls(), awaitedNested: noCalls() };
}

function noCalls(): ChunkedList<AwaitedCall> {
  return ChunkedList.from<AwaitedCall>([], ({ callId }) => callId);
}

/**
 * Takes an effect out, and with `happened` also what shares its key: under this key the effect is there. A repetition that
 * failed says nothing about the first try.
 */
function settled(
  effects: readonly UnresolvedEffect[],
  callSeq: number,
  happened: boolean,
): readonly UnresolvedEffect[] {
  const effect = effects.find((each) => each.callSeq === callSeq);
  if (effect === undefined) return effects;
  return effects.filter((each) => {
    if (each === effect) return false;
    const isSame = each.callSeq === effect.retryOf || (each.effectKey !== null && each.effectKey === effect.effectKey);
    return !(happened && isSame);
  });
}

function changed(
  effects: readonly UnresolvedEffect[],
  callSeq: number,
  change: Partial<UnresolvedEffect>,
): readonly UnresolvedEffect[] {
  return effects.map((effect) => effect.callSeq === callSeq ? { ...effect, ...change } : effect);
}
