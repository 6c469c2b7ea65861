/**
 * The scan that repair works from: the open turn and step, its unanswered calls, and the evidence about each.
 *
 * The format's scan is tolerant on purpose: it believes any log. Ours follows it and adds what our own events prove.
 * It is a list, not a map: two blocks of one message that share an id are two calls, and each gets its result.
 *
 * @see session-format §9; architecture "Crash classes"
 * @module
 */
import {
  type Block,
  type EffectClass,
  type EventData,
  type EventOf,
  isEvent,
  type SessionEvent,
} from "../event/mod.ts";
import type { Fold } from "./fold.ts";
import { type Lifecycle, lifecycleFold } from "./lifecycle.ts";
import { subCallIdOf } from "./nested.ts";

/** The evidence that a body may have run. */
export interface Marker {
  /** seq of the `effect/dispatched`. */
  readonly seq: number;
  readonly effectKey: string;
  readonly effect: EffectClass;
  readonly retryOf?: number;
}

/** A call without a result. */
export interface PendingCall {
  readonly callId: string;
  readonly name: string;
  /** The model's raw text. */
  readonly arguments: string;
  readonly turn: number;
  readonly step: number;
  /** seq of the `assistant/message` that proposes it. */
  readonly messageSeq: number;
  /** seq of its `tool/call`; `null` when it was never recorded as started. */
  readonly callSeq: number | null;
  readonly marker: Marker | null;
  /** Whether every lifecycle since its message kept its barriers, so that a missing marker proves something. */
  readonly barriersOn: boolean;
  /** Whether its lifecycle holds a marker that fits no call. It could be this one's. */
  readonly strayMarker: boolean;
  /** The last verdict about it that is final. */
  readonly verdict: { readonly verdict: "happened" | "absent"; readonly content?: readonly Block[] } | null;
}

