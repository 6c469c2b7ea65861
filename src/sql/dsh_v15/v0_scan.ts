/**
 * Reads one log of schema 15, and tells a torn tail from damage.
 *
 * The first row that does not decode, or is not the next one, ends the log. When a whole `turn/end` follows it, something that was
 * finished is broken: damage. Otherwise it is a torn tail.
 *
 * @see session-format §11, torn rule
 * @module
 */
import { RowFault, type SessionEvent } from "../../event/mod.ts";
import { type CheckedLog, emptyLog, withEvent } from "../../fold/checked_log.ts";
import type { TornTail } from "../../store/session_store.ts";
import { damage, type Finding, rowFinding, unknownEvent } from "../finding.ts";
import { READ_ROWS_MAX } from "../limits.ts";
import type { ScanOptions } from "../log_scan.ts";
import type { SqlRow, SqlTransaction } from "../sql_port.ts";
import { asCurrent, isUnknownV0, readV0Row, v0Problem } from "./v0_event.ts";
import type { V0Header } from "./v0_header.ts";

const COLUMNS = "seq, type, time, data, source_event_seqs, surface_op, ignorable";

/** A log being read. */
export class V0Scan {
  readonly #id: string;
  readonly #header: V0Header;
  log: CheckedLog = emptyLog();
  /** How much text the events are, in UTF-16 units. */
  size = 0;
  torn: TornTail | null = null;
  stop: Finding | null = null;
  objection: Finding | null = null;

  constructor(id: string, header: V0Header) {
    this.#id = id;
    this.#header = header;
  }

  /** What is wrong with the log; `null` when nothing is. */
  get finding(): Finding | null {
    return this.stop ?? this.objection;
  }

  /** Reads on to the end, the tear or the damage. */
  async advance(transaction: SqlTransaction, options: ScanOptions = {}): Promise<void> {
    this.torn = null;
    while (this.stop === null) {
      options.signal?.throwIfAborted();
      const rows = await v0Rows(transaction, this.#id, this.log.nextSeq, READ_ROWS_MAX);
      if (rows.length === 0) return;
      for (const row of rows) {
        const { nextSeq } = this.log;
        const event = readV0Row(row, nextSeq);
        if (event instanceof RowFault) return await this.#endAt(transaction, event, nextSeq);
        const problem = this.#accept(event);
        if (problem !== null) {
          this.stop = damage(nextSeq, `event ${nextSeq} (${JSON.stringify(event.type)}): ${problem}`);
          return;
        }
        this.size += String(row.data).length;
        options.visit?.(event);
      }
    }
  }

  #accept(event: SessionEvent): string | null {
    const next = v0Problem(event) ?? withEvent(this.log, asCurrent(event), this.#header.header);
    if (typeof next === "string") return next;
    this.log = next;
    if (isUnknownV0(event)) this.objection ??= unknownEvent(event);
    return null;
  }

  async #endAt(transaction: SqlTransaction, fault: RowFault, seq: number): Promise<void> {
    const ends = await transaction.all(
      `SELECT ${COLUMNS} FROM events WHERE session_id = $1 AND seq >= $2 AND type = 'turn/end' ORDER BY seq`,
      ...[this.#id, seq],
    );
    if (ends.some((row) => !(readV0Row(row, row.seq as number) instanceof RowFault))) {
      this.stop = rowFinding(fault, seq);
      return;
    }
    const [rest] = await transaction.all(
      "SELECT coalesce(sum(length(data)), 0) AS size FROM events WHERE session_id = $1 AND seq >= $2",
      ...[this.#id, seq],
    );
    this.torn = { offsetBytes: this.size, bytes: rest!.size as number, salvagedEvents: 0 };
  }
}

/** Rows of a log from a seq on, in order. */
export async function v0Rows(
  transaction: SqlTransaction,
  id: string,
  from: number,
  limit: number,
): Promise<readonly SqlRow[]> {
  return await transaction.all(
    `SELECT ${COLUMNS} FROM events WHERE session_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3`,
    ...[id, from, limit],
  );
}
