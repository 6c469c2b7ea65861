/**
 * Sessions in a database: the port of a database, and the session store over it.
 *
 * @module
 */
export { CommitUnknownError } from "./commit_unknown.ts";
export type { SqlDialect } from "./dialect.ts";
export { APPLICATION_ID, checkSchemaVersion, SCHEMA_VERSION, schemaStatements } from "./schema.ts";
export type { SqlClaim, SqlPort, SqlRow, SqlTransaction, SqlValue } from "./sql_port.ts";
export type { AppendedBatch, SqlStoreOptions } from "./context.ts";
export { openSqlStore } from "./sql_store.ts";
