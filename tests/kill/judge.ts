/**
 * The judge of a kill. It knows the bytes the dead process left, its trace, what the bank saw, and the bytes after the repair;
 * it uses no code of the library, and it decides what is true about each call by itself.
 *
 * @module
 */
import type { Payment } from "../../src/cli/demo/bank.ts";
import { check, show } from "./check.ts";
import type { Plan } from "./plan.ts";
import { eventsOf, type RawRow, readRaw } from "./raw_log.ts";
import type { TraceLine } from "./stretched_disk.ts";

export { check, show };

/** What can be true about a call after a kill. `not_proposed`: its message was not durable. */
export type TrueClass = "not_proposed" | "not_started" | "not_dispatched" | "outcome_unknown" | "done";

/** Everything known about one kill. */
export interface Case {
  readonly plan: Plan;
  /** The log as the dead process left it; `null` when there was none. */
  readonly killed: Uint8Array | null;
  /** The log at the end; `null` when there was none. */
  readonly repaired: Uint8Array | null;
  readonly trace: readonly TraceLine[];
  readonly payments: readonly Payment[];
  /** The classes the library reported, by callId. */
  readonly reported: ReadonlyMap<string, string>;
}

/** What the judge knows about one of the two calls. */
export interface Judged {
  readonly class: TrueClass;
  readonly callId: string | null;
}

/**
 * Judges one kill. What is found wrong comes with what it was found in, because the same seed may not end the same again.
 *
 * @returns the true class of each planned call, in order
 * @throws {Error} at the first thing that is not as promised
 */
export function judgeWithEvidence(kill: Case): [Judged, Judged] {
  return withEvidence(kill, ownPayments(kill.plan, kill.payments), () => judgeKill(kill));
}

/** Judges; whatever is found wrong comes with what it was found in. */
export function withEvidence<Verdict>(
  { plan, trace, killed, repaired }: Pick<Case, "trace" | "killed" | "repaired"> & { readonly plan: unknown },
  payments: readonly Payment[],
  judge: () => Verdict,
): Verdict {
  try {
    return judge();
  } catch (error) {
    const lines = [
      ...["the plan:", `  ${show(plan)}`, "the trace:", ...trace.map((line) => `  ${show(line)}`)],
      ...["the log of the dead process:", ...rowsAsText(killed), "after the repair:", ...rowsAsText(repaired)],
      ...["the bank:", ...payments.map((payment) => `  ${show(payment)}`)],
    ];
    throw new Error(`${error instanceof Error ? error.message : error}\n${lines.join("\n")}`, { cause: error });
  }
}

function judgeKill(kill: Case): [Judged, Judged] {
  const { plan, payments } = kill;
  const own = ownPayments(plan, payments);
  if (kill.killed === null) {
    check(own.length === 0, `there is no log, and the bank was asked: ${show(own)}`);
    check(kill.trace.every(([what]) => what !== "body"), "there is no log, and a body ran");
    return [{ class: "not_proposed", callId: null }, { class: "not_proposed", callId: null }];
  }
  const { left, closers } = split(kill.killed, kill.repaired);
  for (const payment of own) checkIntent(payment, left, kill.trace);
  checkResultsAtOnce(kill.trace);
  checkOneRepair(left, closers);
  return plan.calls.map(({ payee }) => judgeCall(payee, left, closers, kill)) as [Judged, Judged];
}

function ownPayments({ calls }: Plan, payments: readonly Payment[]): Payment[] {
  return payments.filter(({ to }) => calls.some(({ payee }) => payee === to));
}

function rowsAsText(log: Uint8Array | null): string[] {
  try {
    const { rows, tornRows } = readRaw(log ?? new Uint8Array(0));
    return [...rows, ...tornRows].map(({ text }) => `  ${text.slice(0, 200)}`);
  } catch (error) {
    return [`  ${error}`];
  }
}

