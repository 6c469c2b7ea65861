/**
 * What has to stand between two events when those between them are lost, so that turns, steps and calls stay paired.
 *
 * Behind a gap nothing that is absent proves anything: a call without a result is answered as of unknown outcome.
 *
 * @see session-format §4.3, §9
 * @module
 */
import { isCount, isRecord } from "../../event/checks.ts";
import { isSurfaceType, OUTCOME_UNKNOWN_ERROR, OUTCOME_UNKNOWN_TEXT, type SessionEvent } from "../../event/mod.ts";
import type { PendingCalls, Surface } from "../../fold/mod.ts";

/** An event without its place. */
export type Bridge = Omit<SessionEvent, "seq" | "time" | "data"> & { readonly data: unknown };

/** The types that stand in the step they name, and nowhere else. */
const IN_STEP: ReadonlySet<string> = new Set([
  ...["step/end", "system/message", "assistant/message", "assistant/attempt", "tool/call", "tool/result"],
  ...["effect/dispatched", "call/renamed"],
]);

/**
 * The events to put before `event`, none when it may come next as it is.
 *
 * @param nextSeq the seq of the first of them: the id of an answer is made of its own
 */
export function bridgeTo(
  event: SessionEvent,
  pending: PendingCalls,
  surface: Surface,
  nextSeq: number,
): readonly Bridge[] {
  const bridge: Bridge[] = [];
  let { turn, step } = pending;
  const closeStep = () => {
    for (const { callId, callSeq, step: ofStep } of pending.calls) {
      bridge.push(unknownResult(callId, callSeq, turn!, ofStep, nextSeq + bridge.length));
    }
    if (step !== null) bridge.push({ type: "step/end", data: { turn, step } });
    step = null;
  };
  const closeTurn = () => {
    if (turn === null) return;
    closeStep();
    bridge.push({ type: "turn/end", data: { turn, reason: { kind: "interrupted" } } });
    turn = null;
  };
  const openTurn = (wanted: number) => {
    if (turn === wanted) return;
    closeTurn();
    bridge.push({ type: "turn/start", data: { turn: wanted } });
    turn = wanted;
  };

  const { type, data } = event;
  const named = isRecord(data) ? { turn: data.turn, step: data.step } : { turn: undefined, step: undefined };
  const isInStep = IN_STEP.has(type) && (type !== "tool/result" || event.surfaceOp === "append");
  if (type === "turn/start" || type === "session/end-seed") closeTurn();
  else if (type === "turn/end" && isCount(named.turn)) {
    openTurn(named.turn);
    if (step !== null) closeStep();
  } else if (type === "step/start" && isCount(named.turn)) {
    openTurn(named.turn);
    if (step !== null) closeStep();
  } else if (isInStep && isCount(named.turn) && isCount(named.step)) {
    openTurn(named.turn);
    if (step !== named.step) {
      if (step !== null) closeStep();
      bridge.push({ type: "step/start", data: { turn, step: named.step } });
      step = named.step;
    }
  }
  const isFirst = surface.nodes.length === 0 && isSurfaceType(type) && type !== "system/message";
  return isFirst && event.surfaceOp === "append" ? [...bridge, lostHead(turn ?? 1, step ?? 1)] : bridge;
}

function unknownResult(callId: string, callSeq: number | null, turn: number, step: number, seq: number): Bridge {
  const content = [{ type: "text", text: OUTCOME_UNKNOWN_TEXT }];
  const message = {
    id: `interrupted-tool-result-${callId}-${seq}`,
    role: "user",
    source: { kind: "tool", callId },
    content: [{ type: "tool-result", toolCallId: callId, isError: true, content }],
  };
  const sources = callSeq === null ? {} : { sourceEventSeqs: [callSeq] };
  return {
    ...{ type: "tool/result", data: { turn, step, message, error: OUTCOME_UNKNOWN_ERROR } },
    ...{ surfaceOp: "append", ...sources },
  };
}

/** A surface begins with a system message, and only where one stands can another take its place. */
function lostHead(turn: number, step: number): Bridge {
  const source = { kind: "plugin", plugin: "holdfast" };
  const message = { id: "salvaged-system-head", role: "system", content: [], source };
  return { type: "system/message", data: { turn, step, message }, surfaceOp: "append" };
}
