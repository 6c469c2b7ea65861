/**
 * The one failure of a database that is neither yes nor no.
 *
 * @module
 */
import { StorageLostError } from "../errors.ts";
import type { SqlPort, SqlTransaction } from "./sql_port.ts";

/**
 * The connection broke while a transaction committed: it may have happened, or not. To be read again, never blindly repeated.
 *
 * To everybody above the store this is a medium that cannot be reached.
 *
 * @example
 * ```ts
 * import { hasCode } from "../errors.ts";
 * import { CommitUnknownError } from "./commit_unknown.ts";
 *
 * const error = new CommitUnknownError('Cannot commit to "db": the connection broke');
 * if (!hasCode(error, "STORAGE_LOST")) throw new Error("unreachable");
 * ```
 */
export class CommitUnknownError extends StorageLostError {}

/** How often a transaction that may be repeated is tried while its commits are of unknown outcome. */
export const COMMIT_TRIES_MAX = 5;

/**
 * A write whose statements find what they have done before: after a commit of unknown outcome it is run again.
 *
 * @throws what `sql.write()` does; CommitUnknownError after COMMIT_TRIES_MAX tries
 *
 * @example
 * ```ts
 * import { writeRepeatable } from "./commit_unknown.ts";
 * import type { SqlPort } from "./sql_port.ts";
 *
 * async function settle(sql: SqlPort, key: string): Promise<void> {
 *   await writeRepeatable(sql, (transaction) => transaction.run("UPDATE command SET state = 'done' WHERE id = $1", key));
 * }
 * ```
 */
export async function writeRepeatable<Result>(
  sql: Pick<SqlPort, "write">,
  act: (transaction: SqlTransaction) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1;; tries++) {
    try {
      return await sql.write(act);
    } catch (error) {
      if (!(error instanceof CommitUnknownError) || tries === COMMIT_TRIES_MAX) throw error;
    }
  }
}