/** What the dead process left that can still be read, and what the repair put behind it. Nothing durable may have gone. */
export function split(killed: Uint8Array, repaired: Uint8Array | null): { left: RawRow[]; closers: RawRow[] } {
  const before = readRaw(killed);
  check(repaired !== null, "the log is gone after the repair");
  const after = readRaw(repaired!);
  check(after.tornBytes === 0, `after the repair ${after.tornBytes} torn bytes are left`);
  const left = eventsOf([...before.rows, ...before.tornRows]);
  const all = eventsOf(after.rows);
  left.forEach(({ text }, seq) => check(all[seq]?.text === text, `the repair changed seq ${seq}: ${text}`));
  return { left, closers: all.slice(left.length) };
}

/** No payment without intent: the key is in a durable marker of a recorded call, and both were durable before it arrived. */
function checkIntent({ key, arrivedAt }: Payment, left: readonly RawRow[], trace: readonly TraceLine[]): void {
  const marker = left.find(({ type, data }) => type === "effect/dispatched" && data.effectKey === key);
  check(marker !== undefined, `the bank saw key ${key}, which no durable effect/dispatched holds`);
  const call = left[marker!.data.callSeq!];
  check(call?.type === "tool/call" && call.data.callId === marker!.data.callId, `key ${key} belongs to no tool/call`);
  const durableAt = timeOf("synced", marker!.seq!, trace);
  check(durableAt !== null, `the bank saw key ${key} before its marker was synced`);
  const first = Math.min(...arrivedAt);
  check(first >= durableAt!, `key ${key} arrived at ${first}, its marker was durable only at ${durableAt}`);
}

/** The result of an effect is durable before the next call begins: until then a kill would make it unknown. */
function checkResultsAtOnce(trace: readonly TraceLine[]): void {
  let awaited: number | null = null;
  for (const line of trace) {
    if (line[0] === "appended" && line[3] === "tool/call") {
      check(awaited === null, `the next call began before the result at seq ${awaited} was durable`);
    }
    if (line[0] === "appended" && line[3] === "tool/result") awaited = line[2];
    if (line[0] === "synced" && awaited !== null && line[2] <= awaited && awaited <= line[3]) awaited = null;
  }
}

/** One repair: an open turn gets exactly one end, and nothing else is closed. */
export function checkOneRepair(left: readonly RawRow[], closers: readonly RawRow[]): void {
  const starts = left.filter(({ type }) => type === "turn/start").length;
  const ends = left.filter(({ type }) => type === "turn/end").length;
  const repairs = closers.filter(({ type, data }) => type === "turn/end" && data.reason?.kind === "interrupted").length;
  check(repairs === starts - ends, `${starts} turns began, ${ends} ended, and ${repairs} were repaired`);
}

function judgeCall(payee: string, left: readonly RawRow[], closers: readonly RawRow[], kill: Case): Judged {
  const { trace, payments, reported } = kill;
  const payment = payments.find(({ to }) => to === payee) ?? null;
  const callId = proposedId(payee, left);
  if (callId === null) {
    check(payment === null, `${payee} was never proposed, and the bank was asked: ${show(payment)}`);
    return { class: "not_proposed", callId };
  }
  const call = left.find(({ type, data }) => type === "tool/call" && data.callId === callId);
  const marker = left.find(({ type, data }) => type === "effect/dispatched" && data.callId === callId);
  const results = [...left, ...closers].filter(({ type, data }) => {
    return type === "tool/result" && data.message?.source.callId === callId;
  });
  check(results.length === 1, `${payee} has ${results.length} results`);
  const result = results[0]!;
  const isClosed = result.seq! >= left.length;
  const truth: TrueClass = !isClosed
    ? "done"
    : marker !== undefined
    ? "outcome_unknown"
    : call !== undefined
    ? "not_dispatched"
    : "not_started";

  check(classOfCloser(result, isClosed) === truth, `${payee} is ${truth}, and its result says ${result.text}`);
  check((reported.get(callId) ?? "done") === truth, `${payee} is ${truth}, and reported was ${reported.get(callId)}`);

  if (truth === "not_started" || truth === "not_dispatched") {
    check(payment === null, `${payee} is ${truth}, and the bank was asked: ${show(payment)}`);
    check(!trace.some((line) => line[0] === "body" && line[2] === call?.seq), `${payee} is ${truth}, and its body ran`);
  }
  if (truth === "done") {
    check(result.data.error === undefined, `${payee} has the result ${result.text}`);
    check(payment?.paidAt != null, `${payee} is done, and the bank did not pay: ${show(payment)}`);
    check(payment!.key === marker?.data.effectKey, `${payee} was paid with key ${payment!.key}`);
  }
  checkWindow(payee, truth, flushedSeqs(payee, trace), trace);
  return { class: truth, callId };
}

