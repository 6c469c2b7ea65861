/**
 * Closes what a turn left open: every call is answered, in the model's order, whatever went wrong before.
 *
 * @see execution §1.4
 * @module
 */
import { hasCode } from "../errors.ts";
import { TOOL_OUTCOME_UNKNOWN, type TurnEndReason } from "../event/mod.ts";
import type { PendingCall } from "../fold/mod.ts";
import type { Session } from "../session/mod.ts";
import { abortedBeforeDispatch, failureOf } from "../tool/outcome.ts";
import { resultDraft } from "../tool/record.ts";

/** How long a full buffer may take to make room for the events that close a turn, in milliseconds. */
export const MAKE_ROOM_TIMEOUT_MS = 10_000;

/**
 * Ends the open turn. What was never started is recorded and answered with `ABORTED_BEFORE_DISPATCH`; what was marked and has
 * no result (the log refused it) is answered with `TOOL_OUTCOME_UNKNOWN`.
 *
 * What refuses is reported, and everything is tried once more; that goes on where it stopped.
 *
 * @param report told about the first refusal
 * @throws the second refusal; the turn is open still
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { closeTurn } from "./close_turn.ts";
 *
 * async function giveUp(session: Session): Promise<void> {
 *   if (session.folds.brackets.turn === null) return;
 *   await closeTurn(session, { kind: "aborted", reason: { kind: "user" } }, console.error);
 * }
 * ```
 */
export async function closeTurn(
  session: Session,
  reason: TurnEndReason,
  report: (error: unknown) => void,
): Promise<void> {
  try {
    close(session, reason);
  } catch (error) {
    report(error);
    await makeRoom(session, error);
    close(session, reason);
  }
}

/** Neither a flush that fails nor one that hangs decides anything: the next append does. */
async function makeRoom(session: Session, refusal: unknown): Promise<void> {
  if (!hasCode(refusal, "BUFFER_FULL")) return;
  const deadline = new AbortController();
  const stopTimer = session.clock.schedule(MAKE_ROOM_TIMEOUT_MS, () => deadline.abort());
  await session.flush({ signal: deadline.signal }).catch(() => {});
  stopTimer();
}

function close(session: Session, reason: TurnEndReason): void {
  for (const { id } of session.folds.pendingCalls.questions) {
    session.append({ type: "approval/decided", data: { id, outcome: "cancelled" } });
  }
  for (const call of session.folds.pendingCalls.calls) answer(session, call);
  const { turn, step } = session.folds.brackets;
  if (turn === null) return;
  if (step !== null) session.append({ type: "step/end", data: { turn, step } });
  session.append({ type: "turn/end", data: { turn, reason } });
}

function answer(session: Session, call: PendingCall): void {
  const { turn, step, callId, name, marker } = call;
  const callSeq = call.callSeq ?? session.append({
    type: "tool/call",
    data: { turn, step, callId, name, arguments: call.arguments },
  }).seq;
  const unknown =
    "the call was begun and its result could not be logged. Whether it took effect is unknown: check first.";
  const outcome = marker === null
    ? abortedBeforeDispatch()
    : failureOf(TOOL_OUTCOME_UNKNOWN, "ToolOutcomeUnknownError", unknown);
  session.append(resultDraft(session, { turn, step, callId, callSeq }, outcome));
}
