/**
 * What may come next: the nesting rules of turns, steps, calls, questions and compactions.
 *
 * The format leaves them to an optional companion. We enforce them at every append, because a log that breaks them cannot be
 * classed after a crash, and only report them at load, because other programs do not.
 * Closers pass: a result for a call that was never recorded, and a `turn/end {interrupted}` across an open compaction.
 *
 * @see session-format §4.3; compaction §2 "Invariants to enforce pre-commit"
 * @module
 */
import { type EventData, isEvent, type SessionEvent, TOOL_NOT_STARTED, TOOL_OUTCOME_UNKNOWN } from "../event/mod.ts";
import type { Brackets, OpenCompaction } from "./bracket_state.ts";

/**
 * Says why an event must not come next.
 *
 * @returns what was found, or `null` when the event is fine
 *
 * @example
 * ```ts
 * import { bracketProblem, bracketsFold } from "./mod.ts";
 *
 * const problem = bracketProblem(bracketsFold.initial(), { type: "turn/start", seq: 0, time: 1, data: { turn: 2 } });
 * if (problem !== "the next turn is 1") throw new Error("unreachable");
 * ```
 */
export function bracketProblem(state: Brackets, event: SessionEvent): string | null {
  const rule = RULES.get(event.type);
  return rule === undefined ? null : rule(state, event);
}

type Rule = (state: Brackets, event: SessionEvent) => string | null;

function rule<Type extends keyof EventData>(
  type: Type,
  check: (state: Brackets, data: EventData[Type], event: SessionEvent) => string | null,
): [string, Rule] {
  return [type, (state, event) => isEvent(event, type) ? check(state, event.data, event) : null];
}

const RULES: ReadonlyMap<string, Rule> = new Map([
  rule("turn/start", (state, { turn }) => {
    if (state.turn !== null) return `turn ${state.turn} is open`;
    if (state.compaction !== null) return crossing(state.compaction);
    return turn === state.lastTurn + 1 ? null : `the next turn is ${state.lastTurn + 1}`;
  }),
  rule("turn/end", (state, { turn, reason }) => {
    if (state.turn !== turn) return turnFound(state);
    if (state.step !== null) return `step ${state.step} is open`;
    // Only repair interrupts, and it leaves an open compaction as it is: the session/end-seed that follows makes it stale.
    return state.compaction === null || reason.kind === "interrupted" ? null : crossing(state.compaction);
  }),
  rule("step/start", (state, { turn, step }) => {
    if (state.turn !== turn) return turnFound(state);
    if (state.step !== null) return `step ${state.step} is open`;
    return step === state.lastStep + 1 ? null : `the next step is ${state.lastStep + 1}`;
  }),
  rule("step/end", (state, data) => inOpenStep(state, data) ?? runningProblem(state)),
  rule("system/message", inOpenStep),
  rule("assistant/message", inOpenStep),
  rule("assistant/attempt", inOpenStep),
  rule("call/renamed", inOpenStep),
  rule("tool/call", inOpenStep),
  rule("tool/result", (state, data, { surfaceOp }) => {
    if (surfaceOp !== "append") return inOpenTurn(state);
    return inOpenStep(state, data) ?? answerProblem(state, data);
  }),
  rule("effect/dispatched", (state, data) => inOpenStep(state, data) ?? markerProblem(state, data)),
  rule("request/header", inOpenTurn),
  rule("request/context", inOpenTurn),
  rule("approval/asked", (state, { id }) => {
    return inOpenTurn(state) ?? ((state.questions.findIndex(id) !== -1) ? `question "${id}" is open already` : null);
  }),
  rule("approval/decided", (state, { id }) => inOpenTurn(state) ?? questionProblem(state, id)),
  rule("approval/bound", (state, { id, callSeq }) => {
    if (![...state.calls].some((call) => call.callSeq === callSeq)) return `seq ${callSeq} is no call of the open step`;
    return questionProblem(state, id);
  }),
  rule("compaction/start", (state, { turn }) => {
    if (state.compaction !== null) return `compaction "${state.compaction.compactionId}" is open`;
    return state.turn === turn ? null : turnFound(state);
  }),
  rule("compaction/summary", (state, data) => {
    return inCompaction(state, data) ?? (state.compaction?.hasSummary === true ? "it has a summary already" : null);
  }),
  rule("compaction/end", (state, data) => {
    const problem = inCompaction(state, data);
    if (problem !== null) return problem;
    const { turn, hasSummary } = state.compaction!;
    if (turn !== data.turn) return `the open compaction belongs to ${turnText(turn)}`;
    return hasSummary || data.error !== undefined ? null : "it ends without a summary and without an error";
  }),
  rule("user/message", (state, { source }, { surfaceOp }) => {
    const isCheckpoint = source.kind === "plugin" && source.plugin === "compact" && surfaceOp !== "append";
    return isCheckpoint ? inCompaction(state, { ...source, compactionId: source.compactionId }) : null;
  }),
]);

