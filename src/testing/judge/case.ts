/**
 * One trace with everything read that the checkers look at, and the place where they put what they find.
 *
 * @module
 */
import { type CallEvidence, type Evidence, walkEvents } from "./evidence.ts";
import { jsonEquals } from "./json.ts";
import type { LogReader, LogReading } from "./log.ts";
import type { Row } from "./rows.ts";
import type { CheckerName, LabTrace, LedgerEntry, Violation } from "./trace.ts";

/** One trace, read. */
export interface Case {
  readonly trace: LabTrace;
  readonly reader: LogReader;
  /** The log right after the crash. */
  readonly image: LogReading;
  readonly before: Evidence;
  /** The log after the recovery; `null` when it was refused, or nobody kept it. */
  readonly recovered: LogReading | null;
  readonly after: Evidence | null;
  /** What the last process handed over, with what it had found: event k at place k. */
  readonly history: readonly unknown[];
  /** Says whether the recovered log begins with all events of the image. */
  readonly keepsImage: boolean;
  /** What the repair put behind the image's events. */
  readonly added: readonly Row[];
  /** The highest seq that must be there; −1 when the medium may have lost the log. */
  readonly acknowledgedThroughSeq: number;
  /** Effects that processes asked for which are dead now. */
  readonly asked: readonly LedgerEntry[];
  /** Puts down one finding. */
  find(checker: CheckerName, message: string): void;
}

/**
 * Reads a trace.
 *
 * @throws {RangeError} when the batches of the trace leave a gap, so that no log could come of them
 */
export function readCase(trace: LabTrace, reader: LogReader, findings: Violation[]): Case {
  const image = reader.read(trace.image, trace.log, trace.compression);
  const isLawfullyLost = trace.isNameDurable === false && !trace.image.has(trace.log);
  const isRefused = typeof trace.liveness !== "string";
  const recovered = trace.recovered === undefined || isRefused
    ? null
    : reader.read(trace.recovered, trace.log, trace.compression);
  const keepsImage = recovered !== null && image.rows.every((row, seq) => {
    const now = recovered.rows[seq];
    return now === row || (now !== undefined && isSameEvent(now, row.value));
  });
  return {
    ...{ trace, reader, image, recovered, keepsImage, history: historyOf(trace) },
    before: walkEvents(image.rows),
    after: recovered === null ? null : walkEvents(recovered.rows),
    added: recovered === null || !keepsImage ? [] : recovered.rows.slice(image.rows.length),
    asked: isLawfullyLost ? [] : trace.effects.filter(({ incarnation }) => incarnation <= trace.incarnation),
    acknowledgedThroughSeq: isLawfullyLost ? -1 : trace.acknowledgedThroughSeq,
    find: (checker, message) => void findings.push({ checker, message }),
  };
}

/** A later batch that begins where there are events already replaces them: they were lost with the process before. */
function historyOf({ appended, acknowledgedThroughSeq }: LabTrace): unknown[] {
  const history: unknown[] = [];
  for (const { seqFrom, rows, incarnation } of appended) {
    if (seqFrom > history.length) {
      throw new RangeError(
        `Cannot judge a trace: process ${incarnation} appended from seq ${seqFrom}, and ${history.length} is next`,
      );
    }
    history.length = seqFrom;
    for (const row of rows) history.push(row);
  }
  if (acknowledgedThroughSeq >= history.length) {
    throw new RangeError(
      `Cannot judge a trace: seq ${acknowledgedThroughSeq} was acknowledged, and ${history.length} events were appended`,
    );
  }
  return history;
}

/** The row that an appended event was last found equal to: events and rows come back in many traces. */
const equalRows = new WeakMap<object, unknown>();

/** Says whether a row holds an appended event. */
export function isSameEvent(row: Row, event: unknown): boolean {
  const known = typeof event === "object" && event !== null;
  if (known && equalRows.get(event) === row.value) return true;
  const isSame = jsonEquals(row.value, event);
  if (isSame && known) equalRows.set(event, row.value);
  return isSame;
}

/** The call a report or a ledger entry is about: by the seq of its `tool/call`, else the last one with the id. */
export function callOf({ calls }: Evidence, callId: string, callSeq?: number): CallEvidence | null {
  if (callSeq !== undefined) {
    const bySeq = calls.find((call) => call.call?.seq === callSeq && call.callId === callId);
    if (bySeq !== undefined) return bySeq;
  }
  return calls.findLast((call) => call.callId === callId) ?? null;
}

/** A ledger entry in a message for a person. */
export function showEffect({ effectKey, tool, callId, incarnation, acceptedAtStep }: LedgerEntry): string {
  return `step ${acceptedAtStep}: ${tool} of call "${callId}", process ${incarnation}, key ${effectKey}`;
}
