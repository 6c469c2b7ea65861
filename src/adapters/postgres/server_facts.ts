/**
 * What the server promises, as it says itself.
 *
 * @module
 */
import { StorageLostError, UnsupportedFormatError } from "../../errors.ts";
import type { SqlPort, SqlTransaction } from "../../sql/sql_port.ts";

/** The oldest server we know to have everything we ask for. */
export const SERVER_VERSION_MIN = 120_000;

/** What was found. */
export interface ServerFacts {
  readonly traits: SqlPort["traits"];
  /** `synchronous_commit` of our connections, as it is set. */
  readonly synchronousCommit: string;
  /** `fsync` of the server. */
  readonly fsync: string;
  /** Its version, such as 15.18. */
  readonly version: string;
}

/**
 * Asks the server what it promises. An acknowledged commit is on the device when the server syncs its log (`fsync`) and waits for that before it
 * answers (`synchronous_commit` is anything but `off`). Otherwise it is in a buffer, and nothing with an effect passes a barrier as durable.
 *
 * @param idleInTransactionMs what our connections asked for: when it is another one, somebody stands between who hands out connections
 * @throws {UnsupportedFormatError} an older server, or one whose text is not UTF-8
 * @throws {StorageLostError} a server that takes no writes, or a pooler
 *
 * @example
 * ```ts
 * import type { SqlTransaction } from "../../sql/sql_port.ts";
 * import { serverFacts } from "./server_facts.ts";
 *
 * const row = {
 *   version: 150000, shown: "15.0", encoding: "UTF8", in_recovery: 0, fsync: "on", synchronous_commit: "off", idle_ms: 5000,
 * };
 * const transaction = { all: () => Promise.resolve([row]) } as unknown as SqlTransaction;
 * const { traits } = await serverFacts(transaction, "db", 5000);
 * if (traits.sync !== "buffered") throw new Error("unreachable");
 * ```
 */
export async function serverFacts(
  transaction: SqlTransaction,
  name: string,
  idleInTransactionMs: number,
): Promise<ServerFacts> {
  const [row] = await transaction.all(`SELECT current_setting('server_version_num')::int AS version,
    current_setting('server_version') AS shown, current_setting('server_encoding') AS encoding,
    pg_is_in_recovery()::int AS in_recovery, current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS synchronous_commit,
    (SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout') AS idle_ms`);
  const { version, shown, encoding, in_recovery: inRecovery, fsync, synchronous_commit: commit } = row!;
  if (Number(version) < SERVER_VERSION_MIN) {
    throw new UnsupportedFormatError(`Cannot open database "${name}": found PostgreSQL ${shown}, wanted 12 or newer`);
  }
  if (encoding !== "UTF8") {
    throw new UnsupportedFormatError(`Cannot open database "${name}": its text is ${encoding}, wanted UTF8`);
  }
  if (inRecovery === 1) {
    throw new StorageLostError(`Cannot open database "${name}": it is a standby and takes no writes`);
  }
  if (row!.idle_ms !== idleInTransactionMs) {
    throw new StorageLostError(
      `Cannot open database "${name}": its connections do not keep their settings (a pooler stands between? connect to the server itself)`,
    );
  }
  const isOnDevice = fsync === "on" && commit !== "off";
  return {
    traits: {
      medium: "postgres",
      sync: isOnDevice ? "device" : "buffered",
      names: isOnDevice ? "synced" : "deferred",
      publish: "transaction",
      lockScope: "database",
      persistence: "persistent",
    },
    synchronousCommit: String(commit),
    fsync: String(fsync),
    version: String(shown),
  };
}
