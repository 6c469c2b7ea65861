/**
 * Why a call has the class it has: which events prove it, and which one is missing.
 *
 * @see architecture "Crash classes"
 * @module
 */
import { type CallClass, classOf, type LogFolds, type PendingCall, type UnresolvedEffect } from "../fold/mod.ts";

/** One event that proves something about a call. */
export interface Proof {
  /** seq of the event. */
  readonly seq: number;
  /** What it proves, in words for a person. */
  readonly says: string;
}

/** What the log proves about a call that has no result, or one that leaves its effect open. */
export interface CallEvidence {
  /** The model's id, or the `subCallId` of a nested call. */
  readonly callId: string;
  /** seq of its `tool/call`; `null` when it was never recorded as started. */
  readonly callSeq: number | null;
  /** The tool that was called. */
  readonly name: string;
  /** The model's raw text. */
  readonly arguments: string;
  /** `outcome_unknown` for every effect that is not settled. */
  readonly class: CallClass;
  /** Why, in one sentence. */
  readonly reason: string;
  /** The events it follows from, in order. */
  readonly proofs: readonly Proof[];
  /** Whether a person or a lookup can settle it now: its call is answered or its turn is over. */
  readonly isSettleable: boolean;
}

/**
 * The evidence about every call of the open turn without a result, and about every effect that is not settled.
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { callEvidence } from "./evidence.ts";
 *
 * if (callEvidence(logFold.initial()).length !== 0) throw new Error("unreachable");
 * ```
 */
export function callEvidence(folds: Pick<LogFolds, "pendingCalls" | "unresolved">): CallEvidence[] {
  const { calls } = folds.pendingCalls;
  const open = new Set(calls.map(({ callSeq }) => callSeq));
  const closed = folds.unresolved.effects.filter(({ callSeq }) => !open.has(callSeq));
  return [...closed.map(ofEffect), ...calls.map((call) => ofCall(call, folds))];
}

function ofCall(call: PendingCall, { unresolved }: Pick<LogFolds, "unresolved">): CallEvidence {
  const { callId, callSeq, name, marker, messageSeq } = call;
  const effect = unresolved.effects.find((each) => each.callSeq === callSeq);
  const proofs: Proof[] = [{ seq: messageSeq, says: "the model proposed it" }];
  if (callSeq !== null) proofs.push({ seq: callSeq, says: RECORDED });
  if (marker !== null) proofs.push({ seq: marker.seq, says: dispatchedAs(marker) });
  if (effect?.askedSeq !== undefined) proofs.push({ seq: effect.askedSeq, says: ASKED });
  const found = { callId, callSeq, name, arguments: call.arguments, class: classOf(call), proofs };
  return { ...found, reason: reasonFor(call), isSettleable: false };
}

function reasonFor(call: PendingCall): string {
  if (call.verdict?.verdict === "happened") return "it was looked up: it happened";
  if (call.verdict?.verdict === "absent") return "it was looked up: it did not happen and never will";
  switch (classOf(call)) {
    case "not_started":
      return call.barriersOn
        ? "nothing ran: a call is recorded before anything of it runs, and no tool/call follows"
        : "it was never recorded as started";
    case "not_dispatched":
      return "nothing ran: the marker is durable before a body begins, and no effect/dispatched follows";
    case "outcome_unknown":
      if (call.marker !== null) return "it may have run: it was dispatched, and no tool/result follows";
      return call.strayMarker
        ? "it may have run: a marker of this lifecycle fits no recorded call, and may be its"
        : "it may have run: it was recorded where barriers were not kept, and no tool/result follows";
  }
}

function ofEffect(effect: UnresolvedEffect): CallEvidence {
  const { callId, callSeq, name, effectKey, markerSeq, resultSeq, askedSeq } = effect;
  const proofs: Proof[] = [{ seq: callSeq, says: RECORDED }];
  if (markerSeq !== undefined) {
    proofs.push({ seq: markerSeq, says: dispatchedAs({ ...effect, effectKey: effectKey ?? "" }) });
  }
  if (resultSeq !== undefined) proofs.push({ seq: resultSeq, says: "its result does not tell whether it took effect" });
  if (askedSeq !== undefined) proofs.push({ seq: askedSeq, says: ASKED });
  const grant = effect.retryGranted ? "; a person allows one repetition without a question" : "";
  return {
    ...{ callId, callSeq, name, arguments: effect.arguments, class: "outcome_unknown", proofs },
    reason: effect.isClosed
      ? `it may have taken effect, and nothing in the log settles that${grant}`
      : "it may be running, or the process died while it was",
    isSettleable: effect.isClosed,
  };
}

const RECORDED = "it was recorded, before policy and people were asked";
const ASKED = "its target was asked, and could not tell";

function dispatchedAs(
  { effect, effectKey, retryOf }: Pick<UnresolvedEffect, "effect" | "retryOf"> & { readonly effectKey: string },
): string {
  const repeats = retryOf === undefined ? "" : `, repeating the call at seq ${retryOf}`;
  return `it was dispatched (effect ${effect}, key ${effectKey}${repeats}): from here on its body may run`;
}
