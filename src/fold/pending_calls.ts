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
import { ChunkedList } from "./chunked_list.ts";
import type { Fold } from "./fold.ts";
import { type Lifecycle, lifecycleFold } from "./lifecycle.ts";
import { subCallIdOf } from "./nested.ts";

/** The evidence that a body may have run. */
export interface Marker {
  /** seq of the `effect/dispatched`. */
  readonly seq: number;
  /** 32 lower-case hex digits; a repetition carries the key of the effect it repeats. */
  readonly effectKey: string;
  /** What the body may do to the world, as declared at dispatch. */
  readonly effect: EffectClass;
  /** seq of the original `tool/call`, when this call repeats one whose outcome is unknown. */
  readonly retryOf?: number;
}

/** A call without a result. */
export interface PendingCall {
  /** The model's id. Two blocks of one message may share it. */
  readonly callId: string;
  /** The tool the model named, which need not exist. */
  readonly name: string;
  /** The model's raw text. */
  readonly arguments: string;
  /** The turn of the message that proposes it. */
  readonly turn: number;
  /** The step of the message that proposes it. */
  readonly step: number;
  /** seq of the `assistant/message` that proposes it. */
  readonly messageSeq: number;
  /** seq of its `tool/call`; `null` when it was never recorded as started. */
  readonly callSeq: number | null;
  /** `null` when the log holds none, which proves something only while `barriersOn`. */
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
  /** The model's call at the outermost end. */
  readonly rootCallId: string;
  /** The call whose body made this one: the root, or another nested call. */
  readonly parentCallId: string;
  /** Its `subCallId`. */
  readonly callId: string;
  /** The tool that the body called. */
  readonly name: string;
  /** JSON text, as it was recorded. */
  readonly arguments: string;
  /** seq of its `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** `null` when the log holds none: a call with the effect "none" needs none. */
  readonly marker: Marker | null;
}

/** A question without an answer. */
export interface OpenQuestion {
  /** The id of its `approval/asked`, which the `approval/decided` repeats. */
  readonly id: string;
  /** The call it asks about; `null` when it was asked about none. */
  readonly callId: string | null;
  /** The tool it asks about. */
  readonly toolName: string;
  /** Whether its lifecycle keeps its barriers: then repair closes it. */
  readonly barriersOn: boolean;
}

/** What is unanswered at the end of a log. */
export interface PendingCalls {
  /** The lifecycle at the end of the log, which decides what a missing marker proves. */
  readonly lifecycle: Lifecycle;
  /** The open turn; `null` when there is none, and then nothing needs repair. */
  readonly turn: number | null;
  /** The open step; `null` between steps and between turns. */
  readonly step: number | null;
  /** In the model's order: message by message, block by block. */
  readonly calls: readonly PendingCall[];
  /** The calls of bodies that are not settled, in log order. */
  readonly nested: readonly NestedCall[];
  /** The questions without an answer, in the order they were asked. */
  readonly questions: readonly OpenQuestion[];
  /** Whether this lifecycle holds a marker that fits no recorded call. */
  readonly strayMarker: boolean;
}

/** The state with lists that are cheap to change. What others read as arrays is made when it is read. */
class Scan implements PendingCalls {
  readonly lifecycle: Lifecycle;
  readonly turn: number | null;
  readonly step: number | null;
  readonly strayMarker: boolean;
  readonly callList: ChunkedList<PendingCall>;
  readonly nestedList: ChunkedList<NestedCall>;
  readonly questionList: ChunkedList<OpenQuestion>;

  constructor(state: ScanFields) {
    this.lifecycle = state.lifecycle;
    this.turn = state.turn;
    this.step = state.step;
    this.strayMarker = state.strayMarker;
    this.callList = state.callList;
    this.nestedList = state.nestedList;
    this.questionList = state.questionList;
  }

  /** The state itself, or one that came back from JSON. */
  static of(state: PendingCalls): Scan {
    if (state instanceof Scan) return state;
    const { calls, nested, questions } = state;
    return new Scan({ ...state, ...listsOf(calls, nested, questions) });
  }

  with(change: Partial<ScanFields>): Scan {
    return new Scan({ ...this, ...change });
  }

  get calls(): readonly PendingCall[] {
    return this.callList.toArray();
  }

  get nested(): readonly NestedCall[] {
    return this.nestedList.toArray();
  }

  get questions(): readonly OpenQuestion[] {
    return this.questionList.toArray();
  }

