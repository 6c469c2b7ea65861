/**
 * The tables of a PostgreSQL database: those every database has, and those of claims and of who holds them.
 *
 * @module
 */
import { commandStatements } from "../../sql/commands/schema.ts";
import { postgresDialect } from "../../sql/dialect_postgres.ts";
import { SCHEMA_VERSION, schemaStatements } from "../../sql/schema.ts";
import type { SqlTransaction } from "../../sql/sql_port.ts";

/** Marks a version table as ours, so that another program's is not taken for it. */
export const APPLICATION = "holdfast";

/**
 * Who says that it lives, and who claims which session. `server_start` is that of the server that saw the lock: when the database has
 * been started anew since, its locks are gone although their owners are not.
 */
const CLAIM_STATEMENTS: readonly string[] = [
  `CREATE TABLE holder (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  lock_key bigint NOT NULL,
  lease_ms bigint NOT NULL,
  renewed_at timestamptz NOT NULL,
  server_start timestamptz NOT NULL
)`,
  `CREATE TABLE claim (
  session_id text COLLATE "C" NOT NULL PRIMARY KEY,
  owner text COLLATE "C" NOT NULL
)`,
];

/**
 * Says which version of our tables is in a schema; `null` when there is none.
 *
 * @throws what the database says
 *
 * @example
 * ```ts
 * import type { SqlTransaction } from "../../sql/sql_port.ts";
 * import { foundVersion } from "./tables.ts";
 *
 * async function isNew(transaction: SqlTransaction): Promise<boolean> {
 *   return await foundVersion(transaction, "holdfast") === null;
 * }
 * ```
 */
export async function foundVersion(transaction: SqlTransaction, schema: string): Promise<number | null> {
  // Asked of the catalog itself: what a name means is remembered by a connection, also that it means nothing.
  const there = await transaction.all(
    "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace " +
      "WHERE n.nspname = $1 AND c.relname = 'schema_version'",
    schema,
  );
  if (there.length === 0) return null;
  const [row] = await transaction.all(
    `SELECT version FROM "${schema}".schema_version WHERE application = $1`,
    APPLICATION,
  );
  return row === undefined ? null : Number(row.version);
}

/**
 * Makes the schema and its tables, unless they are there. Those who do it at once wait for each other.
 *
 * @returns the version that is there now
 * @throws what the database says
 *
 * @example
 * ```ts
 * import type { SqlTransaction } from "../../sql/sql_port.ts";
 * import { makeTables } from "./tables.ts";
 *
 * async function prepare(transaction: SqlTransaction): Promise<number> {
 *   return await makeTables(transaction, "holdfast");
 * }
 * ```
 */
export async function makeTables(transaction: SqlTransaction, schema: string): Promise<number> {
  await transaction.all("SELECT pg_advisory_xact_lock(hashtext($1))::text", `holdfast tables ${schema}`);
  const found = await foundVersion(transaction, schema);
  if (found !== null) return found;
  await transaction.run(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
  const statements = [...schemaStatements(postgresDialect), ...CLAIM_STATEMENTS, ...commandStatements(postgresDialect)];
  for (const statement of statements) await transaction.run(statement);
  await transaction.run("CREATE TABLE schema_version (application text NOT NULL PRIMARY KEY, version bigint NOT NULL)");
  await transaction.run(
    "INSERT INTO schema_version (application, version) VALUES ($1, $2)",
    APPLICATION,
    SCHEMA_VERSION,
  );
  return SCHEMA_VERSION;
}
