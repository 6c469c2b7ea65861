/**
 * How a call stands in the log: the intent, the marker, the result. A call of the model and a nested one differ only here.
 *
 * Whatever meets a full buffer flushes it once.
 *
 * @see execution §3.5, §3.7; architecture "File format"
 * @module
 */
import { hasCode } from "../errors.ts";
import type { EffectClass, EventData, EventDraft, SessionEvent } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";
import type { ProposedCall } from "./call.ts";
import { newMessageId } from "./ids.ts";
import { failureOf, INVALID_TOOL_OUTPUT, isOver, messageOf, OUTPUT_SIZE_MAX, type ToolOutcome } from "./outcome.ts";
import { isUnsettled } from "./unsettled.ts";

/** A call whose intent is in the log. */
export interface RecordedCall extends ProposedCall {
  readonly rootCallId: string;
  /** The call whose body made this one; `null` when the model did. */
  readonly parentCallId: string | null;
  readonly providerCallId: string;
  /** How many bodies are around this one. */
  readonly depth: number;
  /** seq of its `tool/call` or `tool/ptc-dispatch-start`; −1 when it was ended before it could be recorded, or has no log. */
  readonly callSeq: number;
}

/**
 * Records a call of the model.
 *
 * @throws whatever refused the append
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { recordCall } from "./record.ts";
 *
 * async function record(session: Session, signal: AbortSignal): Promise<number> {
 *   const call = await recordCall(session, { turn: 1, step: 1, callId: "c1", name: "pay", arguments: "{}" }, signal);
 *   return call.callSeq;
 * }
 * ```
 */
export async function recordCall(session: Session, proposed: ProposedCall, signal: AbortSignal): Promise<RecordedCall> {
  const { turn, step, callId, name, providerCallId = callId } = proposed;
  const data = { turn, step, callId, name, arguments: proposed.arguments };
  const { seq } = await appended(session, { type: "tool/call", data }, signal);
  return { ...data, rootCallId: callId, parentCallId: null, providerCallId, depth: 0, callSeq: seq };
}

/**
 * Records a nested call.
 *
 * @param call with a `callSeq` of −1
 * @throws whatever refused the append
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { recordNestedCall, type RecordedCall } from "./record.ts";
 *
 * async function record(session: Session, call: RecordedCall, signal: AbortSignal): Promise<number> {
 *   return (await recordNestedCall(session, call, signal)).callSeq;
 * }
 * ```
 */
export async function recordNestedCall(
  session: Session,
  call: RecordedCall,
  signal: AbortSignal,
): Promise<RecordedCall> {
  const { seq } = await appended(session, { type: "tool/ptc-dispatch-start", data: nestedData(call) }, signal);
  return { ...call, callSeq: seq };
}

/**
 * What `tool/ptc-dispatch-start` and `tool/ptc-dispatch` both say.
 *
 * @example
 * ```ts
 * import { nestedData, type RecordedCall } from "./record.ts";
 *
 * function idOf(call: RecordedCall): string {
 *   return nestedData(call).subCallId;
 * }
 * ```
 */
export function nestedData(call: RecordedCall): EventData["tool/ptc-dispatch-start"] {
  const { rootCallId, parentCallId, callId, name } = call;
  return { rootCallId, parentCallId: parentCallId!, subCallId: callId, name, arguments: call.arguments };
}

/** What is drawn when a call is dispatched. */
export interface Dispatch {
  readonly effectKey: string;
  readonly effect: EffectClass;
  /** seq of the original `tool/call`. */
  readonly retryOf?: number;
}

/**
 * Appends the marker.
 *
 * @returns its seq: what the barrier must cover
 * @throws whatever refused the append
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { recordMarker, type RecordedCall } from "./record.ts";
 *
 * async function mark(session: Session, call: RecordedCall, signal: AbortSignal): Promise<number> {
 *   return await recordMarker(session, call, { effectKey: "0".repeat(32), effect: "opaque" }, signal);
 * }
 * ```
 */
export async function recordMarker(
  session: Session,
  { turn, step, callId, callSeq }: RecordedCall,
  dispatch: Dispatch,
  signal: AbortSignal,
): Promise<number> {
  const data = { turn, step, callId, callSeq, ...dispatch };
  return (await appended(session, { type: "effect/dispatched", data, ignorable: true }, signal)).seq;
}

