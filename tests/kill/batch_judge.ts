/**
 * The judge of a kill in a richer turn. Like the other judge it knows bytes, trace and bank, and uses no code of the library; it
 * also follows the calls that a tool's body made.
 *
 * @module
 */
import type { Payment } from "../../src/cli/demo/bank.ts";
import {
  checkBodies,
  checkCancel,
  checkIntent,
  checkQuestions,
  checkResultsAtOnce,
  isResult,
  markerOf,
} from "./batch_checks.ts";
import { type BatchPlan, payments as paymentsOf } from "./batch_plan.ts";
import { check, checkOneRepair, checkWindow, classOfCloser, show, split, type TrueClass } from "./judge.ts";
import type { RawRow } from "./raw_log.ts";
import type { TraceLine } from "./stretched_disk.ts";

/** Everything known about one kill. */
export interface BatchCase {
  readonly plan: BatchPlan;
  /** The log as the dead process left it; `null` when there was none. */
  readonly killed: Uint8Array | null;
  /** The log at the end; `null` when there was none. */
  readonly repaired: Uint8Array | null;
  readonly trace: readonly TraceLine[];
  readonly payments: readonly Payment[];
  /** Milliseconds since the epoch. */
  readonly killedAt: number;
  /** The classes the library reported for the model's calls, by callId. */
  readonly reported: ReadonlyMap<string, string>;
  /** The effects it says are unknown, by callSeq; `null` when nothing was resumed. */
  readonly unresolved: readonly number[] | null;
}

/** What the judge knows about one planned call. */
export interface JudgedCall {
  /** The payee, or the team. */
  readonly who: string;
  readonly kind: "pay" | "team" | "member";
  readonly class: TrueClass;
  readonly callId: string | null;
  readonly callSeq: number | null;
}

/** Where in the turn it died; several can be true at once. */
export interface Situations {
  /** Two or more calls of the model were dispatched and had no result. */
  readonly batch: boolean;
  /** A call that a body made was open. */
  readonly nested: boolean;
  readonly question: boolean;
  readonly backoff: boolean;
  readonly hungFlush: boolean;
}

/**
 * Judges one kill.
 *
 * @returns the true class of each planned call: payments of the message, the team, its members
 * @throws {Error} at the first thing that is not as promised
 */
export function judgeBatch(kill: BatchCase): JudgedCall[] {
  const { plan, trace } = kill;
  const everybody = paymentsOf(plan).map(({ payee }) => payee);
  const own = kill.payments.filter(({ to }) => everybody.includes(to!));
  checkCancel(trace, kill.killedAt);
  if (kill.killed === null) {
    check(own.length === 0, `there is no log, and the bank was asked: ${show(own)}`);
    check(trace.every(([what]) => what !== "body"), "there is no log, and a body ran");
    const nothing = { class: "not_proposed", callId: null, callSeq: null } as const;
    return plannedCalls(plan).map((call) => ({ ...call, ...nothing }));
  }
  const { left, closers } = split(kill.killed, kill.repaired);
  for (const payment of own) checkIntent(payment, left, trace);
  checkBodies(left, trace);
  checkResultsAtOnce(plan, trace);
  checkOneRepair(left, closers);
  checkQuestions(left, closers);

  const judged = plannedCalls(plan).map(({ who, kind }) => {
    const found = kind === "member" ? judgeMember(who, left) : judgeCall(who, left, closers, kill);
    checkTruth(who, kind, found, left, kill);
    return { who, kind, class: found.truth, callId: found.callId, callSeq: found.call?.seq ?? null };
  });
  checkTeam(judged, left);
  checkUnresolved(judged, kill);
  return judged;
}

function plannedCalls({ pays, team }: BatchPlan): Pick<JudgedCall, "who" | "kind">[] {
  return [
    ...pays.map(({ payee }) => ({ who: payee, kind: "pay" as const })),
    { who: team.name, kind: "team" },
    ...team.members.map(({ payee }) => ({ who: payee, kind: "member" as const })),
  ];
}

/** What the log says about one call. */
interface Found {
  readonly truth: TrueClass;
  readonly callId: string | null;
  readonly call: RawRow | undefined;
  readonly marker: RawRow | undefined;
}

/** A call of the model: what is true, and that the repair says so. */
function judgeCall(who: string, left: readonly RawRow[], closers: readonly RawRow[], kill: BatchCase): Found {
  const callId = proposedId(who, left);
  if (callId === null) return { truth: "not_proposed", callId, call: undefined, marker: undefined };
  const call = left.find(({ type, data }) => type === "tool/call" && data.callId === callId);
  const marker = markerOf(call, left);
  const results = [...left, ...closers].filter(({ type, data }) => {
    return type === "tool/result" && data.message?.source.callId === callId;
  });
  check(results.length === 1, `${who} has ${results.length} results`);
  const result = results[0]!;
  const isClosed = result.seq! >= left.length;
  const truth = truthOf(call, marker, !isClosed);
  check(classOfCloser(result, isClosed) === truth, `${who} is ${truth}, and its result says ${result.text}`);
  const reported = kill.reported.get(callId) ?? "done";
  check(reported === truth, `${who} is ${truth}, and reported was ${reported}`);
  if (truth === "done") check(result.data.error === undefined, `${who} has the result ${result.text}`);
  return { truth, callId, call, marker };
}