/** The seqs of a call's marker and of its result, as far as they came. */
export interface FlushedSeqs {
  readonly marker: number | undefined;
  readonly result: number | undefined;
}

/** By the order in which the dead process appended them: its calls ran one after the other. */
function flushedSeqs(payee: string, trace: readonly TraceLine[]): FlushedSeqs {
  const markers = trace.filter((line) => line[0] === "appended" && line[3] === "effect/dispatched");
  const callNumber = Number(payee.endsWith("b"));
  const [, , marker, , callSeq] = (markers[callNumber] ?? []) as Extract<
    TraceLine,
    readonly ["appended", ...unknown[]]
  >;
  const result = trace.find((line) => line[0] === "appended" && line[3] === "tool/result" && line[4] === callSeq);
  return { marker, result: marker === undefined ? undefined : result?.[2] };
}

/**
 * The windows, by the failpoints of the dead process: unknown only between the start of the marker's flush and the end of the
 * result's, and always unknown when all of the one was written and nothing of the other.
 */
export function checkWindow(
  payee: string,
  truth: TrueClass,
  { marker: markerSeq, result: resultSeq }: FlushedSeqs,
  trace: readonly TraceLine[],
): void {
  const hasBegun = (seq: number | undefined) => seq !== undefined && timeOf("write", seq, trace) !== null;
  const isWritten = (seq: number | undefined) => seq !== undefined && timeOf("wrote", seq, trace) !== null;
  const isSynced = (seq: number | undefined) => seq !== undefined && timeOf("synced", seq, trace) !== null;
  if (truth === "outcome_unknown") {
    check(hasBegun(markerSeq), `${payee} is unknown, and the flush of its marker had not begun`);
    check(!isSynced(resultSeq), `${payee} is unknown, and the flush of its result had ended`);
  }
  if (isWritten(markerSeq) && !hasBegun(resultSeq)) {
    check(truth === "outcome_unknown", `${payee} is ${truth}: its marker was written, its result was not begun`);
  }
  if (!hasBegun(markerSeq)) check(truth.startsWith("not_"), `${payee} is ${truth}, and its marker was not flushed`);
  if (isWritten(resultSeq)) check(truth === "done", `${payee} is ${truth}, and its result was written`);
}

/** When a batch with this seq passed a failpoint for the first time; `null` when it did not. */
export function timeOf(
  point: "write" | "wrote" | "sync" | "synced",
  seq: number,
  trace: readonly TraceLine[],
): number | null {
  const line = trace.find((line) => line[0] === point && line[2] <= seq && seq <= Number(line[3]));
  return line === undefined ? null : line[1];
}

function proposedId(payee: string, left: readonly RawRow[]): string | null {
  for (const { type, data } of left) {
    if (type !== "assistant/message") continue;
    for (const block of data.message?.content ?? []) {
      if (block.type === "tool-call" && block.arguments?.includes(`"${payee}"`)) return block.id ?? null;
    }
  }
  return null;
}

/** What a result claims: its code, and whether it cites a call. */
export function classOfCloser({ data: { error }, sourceEventSeqs }: RawRow, isClosed: boolean): TrueClass | null {
  if (!isClosed) return "done";
  if (error?.code === "TOOL_OUTCOME_UNKNOWN" && sourceEventSeqs !== undefined) return "outcome_unknown";
  if (error?.code !== "TOOL_NOT_STARTED") return null;
  return sourceEventSeqs === undefined ? "not_started" : "not_dispatched";
}
