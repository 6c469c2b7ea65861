/**
 * The table of commands.
 *
 * @module
 */
import type { SqlDialect } from "../dialect.ts";

/**
 * The statements that make it, behind those of the other tables. Commands go with their session.
 *
 * @example
 * ```ts
 * import { sqliteDialect } from "../dialect_sqlite.ts";
 * import { commandStatements } from "./schema.ts";
 *
 * if (commandStatements(sqliteDialect).length !== 2) throw new Error("unreachable");
 * ```
 */
export function commandStatements(dialect: SqlDialect): readonly string[] {
  const { integerType: integer, textType: text, tableSuffix: suffix } = dialect;
  return [
    `CREATE TABLE command (
  session_id ${text} NOT NULL REFERENCES session(id) ON DELETE CASCADE,
  idempotency_key ${text} NOT NULL,
  kind ${text} NOT NULL,
  body ${text} NOT NULL,
  posted_at ${integer} NOT NULL,
  state ${text} NOT NULL,
  seq ${integer},
  outcome ${text},
  PRIMARY KEY (session_id, idempotency_key)
)${suffix}`,
    "CREATE INDEX command_pending ON command (posted_at) WHERE state = 'pending'",
  ];
}