/** A call that the team's body made. The repair closes none of these: they are part of their root. */
function judgeMember(who: string, left: readonly RawRow[]): Found {
  const call = left.find(({ type, data }) => type === "tool/ptc-dispatch-start" && namedIn(data.arguments) === who);
  if (call === undefined) return { truth: "not_proposed", callId: null, call, marker: undefined };
  const callId = call.data.subCallId!;
  const marker = markerOf(call, left);
  const ends = left.filter(({ type, data }) => type === "tool/ptc-dispatch" && data.subCallId === callId);
  check(ends.length <= 1, `${who} ended ${ends.length} times`);
  check(ends.every(({ data }) => data.isError === false), `${who} ended with ${ends[0]?.text}`);
  return { truth: truthOf(call, marker, ends.length === 1), callId, call, marker };
}

function truthOf(call: RawRow | undefined, marker: RawRow | undefined, isDone: boolean): TrueClass {
  if (isDone) return "done";
  if (marker !== undefined) return "outcome_unknown";
  return call === undefined ? "not_started" : "not_dispatched";
}

/** What bank and trace must show of a call in this class. */
function checkTruth(
  who: string,
  kind: JudgedCall["kind"],
  { truth, call, marker }: Found,
  left: readonly RawRow[],
  { trace, payments }: BatchCase,
): void {
  const paid = payments.filter(({ to }) => to === who);
  check(paid.length <= 1, `the bank knows ${paid.length} keys for ${who}: ${show(paid)}`);
  const [payment] = paid;
  const began = trace.find((line) => line[0] === "call" && line[3] === who);
  const callSeq = began?.[2];
  if (truth.startsWith("not_")) {
    check(payment === undefined, `${who} is ${truth}, and the bank was asked: ${show(payment)}`);
    check(!trace.some((line) => line[0] === "body" && line[2] === callSeq), `${who} is ${truth}, and its body ran`);
  }
  if (truth === "done") {
    check(marker !== undefined, `${who} is done without a marker`);
    check(kind === "team" || payment?.paidAt != null, `${who} is done, and the bank did not pay: ${show(payment)}`);
    check(kind === "team" || payment!.key === marker!.data.effectKey, `${who} was paid with key ${payment?.key}`);
  }
  if (call !== undefined) check(call.seq === callSeq, `${who} stands at seq ${call.seq}, and began at ${callSeq}`);
  if (marker !== undefined) check(left[marker.data.callSeq!] === call, `the marker of ${who} names another call`);

  const marked = trace.find((line) => line[0] === "appended" && line[3] === "effect/dispatched" && line[4] === callSeq);
  const ended = trace.find((line) => isResult(line) && line[4] === callSeq);
  const seqs = callSeq === undefined ? [] : [marked?.[2], ended?.[2]];
  checkWindow(who, truth, { marker: seqs[0], result: seqs[1] }, trace);
}

/** Members lie under their team, behind its marker; none is open when it is done. */
function checkTeam(judged: readonly JudgedCall[], left: readonly RawRow[]): void {
  const team = judged.find(({ kind }) => kind === "team")!;
  const members = judged.filter(({ kind, callSeq }) => kind === "member" && callSeq !== null);
  if (members.length === 0) return;
  check(team.callSeq !== null, "members were paid without a team");
  const marker = markerOf(left[team.callSeq!], left);
  for (const { who, callSeq, class: truth } of members) {
    const { rootCallId } = left[callSeq!]!.data;
    check(rootCallId === team.callId, `${who} lies under ${rootCallId}, its team is ${team.callId}`);
    check(marker !== undefined && marker.seq! < callSeq!, `${who} was begun before the marker of its team`);
    check(truth === "done" || team.class === "outcome_unknown", `${who} is ${truth}, and its team ${team.class}`);
  }
}

/** What the library calls unresolved are the unknown effects, nested ones included, and nothing else. */
function checkUnresolved(judged: readonly JudgedCall[], { plan, unresolved }: BatchCase): void {
  if (unresolved === null) return;
  const wanted = judged.filter(({ kind, class: truth }) => {
    return truth === "outcome_unknown" && (kind !== "team" || plan.team.effect !== "none");
  });
  const [found, due] = [unresolved, wanted.map(({ callSeq }) => callSeq!)].map((seqs) =>
    seqs.toSorted((a, b) => a - b)
  );
  check(show(found) === show(due), `unknown are the effects at ${show(due)}, reported were ${show(found)}`);
}

/** Where in the turn the process died, by what it had appended. */
export function situationsOf(trace: readonly TraceLine[]): Situations {
  const count = (type: string) => trace.filter((line) => line[0] === "appended" && line[3] === type).length;
  const calls = trace.filter((line) => line[0] === "appended" && line[3] === "tool/call").map(([, , seq]) => seq);
  const running = calls.filter((callSeq) => {
    const about = trace.filter((line) => line[0] === "appended" && line[4] === callSeq);
    return about.length === 1 && !isResult(about[0]!);
  });
  const isOver = count("turn/end") > 0;
  return {
    batch: running.length >= 2,
    nested: !isOver && count("tool/ptc-dispatch-start") > count("tool/ptc-dispatch"),
    question: count("approval/asked") > count("approval/decided"),
    backoff: !isOver && count("llm/retry") > count("llm/retry-started"),
    hungFlush: trace.some(([what]) => what === "hung"),
  };
}

function proposedId(who: string, left: readonly RawRow[]): string | null {
  for (const { type, data } of left) {
    if (type !== "assistant/message") continue;
    for (const block of data.message?.content ?? []) {
      if (block.type === "tool-call" && namedIn(block.arguments) === who) return block.id ?? null;
    }
  }
  return null;
}

/** The payee or the team in a call's arguments. */
function namedIn(text: string | undefined): string | null {
  const { to, team } = JSON.parse(text ?? "{}");
  return to ?? team ?? null;
}
