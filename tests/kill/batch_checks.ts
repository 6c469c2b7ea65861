/**
 * What must hold in a richer turn whatever the classes of its calls are: intent before payment, barriers before bodies, results
 * at once, a cancel that ends the turn, questions that are answered.
 *
 * @module
 */
import type { Payment } from "../../src/cli/demo/bank.ts";
import { type BatchPlan, POOL } from "./batch_plan.ts";
import { check, timeOf } from "./judge.ts";
import type { RawRow } from "./raw_log.ts";
import type { TraceLine } from "./stretched_disk.ts";

/** After a cancel with a hanging flush, the turn is over within this. */
const CANCEL_MS_MAX = 1_000;

/** No payment without intent: call and marker, and for a member those of its team, were durable before it arrived. */
export function checkIntent({ key, arrivedAt }: Payment, left: readonly RawRow[], trace: readonly TraceLine[]): void {
  const marker = left.find(({ type, data }) => type === "effect/dispatched" && data.effectKey === key);
  check(marker !== undefined, `the bank saw key ${key}, which no durable effect/dispatched holds`);
  const call = left[marker!.data.callSeq!];
  const isCall = call?.type === "tool/call" || call?.type === "tool/ptc-dispatch-start";
  check(isCall && marker === markerOf(call, left), `key ${key} belongs to no recorded call`);
  const durable = [call!, marker!];
  if (call!.type === "tool/ptc-dispatch-start") {
    const root = left.find(({ type, data }) => type === "tool/call" && data.callId === call!.data.rootCallId);
    const rootMarker = markerOf(root, left);
    check(rootMarker !== undefined, `key ${key} was sent by a body that had no durable marker`);
    durable.push(root!, rootMarker!);
  }
  const first = Math.min(...arrivedAt);
  for (const { seq, type } of durable) {
    const durableAt = timeOf("synced", seq!, trace);
    check(durableAt !== null, `the bank saw key ${key} before ${type} was synced`);
    check(first >= durableAt!, `key ${key} arrived at ${first}, its ${type} was durable only at ${durableAt}`);
  }
}

/** No body without a barrier, and never more of the model's at once than the pool has places. */
export function checkBodies(left: readonly RawRow[], trace: readonly TraceLine[]): void {
  const running = new Set<number>();
  for (const [what, time, callSeq, key] of trace) {
    if (what === "left") running.delete(callSeq);
    if (what !== "body") continue;
    const marker = markerOf(left[callSeq], left);
    check(marker?.data.effectKey === key, `the body of the call at seq ${callSeq} ran without its marker`);
    const durableAt = timeOf("synced", marker!.seq!, trace);
    check(
      durableAt !== null && durableAt <= time,
      `the body of the call at seq ${callSeq} did not wait for its marker`,
    );
    if (left[callSeq]!.type !== "tool/call") continue;
    running.add(callSeq);
    check(running.size <= POOL, `${running.size} bodies ran at once`);
  }
}

/**
 * The result of an effect is durable before what waits for it begins: a call that runs alone, the next member of a team that is
 * paid one by one, the end of the step. Whoever is cancelled does not wait.
 */
export function checkResultsAtOnce({ team }: BatchPlan, trace: readonly TraceLine[]): void {
  const names = new Map<number, string>();
  /** Each result that is not durable, with whether it is a member's. */
  const awaited = new Map<number, boolean>();
  for (const line of trace) {
    const [what, , seq, last, callSeq] = line;
    if (what === "cancel") return;
    if (what === "call") names.set(seq, last);
    if (what === "synced") {
      for (const result of awaited.keys()) if (seq <= result && result <= last) awaited.delete(result);
    }
    if (what !== "appended") continue;
    const owed = [...awaited].filter(([, isMember]) => last !== "tool/ptc-dispatch-start" || isMember);
    const isAlone = last === "tool/call" && names.get(seq) === team.name && !team.isParallel;
    const isNext = last === "tool/ptc-dispatch-start" && !team.isTogether;
    if (isAlone || isNext || last === "step/end") {
      check(owed.length === 0, `${last} at seq ${seq} came before the result at seq ${owed[0]?.[0]} was durable`);
    }
    const isEffect = names.get(callSeq ?? -1) !== team.name || team.effect !== "none";
    if (isResult(line) && isEffect) awaited.set(seq, last === "tool/ptc-dispatch");
  }
}

/** A cancel ends the turn, whether or not a flush comes back. */
export function checkCancel(trace: readonly TraceLine[], killedAt: number): void {
  const cancelled = trace.find(([what]) => what === "cancel");
  if (cancelled === undefined) return;
  const over = trace.find(([what]) => what === "over");
  if (over === undefined) {
    const waitedMs = killedAt - cancelled[1];
    check(waitedMs <= CANCEL_MS_MAX, `the turn was cancelled, and was not over after ${waitedMs} ms`);
  } else {
    check(over[3] === "aborted", `the cancelled turn ended ${over[3]}`);
  }
}

/** Each question left open is answered once by the repair, directly before its call's closer; a member's before any closer. */
export function checkQuestions(left: readonly RawRow[], closers: readonly RawRow[]): void {
  const decided = (rows: readonly RawRow[], id: string | undefined) =>
    rows.filter(({ type, data }) => type === "approval/decided" && data.id === id);
  for (const { type, data: { id, callId } } of left) {
    if (type !== "approval/asked") continue;
    const isOpen = decided(left, id).length === 0;
    const answers = decided(closers, id);
    check(answers.length === Number(isOpen), `question ${id} was answered ${answers.length} times by the repair`);
    if (!isOpen) continue;
    check(answers[0]!.data.outcome === "cancelled", `question ${id} was answered ${answers[0]!.text}`);
    const behind = closers[closers.indexOf(answers[0]!) + 1];
    const isNested = left.some(({ type, data }) => type === "tool/ptc-dispatch-start" && data.subCallId === callId);
    const isFirst = !closers.some(({ type, seq }) => type === "tool/result" && seq! < answers[0]!.seq!);
    const isPlaced = isNested ? isFirst : behind?.data.message?.source.callId === callId;
    check(isPlaced, `question ${id} about ${callId} was answered before ${behind?.text}`);
  }
}

/** The marker of a recorded call: same call, same place, one only. */
export function markerOf(call: RawRow | undefined, left: readonly RawRow[]): RawRow | undefined {
  if (call === undefined) return undefined;
  const markers = left.filter(({ type, data }) => type === "effect/dispatched" && data.callSeq === call.seq);
  check(markers.length <= 1, `the call at seq ${call.seq} has ${markers.length} markers`);
  const [marker] = markers;
  const id = call.data.callId ?? call.data.subCallId;
  check(marker === undefined || marker.data.callId === id, `the marker ${marker?.text} is not about ${call.text}`);
  return marker;
}

/** Whether a result was appended, of a call of the model or of one that a body made. */
export function isResult(line: TraceLine): boolean {
  return line[0] === "appended" && (line[3] === "tool/result" || line[3] === "tool/ptc-dispatch");
}