  toJSON(): PendingCalls {
    const { lifecycle, turn, step, calls, nested, questions, strayMarker } = this;
    return { lifecycle, turn, step, calls, nested, questions, strayMarker };
  }
}

/**
 * A state that came back from JSON, as the fold itself makes it.
 *
 * @example
 * ```ts
 * import { pendingCallsFold, restorePendingCalls } from "./pending_calls.ts";
 *
 * const state = restorePendingCalls(JSON.parse(JSON.stringify(pendingCallsFold.initial())));
 * if (state.calls.length !== 0) throw new Error("unreachable");
 * ```
 */
export function restorePendingCalls(state: PendingCalls): PendingCalls {
  return Scan.of(state);
}

type ScanFields = Pick<
  Scan,
  "lifecycle" | "turn" | "step" | "strayMarker" | "callList" | "nestedList" | "questionList"
>;

function listsOf(
  calls: readonly PendingCall[],
  nested: readonly NestedCall[],
  questions: readonly OpenQuestion[],
): Pick<ScanFields, "callList" | "nestedList" | "questionList"> {
  return {
    callList: ChunkedList.from(calls, ({ callId }) => callId),
    nestedList: ChunkedList.from(nested, ({ callId }) => callId),
    questionList: ChunkedList.from(questions, ({ id }) => id),
  };
}

const nothingPending = () => listsOf([], [], []);

/** Follows the calls of the open turn. */
export const pendingCallsFold: Fold<PendingCalls> = {
  name: "pending_calls",
  version: 1,

  initial: () =>
    new Scan({ lifecycle: lifecycleFold.initial(), turn: null, step: null, strayMarker: false, ...nothingPending() }),

  apply(state: PendingCalls, event: SessionEvent): PendingCalls {
    const scan = Scan.of(state);
    const lifecycle = lifecycleFold.apply(scan.lifecycle, event);
    return follow(lifecycle === scan.lifecycle ? scan : scan.with({ lifecycle }), event);
  },
};

function follow(state: Scan, event: SessionEvent): Scan {
  if (isEvent(event, "turn/start")) return state.with({ ...nothingPending(), turn: event.data.turn, step: null });
  if (isEvent(event, "turn/end")) return state.with({ ...nothingPending(), turn: null, step: null });
  if (isEvent(event, "step/start")) return state.with({ step: event.data.step });
  if (isEvent(event, "step/end")) {
    const { callList, nestedList } = nothingPending();
    return state.with({ step: null, callList, nestedList });
  }
  if (isEvent(event, "session/end-seed")) return withoutProof(state).with({ strayMarker: false });
  if (isEvent(event, "log/salvaged")) return withoutProof(state);
  if (isEvent(event, "assistant/message")) return withMessage(state, event.seq, event.data);
  if (isEvent(event, "tool/call")) return withCallSeq(state, event.data.callId, event.seq);
  if (isEvent(event, "tool/result")) return withoutAnswered(state, event);
  if (isEvent(event, "tool/ptc-dispatch-start")) return withNested(state, event.seq, event.data);
  if (event.type === "tool/ptc-dispatch") return withoutNested(state, subCallIdOf(event));
  if (isEvent(event, "effect/dispatched")) return withMarker(state, event.seq, event.data);
  if (isEvent(event, "effect/reconciled")) return withVerdict(state, event.data);
  if (isEvent(event, "approval/asked")) return withQuestion(state, event.data);
  if (isEvent(event, "approval/decided")) return withoutQuestion(state, event.data.id);
  return state;
}

/**
 * Tells which of some calls a `tool/result` answers: the one it cites; else the first of its id, a recorded one before others.
 *
 * @param calls with `callId` as their key
 * @returns an index, −1 when it answers none of them: a replacement answers nothing anew
 *
 * @example
 * ```ts
 * import { ChunkedList } from "./chunked_list.ts";
 * import { answeredIndex } from "./pending_calls.ts";
 *
 * const calls = ChunkedList.from([{ callId: "a", callSeq: 3 }, { callId: "b", callSeq: 4 }], ({ callId }) => callId);
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
export function answeredIndex<Call extends { readonly callId: string; readonly callSeq: number | null }>(
  calls: ChunkedList<Call>,
  result: EventOf<"tool/result">,
): number {
  if (result.surfaceOp !== "append") return -1;
  const { callId } = result.data.message.source;
  const sources = result.sourceEventSeqs;
  if (sources !== undefined) {
    const cited = calls.findIndex(callId, ({ callSeq }) => callSeq !== null && sources.includes(callSeq));
    if (cited !== -1) return cited;
  }
  const recorded = calls.findIndex(callId, ({ callSeq }) => callSeq !== null);
  return recorded !== -1 ? recorded : calls.findIndex(callId);
}

/**
 * Takes away what barriers prove. A writer of ours leaves no call pending across a `session/end-seed`; another one may go on
 * with it and run its body without a marker.
 */
