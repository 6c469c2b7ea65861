/**
 * The row of one session: who it is, whose it is, and how far it goes.
 *
 * @module
 */
import { HEADER_COLUMNS } from "./columns.ts";
import type { SqlRow, SqlTransaction } from "./sql_port.ts";

/** The row of a session, as far as it is no header. */
export interface SessionState {
  /** The whole row, for {@linkcode headerOf}. */
  readonly row: SqlRow;
  /** Drawn when the session was created: another one under the same id has another. */
  readonly incarnation: string;
  /** Rises with every writer. */
  readonly epoch: number;
  /** How many events were acknowledged: rows below it are the log, rows from it on are not. */
  readonly nextSeq: number;
  /** How much text the events are, in bytes. */
  readonly sizeBytes: number;
  /** The epoch and the id of the batch that was written last. */
  readonly lastBatch: string | null;
}

const COLUMNS = [...HEADER_COLUMNS, "incarnation", "epoch", "next_seq", "size_bytes", "last_batch"].join(", ");

/** The row of a session, `null` when there is none. `suffix` makes it wait for whoever is changing it. */
export async function sessionState(
  transaction: SqlTransaction,
  key: string,
  suffix = "",
): Promise<SessionState | null> {
  const [row] = await transaction.all(`SELECT ${COLUMNS} FROM session WHERE id = $1${suffix}`, key);
  return row === undefined ? null : stateOf(row);
}

/** The rows of all sessions, in no order. */
export async function sessionStates(transaction: SqlTransaction): Promise<SessionState[]> {
  return (await transaction.all(`SELECT ${COLUMNS} FROM session`)).map(stateOf);
}

function stateOf(row: SqlRow): SessionState {
  return {
    row,
    incarnation: row.incarnation as string,
    epoch: row.epoch as number,
    nextSeq: row.next_seq as number,
    sizeBytes: row.size_bytes as number,
    lastBatch: row.last_batch as string | null,
  };
}
