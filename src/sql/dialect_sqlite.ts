/**
 * SQLite's words.
 *
 * @module
 */
import type { SqlDialect } from "./dialect.ts";

/**
 * SQLite's words: strict tables, and one writing transaction at a time.
 *
 * @see https://www.sqlite.org/stricttables.html
 *
 * @example
 * ```ts
 * import { sqliteDialect } from "./dialect_sqlite.ts";
 * import { schemaStatements } from "./schema.ts";
 *
 * if (!schemaStatements(sqliteDialect)[0]?.includes("STRICT")) throw new Error("unreachable");
 * ```
 */
export const sqliteDialect: SqlDialect = {
  name: "sqlite",
  integerType: "INTEGER",
  textType: "TEXT",
  bytesType: "BLOB",
  tableSuffix: " STRICT",
  forUpdate: "",
};
