/**
 * SQLite through `node:sqlite`, for Deno and for Node from 22.15.
 *
 * @module
 */
export { openSqlite, type SqliteOptions } from "./sqlite_sql.ts";
export { type JournalKind, journalKindOf } from "./database_file.ts";
export { type DatabaseIdentity, openSqliteReader, SqliteReader, type SqliteReaderOptions } from "./sqlite_reader.ts";
