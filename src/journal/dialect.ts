/**
 * What the lines of one version of the format mean. How frames and lines are found is the same in all of them.
 *
 * @module
 */
import { parseHeader, readRow, RowFault, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import { type CheckedLog, withEvent } from "./checked_log.ts";
import type { Finding } from "./finding.ts";

/** A row that a dialect has read. What it is, only the dialect knows. */
export type ScannedRow = SessionEvent | { readonly firstSeq: number };

/** Which events a row stands for: one, or a run of them. */
export interface RowSpan {
  readonly firstSeq: number;
  readonly count: number;
}

/** One version's way to read lines. */
export interface Dialect<Row extends ScannedRow = ScannedRow> {
  /** Takes a line for the header. Throws what forbids reading. */
  parseHeader(text: string): SessionHeader;
  /** What forbids writing as soon as the header is known; `null` when nothing does. */
  objectionTo(header: SessionHeader): Finding | null;
  /** Reads a line and says what is wrong with it instead of throwing. */
  readRow(text: string, expectedSeq?: number): Row | RowFault;
  spanOf(row: Row): RowSpan;
  isTurnEnd(row: Row): boolean;
  /** The log with one more row, or what is wrong with the row. Changes nothing. */
  accept(log: CheckedLog, row: Row, header: SessionHeader): CheckedLog | string;
  /** The event a row is for who looks on; `null` for a row that nobody but its own version understands. */
  eventOf(row: Row): SessionEvent | null;
  /**
   * Called once per accepted row, in order.
   *
   * @param length how long its line is, in UTF-16 units
   */
  take?(row: Row, length: number): void;
  /** Called between rows. What it returns is awaited before the next one: whoever takes rows need not hold all of a frame. */
  relieve?(): Promise<void> | null;
}

/** Version 3: a line is an event. */
export const CURRENT_DIALECT: Dialect<SessionEvent> = {
  parseHeader,
  objectionTo: () => null,
  readRow,
  spanOf: ({ seq }) => ({ firstSeq: seq, count: 1 }),
  isTurnEnd: ({ type }) => type === "turn/end",
  accept: withEvent,
  eventOf: (event) => event,
};

/** Whether a line could be read. */
export function isRow<Row extends ScannedRow>(row: Row | RowFault): row is Row {
  return !(row instanceof RowFault);
}
