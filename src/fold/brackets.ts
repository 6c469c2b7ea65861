/**
 * The open brackets of a log: turn, step, calls, questions and compaction.
 *
 * A log with broken nesting loads (the format demands it), so this fold goes on whatever comes and counts what was wrong. The
 * rules themselves are in `bracket_rules.ts`; a session enforces them before it appends.
 *
 * @see session-format §4.3
 * @module
 */
import { isEvent, type SessionEvent } from "../event/mod.ts";
import { bracketProblem } from "./bracket_rules.ts";
import { BRACKET_PROBLEMS_KEPT_MAX, type Brackets, type RecordedCall } from "./bracket_state.ts";
import { ChunkedList } from "./chunked_list.ts";
import type { Fold } from "./fold.ts";
import { subCallIdOf } from "./nested.ts";

/** Follows the brackets. An event with a {@linkcode bracketProblem} is counted and then believed. */
export const bracketsFold: Fold<Brackets> = {
  name: "brackets",
  version: 1,

  initial: () => ({
    turn: null,
    step: null,
    lastTurn: 0,
    lastStep: 0,
    calls: noCalls(),
    questions: noQuestions(),
    compaction: null,
    problems: { count: 0, first: [] },
  }),

  apply(state: Brackets, event: SessionEvent): Brackets {
    const problem = bracketProblem(state, event);
    const next = follow(state, event);
    return problem === null ? next : { ...next, problems: withProblem(state.problems, event.seq, problem) };
  },
};

function withProblem(problems: Brackets["problems"], seq: number, message: string): Brackets["problems"] {
  const isKept = problems.first.length < BRACKET_PROBLEMS_KEPT_MAX;
  return { count: problems.count + 1, first: isKept ? [...problems.first, { seq, message }] : problems.first };
}

function follow(state: Brackets, event: SessionEvent): Brackets {
  if (isEvent(event, "turn/start")) {
    const { turn } = event.data;
    return { ...state, turn, step: null, lastTurn: turn, lastStep: 0, calls: noCalls(), questions: noQuestions() };
  }
  if (isEvent(event, "turn/end")) {
    return { ...state, turn: null, step: null, calls: noCalls(), questions: noQuestions() };
  }
  if (isEvent(event, "step/start")) {
    return { ...state, step: event.data.step, lastStep: event.data.step, calls: noCalls() };
  }
  if (isEvent(event, "step/end")) return { ...state, step: null, calls: noCalls() };
  if (isEvent(event, "session/end-seed")) return state.compaction === null ? state : { ...state, compaction: null };
  return followCalls(state, event) ?? followQuestions(state, event) ?? followCompaction(state, event) ?? state;
}

function followCalls(state: Brackets, event: SessionEvent): Brackets | null {
  if (isEvent(event, "tool/call")) return withCall(state, event.data.callId, event.seq, false);
  if (isEvent(event, "tool/ptc-dispatch-start")) return withCall(state, event.data.subCallId, event.seq, true);
  if (isEvent(event, "tool/result") && event.surfaceOp === "append") {
    return answered(state, String(event.data.message.source.callId), false);
  }
  if (event.type === "tool/ptc-dispatch") return answered(state, subCallIdOf(event), true);
  if (isEvent(event, "effect/dispatched")) {
    const { callId, callSeq } = event.data;
    const index = state.calls.findIndex(callId, (call) => call.callSeq === callSeq);
    return withCallAt(state, index, { hasMarker: true });
  }
  return null;
}

function withCall(state: Brackets, callId: string, callSeq: number, isNested: boolean): Brackets {
  const call: RecordedCall = { callId, callSeq, isNested, hasMarker: false, isAnswered: false };
  return { ...state, calls: state.calls.with(call) };
}

function answered(state: Brackets, callId: string | null, isNested: boolean): Brackets {
  const index = state.calls.findIndex(callId, (call) => call.isNested === isNested && !call.isAnswered);
  return withCallAt(state, index, { isAnswered: true });
}

function withCallAt(state: Brackets, index: number, change: Partial<RecordedCall>): Brackets {
  if (index === -1) return state;
  return { ...state, calls: state.calls.withSpan(index, index, { ...state.calls.at(index)!, ...change }) };
}

function noCalls(): ChunkedList<RecordedCall> {
  return ChunkedList.from<RecordedCall>([], ({ callId }) => callId);
}

function noQuestions(): ChunkedList<string> {
  return ChunkedList.from<string>([], (id) => id);
}

function followQuestions(state: Brackets, event: SessionEvent): Brackets | null {
  if (isEvent(event, "approval/asked")) return { ...state, questions: state.questions.with(event.data.id) };
  if (isEvent(event, "approval/decided")) {
    let { questions } = state;
    for (let at = questions.findIndex(event.data.id); at !== -1; at = questions.findIndex(event.data.id)) {
      questions = questions.withSpan(at, at);
    }
    return { ...state, questions };
  }
  return null;
}

function followCompaction(state: Brackets, event: SessionEvent): Brackets | null {
  if (isEvent(event, "compaction/start")) {
    const { compactionId, sourceCommandId = null, turn } = event.data;
    return { ...state, compaction: { compactionId, sourceCommandId, turn, seq: event.seq, hasSummary: false } };
  }
  if (isEvent(event, "compaction/summary") && state.compaction !== null) {
    return { ...state, compaction: { ...state.compaction, hasSummary: true } };
  }
  if (isEvent(event, "compaction/end")) return { ...state, compaction: null };
  return null;
}