function withoutProof(state: Scan): Scan {
  const { calls, nested, questions } = state;
  return state.with(listsOf(
    calls.map((call) => ({ ...call, barriersOn: false })),
    nested,
    questions.map((question) => ({ ...question, barriersOn: false })),
  ));
}

function withMessage(state: Scan, messageSeq: number, data: EventData["assistant/message"]): Scan {
  let { callList } = state;
  for (const block of data.message.content) {
    if (block.type !== "tool-call") continue;
    callList = callList.with({
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
  return callList === state.callList ? state : state.with({ callList });
}

function withCallSeq(state: Scan, callId: string, callSeq: number): Scan {
  const fresh = state.callList.findIndex(callId, (call) => call.callSeq === null);
  // Recorded once more than it was proposed: the format's scan then believes the newer one.
  const index = fresh !== -1 ? fresh : state.callList.findIndex(callId);
  return withCallAt(state, index, { callSeq });
}

function withoutAnswered(state: Scan, result: EventOf<"tool/result">): Scan {
  const index = answeredIndex(state.callList, result);
  return index === -1 ? state : state.with({ callList: state.callList.withSpan(index, index) });
}

function withMarker(state: Scan, seq: number, data: EventData["effect/dispatched"]): Scan {
  const { turn, step, callId, callSeq, effectKey, effect, retryOf } = data;
  const marker: Marker = { seq, effectKey, effect, ...(retryOf === undefined ? {} : { retryOf }) };
  const isIt = (call: PendingCall) => call.callSeq === callSeq && call.turn === turn && call.step === step;
  const index = state.callList.findIndex(callId, isIt);
  if (index !== -1) return withCallAt(state, index, { marker });

  const { nestedList } = state;
  const inner = nestedList.findIndex(callId, (call) => call.callSeq === callSeq);
  if (inner !== -1 && state.turn === turn && state.step === step) {
    return state.with({ nestedList: nestedList.withSpan(inner, inner, { ...nestedList.at(inner)!, marker }) });
  }
  // Once is enough: calls proposed later are marked when they come.
  if (state.strayMarker) return state;
  const { callList } = listsOf(state.calls.map((call) => ({ ...call, strayMarker: true })), [], []);
  return state.with({ strayMarker: true, callList });
}

function withVerdict(state: Scan, data: EventData["effect/reconciled"]): Scan {
  const { callId, callSeq, verdict, content } = data;
  if (verdict !== "happened" && verdict !== "absent") return state;
  const index = state.callList.findIndex(callId, (call) => call.callSeq === callSeq);
  return withCallAt(state, index, { verdict: { verdict, ...(content === undefined ? {} : { content }) } });
}

function withCallAt(state: Scan, index: number, change: Partial<PendingCall>): Scan {
  const call = index === -1 ? undefined : state.callList.at(index);
  if (call === undefined) return state;
  return state.with({ callList: state.callList.withSpan(index, index, { ...call, ...change }) });
}

function withNested(state: Scan, callSeq: number, data: EventData["tool/ptc-dispatch-start"]): Scan {
  const { rootCallId, parentCallId, subCallId, name } = data;
  const call = { rootCallId, parentCallId, callId: subCallId, name, arguments: data.arguments, callSeq, marker: null };
  return state.with({ nestedList: state.nestedList.with(call) });
}

function withoutNested(state: Scan, callId: string | null): Scan {
  const index = state.nestedList.findIndex(callId);
  return index === -1 ? state : state.with({ nestedList: state.nestedList.withSpan(index, index) });
}

function withQuestion(state: Scan, { id, callId, toolName }: EventData["approval/asked"]): Scan {
  const question = { id, callId: callId ?? null, toolName, barriersOn: state.lifecycle.barriersOn };
  return state.with({ questionList: state.questionList.with(question) });
}

function withoutQuestion(state: Scan, id: string): Scan {
  let { questionList } = state;
  for (let index = questionList.findIndex(id); index !== -1; index = questionList.findIndex(id)) {
    questionList = questionList.withSpan(index, index);
  }
  return state.with({ questionList });
}
