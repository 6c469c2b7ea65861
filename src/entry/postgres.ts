/**
 * Sessions in PostgreSQL, for many machines: the PostgreSQL adapter, the store over a database, and the table of commands.
 *
 * @module
 */
import { PostgresSql, type ServerFacts } from "../adapters/postgres/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { CommandDesk, type CommandDeskOptions, CommandTable } from "../sql/commands/mod.ts";
import { openSqlStore } from "../sql/sql_store.ts";
import type { SessionStore } from "../store/session_store.ts";
import type { SharedStore } from "./shared_store.ts";
import { systemRuntime } from "./system.ts";

export type * from "./shared_store.ts";
export type { ServerFacts } from "../adapters/postgres/mod.ts";
export { systemClock, systemRandom, systemRuntime } from "./system.ts";

/** Where and how sessions are kept. */
export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:port/database`. Of the server itself: a pooler that hands out connections by transaction loses the locks
   * and notices that say who lives. One that is found is refused.
   */
  readonly url: string;
  /** The schema of its tables, made at the first write. Default `holdfast`. */
  readonly schema?: string;
  /**
   * How long this process counts as alive when nothing is heard of it, in milliseconds, by the clock of the database. Then others may take its
   * sessions over. A process that is killed is seen at once. Default 10,000.
   */
  readonly leaseMs?: number;
  /** How many connections for statements, besides the one that listens. Default 4. */
  readonly connectionsMax?: number;
  /** Default: the system's. Timers of connections and leases are the system's in any case: they are about real machines. */
  readonly runtime?: Runtime;
  /** Told what failed where nobody waits for it, such as a connection that cannot be made again. */
  readonly report?: (error: unknown) => void;
}

/** A store in PostgreSQL. Closing it ends its connections. */
export interface PostgresStore extends SessionStore, SharedStore {
  /** What the server says about itself: its version, `fsync` and `synchronous_commit`. */
  readonly server: ServerFacts;
}

/**
 * Opens a store in a PostgreSQL database. Its tables are made at the first write.
 *
 * An acknowledged event has been committed: on the device when `fsync` is on and `synchronous_commit` is not off, which `traits.sync` says.
 * While the database cannot be reached, what waits for it waits up to half a minute, and then fails with `STORAGE_LOST`.
 *
 * @throws {StorageLostError} when it cannot be reached, is a standby, or a pooler stands between
 * @throws {UnsupportedFormatError} when the server or the tables are of a version we do not know
 *
 * @example
 * ```ts
 * import { createSession } from "../session/mod.ts";
 * import { openPostgresStore } from "./postgres.ts";
 *
 * async function first(url: string): Promise<string> {
 *   await using store = await openPostgresStore({ url });
 *   const session = await createSession({ store });
 *   session.append({ type: "turn/start", data: { turn: 1 } });
 *   await session.close();
 *   return session.id;
 * }
 * ```
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { runtime = systemRuntime, ...rest } = options;
  const { clock: { schedule }, random: { bytes } } = systemRuntime;
  const sql = await PostgresSql.open({ ...rest, schedule, bytes });
  const commands = new CommandTable({
    sql,
    ownsClaim: (transaction, key) => sql.ownsClaim(transaction, key),
    announce: sql.announceCommand,
  });
  const store = openSqlStore({ sql, ...runtime, inAppend: commands.inAppend });
  return Object.assign(store, {
    server: sql.facts,
    commands,
    openDesk(options: Pick<CommandDeskOptions, "handle" | "report">): CommandDesk {
      const desk = new CommandDesk({ ...options, table: commands, clock: runtime.clock, listen: sql.listenToCommands });
      desk.open();
      return desk;
    },
  });
}
