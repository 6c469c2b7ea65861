/**
 * The judge of a run in a browser. It knows the bytes that lay on the disk when the worker or the browser was dead, what the page
 * had been told until then, what the remote saw, and the bytes after the repair. It uses no code of the library.
 *
 * @module
 */
import { check, checkOneRepair, classOfCloser, show, split, type TrueClass } from "../../kill/judge.ts";
import { eventsOf, type RawRow, readRaw } from "../../kill/raw_log.ts";
import type { Arrival } from "./remote.ts";

/** An event as the page heard of it. */
export interface ToldEvent {
  readonly type: string;
  readonly seq: number;
  readonly time: number;
  readonly data: unknown;
}

/** What the page was told until the kill. */
export interface Told {
  /** The highest seq it was told to be durable; −1 for none. */
  readonly durableSeq: number;
  /** Every event it was told, durable or not. */
  readonly events: readonly ToldEvent[];
}

/** Everything known about one kill. */
export interface BrowserCase {
  /** The log as it lay on the disk; `null` when there was none. */
  readonly killed: Uint8Array | null;
  /** The log after the next start; `null` when there was none. */
  readonly repaired: Uint8Array | null;
  readonly told: Told;
  /** Those of this run. */
  readonly arrivals: readonly Arrival[];
  /** The classes that the next start reported, by callId. */
  readonly reported: ReadonlyMap<string, string>;
}

/** One call of the run, and what is true about it. */
export interface JudgedCall {
  readonly callId: string;
  readonly class: TrueClass;
}

/** Judges one kill. @returns every call its log proposes @throws {Error} at the first thing that is not as promised, with evidence */
export function judgeRun(run: BrowserCase): JudgedCall[] {
  try {
    return judgeAll(run);
  } catch (error) {
    const lines = [
      ...["told durable:", `  ${run.told.durableSeq}`, "the log on the disk:", ...rowsAsText(run.killed)],
      ...["after the repair:", ...rowsAsText(run.repaired)],
      ...["the remote:", ...run.arrivals.map((arrival) => `  ${show(arrival)}`)],
      ...["reported:", `  ${show([...run.reported])}`],
    ];
    throw new Error(`${error instanceof Error ? error.message : error}\n${lines.join("\n")}`, { cause: error });
  }
}

function judgeAll(run: BrowserCase): JudgedCall[] {
  const { killed, repaired, told, arrivals, reported } = run;
  if (killed === null) {
    check(told.durableSeq < 0, `there is no log, and the page was told that seq ${told.durableSeq} is durable`);
    check(arrivals.length === 0, `there is no log, and the remote was asked: ${show(arrivals)}`);
    return [];
  }
  const { left, closers } = split(killed, repaired);
  checkTold(told, left);
  for (const arrival of arrivals) checkIntent(arrival, left);
  checkOneRepair(left, closers);
  const calls = callsIn(left);
  for (const callId of reported.keys()) {
    check(calls.some((call) => call.callId === callId), `reported is ${callId}, which the log does not propose`);
  }
  return calls.map((call) => judgeCall(call, left, closers, run));
}

/** Nothing the page was told to be durable may be missing, or be another. */
export function checkTold({ durableSeq, events }: Told, left: readonly RawRow[]): void {
  check(durableSeq < left.length, `seq ${durableSeq} was told to be durable, and the log ends with ${left.length - 1}`);
  for (const event of events) {
    if (event.seq > durableSeq) continue;
    const row = left[event.seq]!;
    const isSame = row.type === event.type && row.time === event.time &&
      sameJson(JSON.parse(row.text).data, event.data);
    check(isSame, `seq ${event.seq} was told to be durable as ${show(event)}, and the log holds ${row.text}`);
  }
}

/** No effect without its durable intent, and that already when it arrived. */
export function checkIntent({ effectKey, to, witness }: Arrival, left: readonly RawRow[]): void {
  const marker = left.find(({ type, data }) => type === "effect/dispatched" && data.effectKey === effectKey);
  check(marker !== undefined, `the remote saw key ${effectKey}, which no effect/dispatched of the log holds`);
  const call = left[marker!.data.callSeq!];
  check(
    call?.type === "tool/call" && call.data.callId === marker!.data.callId,
    `key ${effectKey} belongs to no tool/call`,
  );
  check(call!.data.arguments!.includes(`"${to}"`), `key ${effectKey} paid ${to}, and its call is ${call!.text}`);
  check(witness === true, `key ${effectKey} arrived before its marker was on the disk: ${show(witness)}`);
}

interface ProposedCall {
  readonly callId: string;
  readonly argumentsText: string;
}

/** Every call that a durable message of the model proposes. */
export function callsIn(rows: readonly RawRow[]): ProposedCall[] {
  return rows.filter(({ type }) => type === "assistant/message").flatMap(({ data }) => {
    return (data.message?.content ?? []).flatMap(({ type, id, arguments: argumentsText }) => {
      return type === "tool-call" ? { callId: id!, argumentsText: argumentsText ?? "" } : [];
    });
  });
}

function judgeCall(
  { callId, argumentsText }: ProposedCall,
  left: readonly RawRow[],
  closers: readonly RawRow[],
  { arrivals, reported }: BrowserCase,
): JudgedCall {
  const call = left.find(({ type, data }) => type === "tool/call" && data.callId === callId);
  const marker = left.find(({ type, data }) => type === "effect/dispatched" && data.callId === callId);
  const results = [...left, ...closers].filter(({ type, data }) => {
    return type === "tool/result" && data.message?.source.callId === callId;
  });
  check(results.length === 1, `${callId} has ${results.length} results`);
  const result = results[0]!;
  const isClosed = result.seq! >= left.length;
  const truth: TrueClass = !isClosed
    ? "done"
    : marker !== undefined
    ? "outcome_unknown"
    : call !== undefined
    ? "not_dispatched"
    : "not_started";
  check(classOfCloser(result, isClosed) === truth, `${callId} is ${truth}, and its result says ${result.text}`);
  check((reported.get(callId) ?? "done") === truth, `${callId} is ${truth}, and reported was ${reported.get(callId)}`);

  const own = arrivals.filter(({ to }) => argumentsText.includes(`"${to}"`));
  if (truth === "not_started" || truth === "not_dispatched") {
    check(own.length === 0, `${callId} is ${truth}, and the remote was asked: ${show(own)}`);
  }
  if (truth === "done" && marker !== undefined && result.data.error === undefined) {
    check(own.length === 1, `${callId} is done, and the remote was asked ${own.length} times`);
    check(own[0]!.paidAt !== null, `${callId} is done, and the remote did not pay`);
    check(own[0]!.effectKey === marker.data.effectKey, `${callId} was paid with key ${own[0]!.effectKey}`);
  }
  return { callId, class: truth };
}

/** The events of a log that is whole. @throws {Error} when it has a torn tail, or does not count from 0 without a gap */
export function wholeLog(bytes: Uint8Array): RawRow[] {
  const { rows, tornBytes } = readRaw(bytes);
  check(tornBytes === 0, `the log has a torn tail of ${tornBytes} bytes`);
  return eventsOf(rows);
}

function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && sameJson(Reflect.get(left, key), Reflect.get(right, key)));
}

function rowsAsText(log: Uint8Array | null): string[] {
  if (log === null) return ["  none"];
  try {
    const { rows, tornRows, tornBytes } = readRaw(log);
    return [...[...rows, ...tornRows].map(({ text }) => `  ${text.slice(0, 220)}`), `  torn bytes: ${tornBytes}`];
  } catch (error) {
    return [`  ${error}`];
  }
}