function inOpenTurn(state: Brackets): string | null {
  return state.turn === null ? "no turn is open" : null;
}

function inOpenStep(state: Brackets, { turn, step }: { readonly turn: number; readonly step: number }): string | null {
  if (state.turn !== turn) return turnFound(state);
  if (state.step === step) return null;
  return state.step === null ? "no step is open" : `step ${state.step} is open`;
}

function turnFound(state: Brackets): string {
  return state.turn === null ? "no turn is open" : `turn ${state.turn} is open`;
}

/** Repair answers calls that were never recorded. Everybody else answers a call that waits. */
function answerProblem(state: Brackets, { message, error }: EventData["tool/result"]): string | null {
  const { callId } = message.source;
  if (state.calls.findIndex(callId, (call) => !call.isNested && !call.isAnswered) !== -1) return null;
  const isCloser = error?.code === TOOL_NOT_STARTED || error?.code === TOOL_OUTCOME_UNKNOWN;
  return isCloser ? null : `no call "${callId}" waits for a result in this step`;
}

/** A marker that fits no call makes every pending call of the lifecycle unknown, so it must never get into a log. */
function markerProblem(state: Brackets, { callId, callSeq }: EventData["effect/dispatched"]): string | null {
  const index = state.calls.findIndex(callId, (call) => call.callSeq === callSeq);
  const call = index === -1 ? undefined : state.calls.at(index);
  if (call === undefined) return `seq ${callSeq} is no call "${callId}" of this step`;
  if (call.isAnswered) return `call "${callId}" has its result already`;
  return call.hasMarker ? `call "${callId}" has its marker already` : null;
}

/** With the step the scan of a crash ends too: a body that may have run would be forgotten without a class. */
function runningProblem(state: Brackets): string | null {
  const call = [...state.calls].find((call) => call.hasMarker && !call.isAnswered && !call.isNested);
  return call === undefined ? null : `call "${call.callId}" was dispatched and has no result`;
}

function questionProblem(state: Brackets, id: string): string | null {
  return (state.questions.findIndex(id) !== -1) ? null : `no question "${id}" is open`;
}

function inCompaction(
  { compaction }: Brackets,
  { compactionId, sourceCommandId }: { readonly compactionId: unknown; readonly sourceCommandId?: unknown },
): string | null {
  if (compaction === null) return "no compaction is open";
  const isSame = compaction.compactionId === compactionId && compaction.sourceCommandId === (sourceCommandId ?? null);
  return isSame ? null : `compaction "${compaction.compactionId}" is open, which has another id or command`;
}

function crossing({ compactionId, turn }: OpenCompaction): string {
  return `compaction "${compactionId}" of ${turnText(turn)} is open`;
}

function turnText(turn: number | null): string {
  return turn === null ? "no turn" : `turn ${turn}`;
}