/** A call made by a tool's body and not settled. It lies under the pending call `rootCallId`. */
export interface NestedCall {
  readonly rootCallId: string;
  readonly parentCallId: string;
  /** Its `subCallId`. */
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  /** seq of its `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  readonly marker: Marker | null;
}

/** A question without an answer. */
export interface OpenQuestion {
  readonly id: string;
  readonly callId: string | null;
  readonly toolName: string;
  /** Whether its lifecycle keeps its barriers: then repair closes it. */
  readonly barriersOn: boolean;
}

/** What is unanswered at the end of a log. */
export interface PendingCalls {
  readonly lifecycle: Lifecycle;
  /** The open turn; `null` when there is none, and then nothing needs repair. */
  readonly turn: number | null;
  readonly step: number | null;
  /** In the model's order: message by message, block by block. */
  readonly calls: readonly PendingCall[];
  readonly nested: readonly NestedCall[];
  readonly questions: readonly OpenQuestion[];
  /** Whether this lifecycle holds a marker that fits no recorded call. */
  readonly strayMarker: boolean;
}

const NOTHING_PENDING = { calls: [], nested: [], questions: [] } as const;

/** Follows the calls of the open turn. */
export const pendingCallsFold: Fold<PendingCalls> = {
  name: "pending_calls",
  version: 1,

  initial: () => ({
    lifecycle: lifecycleFold.initial(),
    turn: null,
    step: null,
    ...NOTHING_PENDING,
    strayMarker: false,
  }),

  apply(state: PendingCalls, event: SessionEvent): PendingCalls {
    const lifecycle = lifecycleFold.apply(state.lifecycle, event);
    return follow(lifecycle === state.lifecycle ? state : { ...state, lifecycle }, event);
  },
};

function follow(state: PendingCalls, event: SessionEvent): PendingCalls {
  if (isEvent(event, "turn/start")) return { ...state, ...NOTHING_PENDING, turn: event.data.turn, step: null };
  if (isEvent(event, "turn/end")) return { ...state, ...NOTHING_PENDING, turn: null, step: null };
  if (isEvent(event, "step/start")) return { ...state, step: event.data.step };
  if (isEvent(event, "step/end")) return { ...state, step: null, calls: [], nested: [] };
  if (isEvent(event, "session/end-seed")) return { ...withoutProof(state), strayMarker: false };
  if (isEvent(event, "log/salvaged")) return withoutProof(state);
  if (isEvent(event, "assistant/message")) return withMessage(state, event.seq, event.data);
  if (isEvent(event, "tool/call")) return withCallSeq(state, event.data.callId, event.seq);
  if (isEvent(event, "tool/result")) return withoutAnswered(state, event);
  if (isEvent(event, "tool/ptc-dispatch-start")) return withNested(state, event.seq, event.data);
  if (event.type === "tool/ptc-dispatch") return withoutNested(state, subCallIdOf(event));
  if (isEvent(event, "effect/dispatched")) return withMarker(state, event.seq, event.data);
  if (isEvent(event, "effect/reconciled")) return withVerdict(state, event.data);
  if (isEvent(event, "approval/asked")) return withQuestion(state, event.data);
  if (isEvent(event, "approval/decided")) {
    return { ...state, questions: state.questions.filter(({ id }) => id !== event.data.id) };
  }
  return state;
}

/**
 * Tells which of some calls a `tool/result` answers: the one it cites; else the first of its id, a recorded one before others.
 *
 * @returns an index, −1 when it answers none of them: a replacement answers nothing anew
 *
 * @example
 * ```ts
 * import { answeredIndex } from "./pending_calls.ts";
 *
 * const calls = [{ callId: "a", callSeq: 3 }, { callId: "b", callSeq: 4 }];
 * const result = {
 *   type: "tool/result",
 *   seq: 5,
 *   time: 1,
 *   data: { turn: 1, step: 1, message: { id: "m", role: "user", content: [], source: { kind: "tool", callId: "b" } } },
 *   surfaceOp: "append",
 * } as const;
 * if (answeredIndex(calls, result) !== 1) throw new Error("unreachable");
 * ```
 */
export function answeredIndex(
  calls: readonly { readonly callId: string; readonly callSeq: number | null }[],
  result: EventOf<"tool/result">,
): number {
  if (result.surfaceOp !== "append") return -1;
  const { callId } = result.data.message.source;
  const cited = calls.findIndex((call) =>
    call.callId === callId && call.callSeq !== null && result.sourceEventSeqs?.includes(call.callSeq) === true
  );
  if (cited !== -1) return cited;
  const recorded = calls.findIndex((call) => call.callId === callId && call.callSeq !== null);
  return recorded !== -1 ? recorded : calls.findIndex((call) => call.callId === callId);
}

/**
 * Takes away what barriers prove. A writer of ours leaves no call pending across a `session/end-seed`; another one may go on
 * with it and run its body without a marker.
 */
function withoutProof(state: PendingCalls): PendingCalls {
  return {
    ...state,
    calls: state.calls.map((call) => ({ ...call, barriersOn: false })),
    questions: state.questions.map((question) => ({ ...question, barriersOn: false })),
  };
}

function withMessage(state: PendingCalls, messageSeq: number, data: EventData["assistant/message"]): PendingCalls {
  const calls: PendingCall[] = [];
  for (const block of data.message.content) {
    if (block.type !== "tool-call") continue;
    calls.push({
      callId: block.id,
      name: block.name,
      arguments: block.arguments,
      turn: data.turn,
      step: data.step,
      messageSeq,
      callSeq: null,
      marker: null,
      barriersOn: state.lifecycle.barriersOn,
      strayMarker: state.strayMarker,
      verdict: null,
    });
  }
  return calls.length === 0 ? state : { ...state, calls: [...state.calls, ...calls] };
}

function withCallSeq(state: PendingCalls, callId: string, callSeq: number): PendingCalls {
  const fresh = state.calls.findIndex((call) => call.callId === callId && call.callSeq === null);
  // Recorded once more than it was proposed: the format's scan then believes the newer one.
  const index = fresh !== -1 ? fresh : state.calls.findIndex((call) => call.callId === callId);
  return withCallAt(state, index, { callSeq });
}

function withoutAnswered(state: PendingCalls, result: EventOf<"tool/result">): PendingCalls {
  const index = answeredIndex(state.calls, result);
  return index === -1 ? state : { ...state, calls: state.calls.toSpliced(index, 1) };
}

function withMarker(state: PendingCalls, seq: number, data: EventData["effect/dispatched"]): PendingCalls {
  const { turn, step, callId, callSeq, effectKey, effect, retryOf } = data;
  const marker: Marker = { seq, effectKey, effect, ...(retryOf === undefined ? {} : { retryOf }) };
  const index = state.calls.findIndex((call) =>
    call.callId === callId && call.callSeq === callSeq && call.turn === turn && call.step === step
  );
  if (index !== -1) return withCallAt(state, index, { marker });

  const inner = state.nested.findIndex((call) => call.callId === callId && call.callSeq === callSeq);
  if (inner !== -1 && state.turn === turn && state.step === step) {
    return { ...state, nested: state.nested.with(inner, { ...state.nested[inner]!, marker }) };
  }
  return { ...state, strayMarker: true, calls: state.calls.map((call) => ({ ...call, strayMarker: true })) };
}

function withVerdict(state: PendingCalls, data: EventData["effect/reconciled"]): PendingCalls {
  const { callId, callSeq, verdict, content } = data;
  if (verdict !== "happened" && verdict !== "absent") return state;
  const index = state.calls.findIndex((call) => call.callId === callId && call.callSeq === callSeq);
  return withCallAt(state, index, { verdict: { verdict, ...(content === undefined ? {} : { content }) } });
}

function withCallAt(state: PendingCalls, index: number, change: Partial<PendingCall>): PendingCalls {
  const call = state.calls[index];
  return call === undefined ? state : { ...state, calls: state.calls.with(index, { ...call, ...change }) };
}

function withNested(state: PendingCalls, callSeq: number, data: EventData["tool/ptc-dispatch-start"]): PendingCalls {
  const { rootCallId, parentCallId, subCallId, name } = data;
  const call = { rootCallId, parentCallId, callId: subCallId, name, arguments: data.arguments, callSeq, marker: null };
  return { ...state, nested: [...state.nested, call] };
}

function withoutNested(state: PendingCalls, callId: string | null): PendingCalls {
  const index = state.nested.findIndex((call) => call.callId === callId);
  return index === -1 ? state : { ...state, nested: state.nested.toSpliced(index, 1) };
}

function withQuestion(state: PendingCalls, { id, callId, toolName }: EventData["approval/asked"]): PendingCalls {
  const question = { id, callId: callId ?? null, toolName, barriersOn: state.lifecycle.barriersOn };
  return { ...state, questions: [...state.questions, question] };
}
