/**
 * Reads a log from its rows, once and in order, and remembers only where it got to.
 *
 * The session's row says how many events were acknowledged. A row below that count that is missing or does not decode is damage:
 * nothing acknowledged is ever cut. A row from that count on was never acknowledged, since a batch and the count change in one
 * transaction: it is a torn tail, and nothing of it is believed.
 *
 * @see session-format §5, §11
 * @module
 */
import { isRequiredUnknown, RowFault, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import { type CheckedLog, emptyLog, withEvent } from "../fold/checked_log.ts";
import type { TornTail } from "../store/session_store.ts";
import { EVENT_COLUMNS, eventOf } from "./columns.ts";
import { damage, type Finding, rowFinding, unknownEvent } from "./finding.ts";
import { READ_ROWS_MAX } from "./limits.ts";
import type { SessionState } from "./session_row.ts";
import type { SqlRow, SqlTransaction } from "./sql_port.ts";

/** What one `advance()` may do on the way. */
export interface ScanOptions {
  /** Called once per accepted event, in order. */
  readonly visit?: (event: SessionEvent) => void;
  readonly signal?: AbortSignal;
}

const COLUMNS = EVENT_COLUMNS.join(", ");

/** A log being read. */
export class SqlScan {
  readonly key: string;
  readonly header: SessionHeader;
  log: CheckedLog = emptyLog();
  /** How much text the events are, in bytes, as the session's row says. */
  sizeBytes = 0;
  /** Rows behind the acknowledged ones. */
  torn: TornTail | null = null;
  /** Why the scan does not go on. */
  stop: Finding | null = null;
  /** The first thing that forbids writing and not reading. */
  objection: Finding | null = null;

  constructor(key: string, header: SessionHeader) {
    this.key = key;
    this.header = header;
  }

  /** Why the log is not fit for writing; `null` when it is. */
  get finding(): Finding | null {
    return this.stop ?? this.objection ?? this.#missingSeedEnd();
  }

  /** Reads on to what the session's row says is there. Never throws because of what the rows are. */
  async advance(transaction: SqlTransaction, state: SessionState, options: ScanOptions = {}): Promise<void> {
    if (this.stop !== null) return;
    while (this.log.nextSeq < state.nextSeq && this.stop === null) {
      options.signal?.throwIfAborted();
      const from = this.log.nextSeq;
      const rows = await eventRows(transaction, this.key, from, Math.min(state.nextSeq, from + READ_ROWS_MAX));
      for (const row of rows) if (!this.#accept(row, options.visit)) return;
      if (rows.length === 0) {
        const found = `event ${from} is not there, of ${state.nextSeq} that were acknowledged`;
        this.stop = damage(from, found);
      }
    }
    this.sizeBytes = state.sizeBytes;
  }

  /** Looks for rows that nobody acknowledged. */
  async lookBehind(transaction: SqlTransaction, state: SessionState): Promise<void> {
    const [row] = await transaction.all(
      "SELECT count(*) AS behind, CAST(coalesce(sum(length(data)), 0) AS BIGINT) AS size FROM event " +
        "WHERE session_id = $1 AND seq >= $2",
      ...[this.key, state.nextSeq],
    );
    const bytes = row!.size as number;
    this.torn = row!.behind === 0 ? null : { offsetBytes: state.sizeBytes, bytes, salvagedEvents: 0 };
  }

  #accept(row: SqlRow, visit: ScanOptions["visit"]): boolean {
    const { nextSeq } = this.log;
    const event = eventOf(row, nextSeq);
    if (event instanceof RowFault) return this.#stopAt(rowFinding(event, nextSeq));
    const next = withEvent(this.log, event, this.header);
    if (typeof next === "string") {
      return this.#stopAt(damage(nextSeq, `event ${nextSeq} (${JSON.stringify(event.type)}): ${next}`));
    }
    this.log = next;
    if (isRequiredUnknown(event)) this.objection ??= unknownEvent(event);
    visit?.(event);
    return true;
  }

  #stopAt(finding: Finding): false {
    this.stop = finding;
    return false;
  }

  /** A copy of a parent that was not finished: its events are there, and where they end is not. */
  #missingSeedEnd(): Finding | null {
    if (!this.header.isSeeded || this.log.hasInheritedSeed) return null;
    const message = "the header says that events were inherited, and no session/end-seed says which";
    return damage(this.log.nextSeq, message);
  }
}

/** Rows of a log, in order: from `from` to before `end`. */
export async function eventRows(
  transaction: SqlTransaction,
  key: string,
  from: number,
  end: number,
): Promise<readonly SqlRow[]> {
  return await transaction.all(
    `SELECT ${COLUMNS} FROM event WHERE session_id = $1 AND seq >= $2 AND seq < $3 ORDER BY seq`,
    ...[key, from, end],
  );
}
