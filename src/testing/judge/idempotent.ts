/**
 * `repair-idempotent`: whoever recovers an image, and however often a recovery dies on its way, the log says the same in the end.
 *
 * @module
 */
import { type Case, isSameEvent } from "./case.ts";
import { classOf, type Evidence, isFinal, walkEvents } from "./evidence.ts";
import { jsonEquals } from "./json.ts";
import { bytesEqual, type LogReading } from "./log.ts";
import { isNotice } from "./repair.ts";
import { isRecord, type Row, show } from "./rows.ts";
import type { AnotherRecovery } from "./trace.ts";
import { lieOf } from "./verdicts.ts";

/** Compares every other recovery of the image with the first. */
export function checkIdempotent(found: Case): void {
  for (const another of found.trace.recoveredAgain ?? []) compare(found, another);
}

function compare(found: Case, another: AnotherRecovery): void {
  const { trace, image, recovered, after, find } = found;
  const { files, how, kind } = another;
  if (files === null) {
    if (recovered !== null) find("repair-idempotent", `${how}: the opening was refused, and it was not the first time`);
    return;
  }
  const reading = found.reader.read(files, trace.log, trace.compression);
  if (recovered === null) {
    const isRefused = typeof trace.liveness !== "string";
    if (isRefused) find("repair-idempotent", `${how}: the session could be opened, and the first time it was refused`);
    return;
  }
  if (kind === "reopened") compareReopened(found, how, recovered, after!, reading);
  else compareCrashed(found, another, image, recovered, reading);
}

/** Opening again adds nothing but a lookup's new answer about what is still unknown. */
function compareReopened(found: Case, how: string, first: LogReading, after: Evidence, second: LogReading): void {
  const { find } = found;
  if (bytesEqual(first.bytes, second.bytes)) return;
  const changed = first.rows.findIndex((row, seq) =>
    second.rows[seq] === undefined || !isSameEvent(second.rows[seq]!, row.value)
  );
  if (changed >= 0) {
    find(
      "repair-idempotent",
      `${how}: seq ${changed} was ${show(first.rows[changed]!.value)}, and now it is ${showRow(second.rows[changed])}`,
    );
    return;
  }
  const isAsked = after.calls.some((call) =>
    call.marker !== null && classOf(call).class === "outcome_unknown" &&
    !call.verdicts.some(({ data }) => isFinal(data.verdict))
  );
  const added = second.rows.slice(first.rows.length);
  for (const { type, seq, data } of added) {
    if (type !== "effect/reconciled") continue;
    const lie = data.by === "lookup"
      ? lieOf(found, data.effectKey ?? "", data.verdict, undefined)
      : "nobody but lookups was asked";
    if (lie !== null) find("no-false-verdict", `${how}: seq ${seq} says ${data.verdict} by ${data.by}, and ${lie}`);
  }
  const more = added.filter((row) => !isAsked || !isOfLookup(row));
  const hasAsked = isAsked && more.length < added.length;
  if (hasAsked && more.every(({ type }) => type === "session/end-seed" || type === "checkpoint/policy")) return;
  const what = more.length === 0 ? `${second.bytes.length - first.bytes.length} bytes` : more.map(showRow).join(", ");
  find("repair-idempotent", `${how}: opening a recovered log added ${what}`);
}

function isOfLookup(row: Row): boolean {
  return row.type === "effect/reconciled" || isNotice(row);
}

/**
 * After a crash inside of the recovery the next one says the same, wherever a lookup did not answer otherwise.
 *
 * One thing is excused. A medium that defers names can forget the copy of a torn end after the end itself was cut. What only that
 * end held, and nobody was told is durable, is then gone, and the next recovery starts from what is before it.
 */
function compareCrashed(
  found: Case,
  another: AnotherRecovery,
  image: LogReading,
  first: LogReading,
  second: LogReading,
): void {
  const { find, acknowledgedThroughSeq } = found;
  const { how } = another;
  const changed = image.rows.findIndex((row, seq) =>
    second.rows[seq] === undefined || !isSameEvent(second.rows[seq]!, row.value)
  );
  const isExcused = changed >= image.wholeRows && changed > acknowledgedThroughSeq && isCopyForgotten(found, another);
  if (changed >= 0 && !isExcused) {
    const now = showRow(second.rows[changed]);
    const { type } = image.rows[changed]!;
    find("repair-idempotent", `${how}: seq ${changed} (${type}) could be read after the crash, and now it is ${now}`);
    return;
  }
  if (second.state !== first.state) {
    find("repair-idempotent", `${how}: the log is ${second.state}, and it was ${first.state} without the crash`);
    return;
  }
  if (isExcused) return;
  const settled = settledCalls(first.rows).union(settledCalls(second.rows));
  const left = saidBy(first, image.rows.length, settled);
  const right = saidBy(second, image.rows.length, settled);
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    if (jsonEquals(left[index]?.said, right[index]?.said)) continue;
    find(
      "repair-idempotent",
      `${how}: the recovery added ${showRow(right[index]?.row)}, and without the crash ${showRow(left[index]?.row)}`,
    );
    return;
  }
}

/** Whether the crash inside of the recovery took a copy of the torn end. Only in a browser can nobody make a name durable. */
function isCopyForgotten({ trace, image }: Case, { lostNames = [] }: AnotherRecovery): boolean {
  const prefix = `${trace.log}.torn-${image.wholeBytes}-`;
  return trace.medium === "opfs" && lostNames.some((name) => name.startsWith(prefix));
}

function settledCalls(rows: readonly Row[]): Set<string> {
  return new Set(walkEvents(rows).calls.filter(({ verdicts }) => verdicts.length > 0).map(({ callId }) => callId));
}

interface Said {
  readonly row: Row;
  readonly said: unknown;
}

/** What a recovery added, without what may differ: seqs, the time of a new lifecycle, and what follows from a lookup's answer. */
function saidBy({ rows }: LogReading, from: number, settled: ReadonlySet<string>): Said[] {
  return rows.slice(from).filter((row) => !isOfLookup(row)).map((row) => {
    const callId = row.data.message?.source?.callId;
    if (row.type === "tool/result" && callId !== undefined && settled.has(callId)) {
      return { row, said: [row.type, callId] };
    }
    const isLifecycle = row.type === "session/end-seed" || row.type === "checkpoint/policy";
    const time = isLifecycle || settled.size > 0 ? null : row.time;
    return { row, said: [row.type, time, withoutSeqInId(row.value, row.seq), row.sourceEventSeqs ?? null] };
  });
}

function withoutSeqInId(value: unknown, seq: number): unknown {
  if (!isRecord(value) || !isRecord(value.data)) return null;
  const { message } = value.data;
  if (!isRecord(message) || typeof message.id !== "string") return value.data;
  return { ...value.data, message: { ...message, id: message.id.replace(new RegExp(`-${seq}$`), "") } };
}

function showRow(row: Row | undefined): string {
  if (row === undefined) return "nothing";
  const { callId } = row.data.message?.source ?? row.data;
  const about = [callId && `of call "${callId}"`, row.data.error?.code].filter(Boolean).join(", ");
  return `${about === "" ? "" : `(${about}) `}${show(row.value)}`;
}
