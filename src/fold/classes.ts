/**
 * The crash classes: what the log proves about a call without a result.
 *
 * @see architecture "Crash classes"
 * @module
 */
import type { PendingCall, PendingCalls } from "./pending_calls.ts";

/** Its effect did not happen and was not even begun; its effect did not happen; nobody knows. */
export type CallClass = "not_started" | "not_dispatched" | "outcome_unknown";

/** An open turn, as `verify` and a resume report it. */
export interface OpenTurn {
  /** The number its `turn/start` gave it. */
  readonly turn: number;
  /** The number of the open step; `null` when the log ends between two steps. */
  readonly step: number | null;
  /** The model's calls without a result, in the model's order. `callSeq` is `null` for one that was never recorded as started. */
  readonly calls: readonly {
    readonly callId: string;
    readonly callSeq: number | null;
    readonly name: string;
    readonly class: CallClass;
    /** The open calls its body made, at any depth; absent when there are none. */
    readonly nested?: readonly OpenNestedCall[];
  }[];
}

/** An open call that a body made. Its root's result answers it, too. */
export interface OpenNestedCall {
  /** Its `subCallId`. */
  readonly callId: string;
  /** seq of its `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** The tool that the body called. */
  readonly name: string;
  /** What the log proves about it, judged by its own marker and by the barriers of its root. */
  readonly class: CallClass;
}

/**
 * Classes one call. A doubt is never decided for "did not happen".
 *
 * @example
 * ```ts
 * import { classOf } from "./classes.ts";
 *
 * const recorded = { callSeq: 9, marker: null, strayMarker: false };
 * if (classOf({ ...recorded, barriersOn: true }) !== "not_dispatched") throw new Error("unreachable");
 * if (classOf({ ...recorded, barriersOn: false }) !== "outcome_unknown") throw new Error("unreachable");
 * ```
 */
export function classOf(call: Pick<PendingCall, "callSeq" | "marker" | "barriersOn" | "strayMarker">): CallClass {
  if (call.strayMarker || call.marker !== null) return "outcome_unknown";
  if (call.callSeq === null) return "not_started";
  return call.barriersOn ? "not_dispatched" : "outcome_unknown";
}

/**
 * What is open at the end of a log, each call with its class; `null` when no turn is open.
 *
 * @example
 * ```ts
 * import { openTurn } from "./classes.ts";
 * import { pendingCallsFold } from "./pending_calls.ts";
 *
 * if (openTurn(pendingCallsFold.initial()) !== null) throw new Error("unreachable");
 * ```
 */
export function openTurn(state: PendingCalls): OpenTurn | null {
  if (state.turn === null) return null;
  const calls = state.calls.map((call) => {
    const { callId, callSeq, name } = call;
    const nested = nestedUnder(call, state);
    return { callId, callSeq, name, class: classOf(call), ...(nested.length === 0 ? {} : { nested }) };
  });
  return { turn: state.turn, step: state.step, calls };
}

/** What proves something about a nested call are the barriers of its root. */
function nestedUnder(root: PendingCall, { nested }: PendingCalls): OpenNestedCall[] {
  const { barriersOn, strayMarker } = root;
  return nested.filter(({ rootCallId }) => rootCallId === root.callId).map(({ callId, callSeq, name, marker }) => {
    return { callId, callSeq, name, class: classOf({ callSeq, marker, barriersOn, strayMarker }) };
  });
}
