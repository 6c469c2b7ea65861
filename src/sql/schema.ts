/**
 * The tables, and the version that says which ones they are.
 *
 * One row per event, whose columns are the envelope's keys; one row per session, whose first columns are the header's keys. A text
 * that a database could not hold as it is stands there as JSON, see `text_column.ts`.
 *
 * @module
 */
import { UnsupportedFormatError } from "../errors.ts";
import type { SqlDialect } from "./dialect.ts";

/** The version of the tables below. SQLite keeps it in `PRAGMA user_version`, PostgreSQL in a table. */
export const SCHEMA_VERSION = 1;

/** Marks a SQLite file as ours, in `PRAGMA application_id`: the letters HFST. */
export const APPLICATION_ID = 0x48465354;

/**
 * The statements that make the tables, in order, for a database that has none of them.
 *
 * @example
 * ```ts
 * import { sqliteDialect } from "./dialect_sqlite.ts";
 * import { schemaStatements } from "./schema.ts";
 *
 * if (schemaStatements(sqliteDialect).length !== 4) throw new Error("unreachable");
 * ```
 */
export function schemaStatements(dialect: SqlDialect): readonly string[] {
  const { integerType: integer, textType: text, bytesType: bytes, tableSuffix: suffix } = dialect;
  const eventColumns = `
  type ${text} NOT NULL,
  time ${integer} NOT NULL,
  data ${text} NOT NULL,
  source_event_seqs ${text},
  surface_op ${text},
  ignorable ${integer},
  more ${text}`;
  return [
    `CREATE TABLE session (
  id ${text} NOT NULL PRIMARY KEY,
  version ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  cwd ${text},
  parent_session ${text},
  is_seeded ${integer} NOT NULL,
  origin ${text},
  delegation_depth ${integer} NOT NULL,
  agent_preset ${text},
  incarnation ${text} NOT NULL,
  epoch ${integer} NOT NULL,
  next_seq ${integer} NOT NULL,
  size_bytes ${integer} NOT NULL,
  last_batch ${text}
)${suffix}`,
    `CREATE TABLE event (
  session_id ${text} NOT NULL REFERENCES session(id) ON DELETE CASCADE,
  seq ${integer} NOT NULL,${eventColumns},
  PRIMARY KEY (session_id, seq)
)${suffix}`,
    `CREATE TABLE torn_event (
  session_id ${text} NOT NULL REFERENCES session(id) ON DELETE CASCADE,
  epoch ${integer} NOT NULL,
  seq ${integer} NOT NULL,${eventColumns},
  PRIMARY KEY (session_id, epoch, seq)
)${suffix}`,
    `CREATE TABLE blob (
  session_id ${text} NOT NULL,
  incarnation ${text} NOT NULL,
  digest ${text} NOT NULL,
  content ${bytes} NOT NULL,
  PRIMARY KEY (session_id, incarnation, digest)
)${suffix}`,
  ];
}

/**
 * Checks the version that an adapter found in a database that is not empty.
 *
 * @param name the database's, for the message
 * @throws {UnsupportedFormatError} when it is another one: the message names both, and the direction
 *
 * @example
 * ```ts
 * import { hasCode } from "../errors.ts";
 * import { checkSchemaVersion, SCHEMA_VERSION } from "./schema.ts";
 *
 * checkSchemaVersion(SCHEMA_VERSION, "a.db");
 * try {
 *   checkSchemaVersion(SCHEMA_VERSION + 1, "a.db");
 * } catch (error) {
 *   if (!hasCode(error, "UNSUPPORTED_FORMAT")) throw error;
 * }
 * ```
 */
export function checkSchemaVersion(found: number, name: string): void {
  if (found === SCHEMA_VERSION) return;
  const direction = found > SCHEMA_VERSION ? "written by a newer program; upgrade to open it" : "an older version";
  throw new UnsupportedFormatError(
    `Cannot open database "${name}": found schema version ${found}, wanted ${SCHEMA_VERSION}: ${direction}`,
    { version: found },
  );
}
