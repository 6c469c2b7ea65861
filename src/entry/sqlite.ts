/**
 * Sessions in one SQLite file, for Deno and Node: `node:sqlite` and the store over a database.
 *
 * @module
 */
import { journalKindOf, openSqlite, openSqliteReader } from "../adapters/sqlite_node/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { DSH_APPLICATION_ID, openDshStore } from "../sql/dsh_v15/mod.ts";
import { openSqlStore } from "../sql/mod.ts";
import type { SessionStore } from "../store/session_store.ts";
import { systemClock, systemRuntime } from "./system.ts";

export { systemClock, systemRandom, systemRuntime } from "./system.ts";

/** Where sessions are kept. */
export interface SqliteStoreOptions {
  /** The file. It and its folder are made at the first write, for their owner alone. */
  readonly path: string;
  /** Default: the system's. */
  readonly runtime?: Runtime;
}

/**
 * Opens a store over a SQLite file. Nothing is made before the first write, and reading makes nothing at all.
 *
 * Needs Deno, or Node 22.15 or newer. One machine: SQLite's locks do not reach over a network's file system.
 *
 * @throws {UnsupportedFormatError} at the first use, when the file is another program's or of another schema version
 * @throws {StorageLostError} at the first use, when the file is a link, or at the first write, when it is not its user's alone
 *
 * @example
 * ```ts
 * import { createSession } from "../session/mod.ts";
 * import { openSqliteStore } from "./sqlite.ts";
 *
 * const folder = await Deno.makeTempDir();
 * await using store = openSqliteStore({ path: `${folder}/sessions.db` });
 * const session = await createSession({ store, id: "first" });
 * session.append({ type: "turn/start", data: { turn: 1 } });
 * await session.close();
 * if ((await store.stat("first"))?.state !== "open") throw new Error("unreachable");
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export function openSqliteStore({ path, runtime = systemRuntime }: SqliteStoreOptions): SessionStore {
  return openSqlStore({ sql: openSqlite({ path, clock: systemClock }), ...runtime });
}

/**
 * Opens whatever sessions a SQLite file holds: ours as {@linkcode openSqliteStore} does; those of a DeepSeek Harness database of
 * schema 15 for reading alone, as they are stored.
 *
 * @throws {StorageLostError} when the file is a link, or cannot be read
 * @throws {CorruptLogError} when it is no database
 *
 * @example
 * ```ts
 * import { openSqliteFile } from "./sqlite.ts";
 *
 * const folder = await Deno.makeTempDir();
 * await using store = await openSqliteFile({ path: `${folder}/sessions.db` });
 * if (await store.stat("a") !== null) throw new Error("unreachable");
 * await Deno.remove(folder);
 * ```
 */
export async function openSqliteFile(options: SqliteStoreOptions): Promise<SessionStore> {
  const { path, runtime = systemRuntime } = options;
  const database = openSqliteReader(path);
  const identity = await database.identity();
  await database.close();
  if (identity?.applicationId !== DSH_APPLICATION_ID) return openSqliteStore(options);
  return openDshStore({ database: openSqliteReader(path, { journal: journalKindOf(path) }), name: path, runtime });
}
