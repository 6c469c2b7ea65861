/**
 * What one database spells differently from another. Each dialect is one file: `dialect_sqlite.ts`, `dialect_postgres.ts`.
 *
 * @module
 */

/** The words of one database for what all of them have. */
export interface SqlDialect {
  /** A short name, for messages. */
  readonly name: string;
  /** A whole number of 64 bits. */
  readonly integerType: string;
  /** Text of any length. Nothing but well-formed text without NUL is ever put into it. */
  readonly textType: string;
  /** Bytes of any length. */
  readonly bytesType: string;
  /** What stands behind the closing parenthesis of a table. */
  readonly tableSuffix: string;
  /** What makes a `SELECT` of a session's row wait for whoever is changing it; empty where a writing transaction is alone anyway. */
  readonly forUpdate: string;
}
