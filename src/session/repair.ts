/**
 * Repair: the events that close a turn which a crash left open.
 *
 * Pure, deterministic and cold: it replays nothing, quarantines nothing, and says about each call only what the log proves.
 * A crash during repair leaves a shorter valid log, and the next repair computes exactly the events that are still missing.
 *
 * @see session-format §9; architecture "Crash classes", "Order at resume"
 * @module
 */
import {
  ABSENT_TEXT,
  type Block,
  type EventData,
  freezeJson,
  HAPPENED_TEXT,
  type KnownData,
  type Message,
  NOT_DISPATCHED_TEXT,
  NOT_STARTED_ERROR,
  NOT_STARTED_TEXT,
  OUTCOME_UNKNOWN_ERROR,
  OUTCOME_UNKNOWN_TEXT,
  type ResultError,
  type SessionEvent,
} from "../event/mod.ts";
import { classOf, type LogFolds, type OpenQuestion, type PendingCall } from "../fold/mod.ts";

/**
 * The closers of a log: a `tool/result` for each unanswered call of the open step in the model's order, `step/end`,
 * `turn/end {interrupted}`. In a lifecycle with barriers on, a question left open is answered `cancelled` directly before its
 * call's result.
 *
 * A call that a lookup or a person has settled gets that result: apply the `effect/reconciled` to the folds first, and put
 * it before the closers into the same batch.
 *
 * @param folds the state of `logFold` at the end of the log
 * @returns frozen events that continue the log, every `time` that of the log's last event; none when no turn is open
 *
 * @example
 * ```ts
 * import { foldEvents, logFold } from "../fold/mod.ts";
 * import { closers } from "./repair.ts";
 *
 * const folds = foldEvents(logFold, [{ type: "turn/start", seq: 0, time: 5, data: { turn: 1 } }]);
 * if (JSON.stringify(closers(folds).map((event) => event.type)) !== '["turn/end"]') throw new Error("unreachable");
 * ```
 */
export function closers(folds: Pick<LogFolds, "pendingCalls" | "lastTime" | "nextSeq">): SessionEvent[] {
  const { turn, step, calls } = folds.pendingCalls;
  const time = folds.lastTime;
  if (turn === null || time === null) return [];
  const events: SessionEvent[] = [];
  const nextSeq = () => folds.nextSeq + events.length;
  // The order of keys, here and in the data, is the one the format's other writer produces.
  function add<Type extends KnownData>(type: Type, data: EventData[Type], surface: SurfaceFields = {}): void {
    events.push(freezeJson({ type, seq: nextSeq(), time, data, ...surface } as unknown as SessionEvent));
  }
  const answer = ({ id }: OpenQuestion) => add("approval/decided", { id, outcome: "cancelled" });

  const questions = folds.pendingCalls.questions.filter((question) => question.barriersOn);
  const placed = questionsByCall(questions, calls);
  for (const question of questions) if (!placed.has(question)) answer(question);
  for (const call of calls) {
    for (const question of questions) if (placed.get(question) === call) answer(question);
    const sources = call.callSeq === null ? {} : { sourceEventSeqs: [call.callSeq] };
    add("tool/result", resultOf(call, turn, nextSeq()), { surfaceOp: "append", ...sources });
  }
  if (step !== null) add("step/end", { turn, step });
  add("turn/end", { turn, reason: { kind: "interrupted" } });
  return events;
}

type SurfaceFields = Pick<SessionEvent, "surfaceOp" | "sourceEventSeqs">;

/** The call before whose closer a question is answered. A question about none of them comes before the first closer. */
function questionsByCall(
  questions: readonly OpenQuestion[],
  calls: readonly PendingCall[],
): ReadonlyMap<OpenQuestion, PendingCall> {
  const placed = new Map<OpenQuestion, PendingCall>();
  for (const question of questions) {
    const call = calls.find((call) => call.callId === question.callId);
    if (call !== undefined) placed.set(question, call);
  }
  return placed;
}

function resultOf(call: PendingCall, turn: number, seq: number): EventData["tool/result"] {
  const { callId, step } = call;
  const { content, error } = answerOf(call);
  const message: Message = {
    id: `interrupted-tool-result-${callId}-${seq}`,
    role: "user",
    source: { kind: "tool", callId },
    content: [{ type: "tool-result", toolCallId: callId, isError: error !== null, content }],
  };
  return error === null ? { turn, step, message } : { turn, step, message, error };
}

function answerOf(call: PendingCall): { content: readonly Block[]; error: ResultError | null } {
  const text = (text: string): Block[] => [{ type: "text", text }];
  if (call.verdict?.verdict === "happened") {
    return { content: call.verdict.content ?? text(HAPPENED_TEXT), error: null };
  }
  if (call.verdict?.verdict === "absent") return { content: text(ABSENT_TEXT), error: NOT_STARTED_ERROR };
  switch (classOf(call)) {
    case "not_started":
      return { content: text(NOT_STARTED_TEXT), error: NOT_STARTED_ERROR };
    case "not_dispatched":
      return { content: text(NOT_DISPATCHED_TEXT), error: NOT_STARTED_ERROR };
    case "outcome_unknown":
      return { content: text(OUTCOME_UNKNOWN_TEXT), error: OUTCOME_UNKNOWN_ERROR };
  }
}