/**
 * Answers a call of the model. A result that the log cannot take in this shape or size is replaced by an error that says so.
 *
 * @returns the outcome that was logged
 * @throws whatever refused the append: the call is unanswered
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { abortedBeforeDispatch } from "./outcome.ts";
 * import { recordCall, recordResult } from "./record.ts";
 *
 * async function refuse(session: Session, signal: AbortSignal): Promise<void> {
 *   const call = await recordCall(session, { turn: 1, step: 1, callId: "c1", name: "pay", arguments: "{}" }, signal);
 *   await recordResult(session, call, abortedBeforeDispatch(), signal);
 * }
 * ```
 */
export async function recordResult(
  session: Session,
  call: RecordedCall,
  outcome: ToolOutcome,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  return await recordOutcome(session, outcome, signal, (outcome) => resultDraft(session, call, outcome));
}

/**
 * Logs an outcome in an event of this shape, as {@linkcode recordResult} says.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { abortedBeforeDispatch } from "./outcome.ts";
 * import { recordOutcome } from "./record.ts";
 *
 * async function note(session: Session, signal: AbortSignal): Promise<void> {
 *   await recordOutcome(session, abortedBeforeDispatch(), signal, ({ isError }) => ({ type: "x", data: { isError }, ignorable: true }));
 * }
 * ```
 */
export async function recordOutcome(
  session: Session,
  outcome: ToolOutcome,
  signal: AbortSignal,
  draftOf: (outcome: ToolOutcome) => EventDraft,
): Promise<ToolOutcome> {
  try {
    if (isOver(outcome, OUTPUT_SIZE_MAX)) throw new ResultTooLarge();
    await appended(session, draftOf(outcome), signal);
    return outcome;
  } catch (error) {
    if (!hasCode(error, "TOO_LARGE") && !(error instanceof TypeError)) throw error;
    const said = error instanceof ResultTooLarge
      ? error.message
      : `the call has ended; its result cannot be logged: ${messageOf(error)}`;
    // An outcome that is open stays open.
    const { name, code } = isUnsettled(outcome) ? outcome.error! : { name: "ToolError", code: INVALID_TOOL_OUTPUT };
    const replaced = failureOf(code, name, said);
    await appended(session, draftOf(replaced), signal);
    return replaced;
  }
}

/** Nobody kept it elsewhere. */
class ResultTooLarge extends TypeError {
  constructor() {
    super(`the tool ran; its result is over ${OUTPUT_SIZE_MAX} characters`);
  }
}

/** Appends. When what waits in the buffer is what keeps it out, that is flushed once. */
async function appended(session: Session, draft: EventDraft, signal: AbortSignal): Promise<SessionEvent> {
  try {
    return session.append(draft);
  } catch (error) {
    if (!hasCode(error, "BUFFER_FULL")) throw error;
    // If it cannot be flushed, the append says why once more.
    await session.flush({ signal }).catch(() => {});
    return session.append(draft);
  }
}

/**
 * The `tool/result` of one call, as it is appended.
 *
 * @param session draws the id of its message
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { abortedBeforeDispatch } from "./outcome.ts";
 * import { resultDraft } from "./record.ts";
 *
 * function answer(session: Session, callSeq: number): void {
 *   session.append(resultDraft(session, { turn: 1, step: 1, callId: "c1", callSeq }, abortedBeforeDispatch()));
 * }
 * ```
 */
export function resultDraft(
  session: Session,
  { turn, step, callId, callSeq }: Pick<RecordedCall, "turn" | "step" | "callId" | "callSeq">,
  outcome: ToolOutcome,
): EventDraft {
  const { isError, content, error, meta } = outcome;
  const data: EventData["tool/result"] = {
    turn,
    step,
    message: {
      source: { kind: "tool", callId },
      content: [{ type: "tool-result", toolCallId: callId, content, isError }],
      role: "user",
      id: newMessageId(session.random),
    },
    ...(error === undefined ? {} : { error }),
    ...(meta === undefined ? {} : { meta }),
  };
  return { type: "tool/result", data, sourceEventSeqs: [callSeq], surfaceOp: "append" };
}
