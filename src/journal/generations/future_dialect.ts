/**
 * How the rows of a version that is not there yet are read: as far as they can be understood, and never written.
 *
 * A later version may mean something else by anything. What every version so far has in common is a header that says its version
 * and its id, and rows with `type`, `seq` and `time`, one seq after the other. That much is shown; what is a whole event of our
 * own version beside that is shown to folds too.
 *
 * @see session-format §10.6
 * @module
 */
import { CorruptLogError } from "../../errors.ts";
import { FORMAT_VERSION, RowFault, type SessionEvent, type SessionHeader } from "../../event/mod.ts";
import { isCount, isInt, isNonEmptyString, isRecord, show, wrong } from "../../event/checks.ts";
import { readRecord } from "../../event/row.ts";
import { type CheckedLog, withEventLean } from "../checked_log.ts";
import type { Dialect } from "../dialect.ts";
import { newerVersionText } from "../locate.ts";
import { isFoldable } from "./old_dialect.ts";

/** Whether a version is one that may come. */
export function isFutureVersion(version: number): boolean {
  return Number.isSafeInteger(version) && version > FORMAT_VERSION;
}

/** Reads the rows of a later version. Nothing that it reads may be written to. */
export const FUTURE_DIALECT: Dialect<SessionEvent> = {
  parseHeader,
  objectionTo: ({ version }) => ({
    ...{ code: "UNSUPPORTED_FORMAT", offsetBytes: 0, seq: null },
    ...{ message: newerVersionText(version), version },
  }),
  readRow,
  spanOf: ({ seq }) => ({ firstSeq: seq, count: 1 }),
  isTurnEnd: ({ type }) => type === "turn/end",
  accept: (log, event, header) => understood(log, event, header) ?? { ...log, nextSeq: log.nextSeq + 1 },
  eventOf: (event) => isOurs(event) ? event : null,
};

/** Whether the row is a whole event of our version: all of it is checked, also what stands beside the data. */
function isOurs(event: SessionEvent): boolean {
  return !(readRecord(event) instanceof RowFault) && isFoldable(event);
}

/** The log with the event, as our version understands it; `null` when it does not. */
function understood(log: CheckedLog, event: SessionEvent, header: SessionHeader): CheckedLog | null {
  if (!isOurs(event)) return null;
  const next = withEventLean(log, event, header);
  return typeof next === "string" ? null : next;
}

function parseHeader(line: string): SessionHeader {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch (cause) {
    throw new CorruptLogError("Cannot read header: found text that is not valid JSON", { cause });
  }
  const problem = headerProblem(record);
  if (problem !== null) throw new CorruptLogError(`Cannot read header: found ${problem}`);
  const header = record as SessionHeader;
  const delegationDepth = isCount(header.delegationDepth) ? header.delegationDepth : 0;
  return { ...header, isSeeded: header.isSeeded === true, delegationDepth };
}

function headerProblem(record: unknown): string | null {
  if (!isRecord(record)) return `${show(record)}, which is no session header`;
  if (record.type !== "session") return wrong("type", record.type, '"session"');
  if (typeof record.version !== "number" || !isFutureVersion(record.version)) {
    return wrong("version", record.version, `a version above ${FORMAT_VERSION}`);
  }
  if (!isNonEmptyString(record.id)) return wrong("id", record.id, "a non-empty string");
  return isCount(record.createdAt) ? null : wrong("createdAt", record.createdAt, "a count of milliseconds");
}

function readRow(line: string, expectedSeq?: number): SessionEvent | RowFault {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (error) {
    return new RowFault("issue", "text that is not valid JSON", false, undefined, undefined, error);
  }
  if (!isRecord(row)) return strange(`${show(row)}, expected an event`);
  const { type, seq, time } = row;
  if (typeof type !== "string") return strange(wrong("type", type, "a string"));
  if (!isCount(seq)) return strange(wrong("seq", seq, "a count"));
  if (expectedSeq !== undefined && seq !== expectedSeq) return strange(`seq ${seq}, expected ${expectedSeq}`);
  if (!isInt(time)) return strange(wrong("time", time, "an integer"));
  return row as unknown as SessionEvent;
}

/** Nobody here can say whether such a row is damage. */
function strange(found: string): RowFault {
  return new RowFault("unsupported", `${found}: this build does not understand the rows of that version`, false);
}
