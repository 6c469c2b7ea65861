/**
 * PostgreSQL's words.
 *
 * @module
 */
import type { SqlDialect } from "./dialect.ts";

/**
 * PostgreSQL's words. Texts are compared by their bytes, so that the order of keys is the same in every database and locale.
 *
 * @see PostgreSQL documentation, "Explicit Locking": `FOR NO KEY UPDATE` waits for writers, and lets others refer to the row
 *
 * @example
 * ```ts
 * import { postgresDialect } from "./dialect_postgres.ts";
 * import { schemaStatements } from "./schema.ts";
 *
 * if (!schemaStatements(postgresDialect)[0]?.includes("bigint")) throw new Error("unreachable");
 * ```
 */
export const postgresDialect: SqlDialect = {
  name: "postgres",
  integerType: "bigint",
  textType: 'text COLLATE "C"',
  bytesType: "bytea",
  tableSuffix: "",
  forUpdate: " FOR NO KEY UPDATE",
};
