/**
 * The stores besides the journal that Deno and Node have: SQLite on the disk that is measured, and PostgreSQL where one is named.
 *
 * @module
 */
import { join } from "node:path";
import process from "node:process";
import type { SessionStore } from "../../mod.ts";
import type { Absent, NamedStore } from "../bench_case.ts";

/** The schema of what is measured. Its sessions are deleted afterwards, its empty tables stay. */
const SCHEMA = "holdfast_bench";

/**
 * Whatever stores there are here, and which are not, with the reason.
 *
 * @param nextPath a path on the disk that is measured, new each time
 * @param hasSqlite whether this runtime has `node:sqlite`; the store warns and fails without it
 *
 * @example
 * ```ts
 * import { otherStores } from "./other_stores.ts";
 *
 * const { stores } = otherStores((kind) => `/nowhere/${kind}`, false, {});
 * if (stores.length !== 0) throw new Error("unreachable");
 * ```
 */
export function otherStores(
  nextPath: (kind: string) => string,
  hasSqlite: boolean,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): { readonly stores: readonly NamedStore[]; readonly absent: readonly Absent[] } {
  const stores: NamedStore[] = [];
  const absent: Absent[] = [];
  if (hasSqlite) stores.push({ name: "sqlite", open: () => sqliteStore(nextPath("store")) });
  const url = variables["DATABASE_URL"] ?? "";
  if (url !== "") stores.push({ name: "postgres", open: () => postgresStore(url) });
  else absent.push({ name: "the store over PostgreSQL", reason: "DATABASE_URL names none" });
  return { stores, absent };
}

async function sqliteStore(folder: string): Promise<SessionStore> {
  const { openSqliteStore } = await import("../../src/entry/sqlite.ts");
  return openSqliteStore({ path: join(folder, "sessions.db") });
}

async function postgresStore(url: string): Promise<SessionStore> {
  const { openPostgresStore } = await import("../../src/entry/postgres.ts");
  const store = await openPostgresStore({ url, schema: SCHEMA });
  const { traits, server } = store;
  if (traits.sync !== "device") {
    await store.close();
    const settings = `fsync is ${server.fsync}, synchronous_commit ${server.synchronousCommit}`;
    throw new Error(`Cannot compare PostgreSQL with what is durable: ${settings}`);
  }
  const close = store.close.bind(store);
  return Object.assign(store, {
    async close() {
      for (const { id } of await Array.fromAsync(store.list())) await store.delete(id);
      await close();
    },
  });
}
