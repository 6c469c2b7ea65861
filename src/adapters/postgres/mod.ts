/**
 * PostgreSQL as a database of sessions.
 *
 * @module
 */
export { CONNECTIONS_MAX } from "./connections.ts";
export { LEASE_MS } from "./presence.ts";
export { PostgresSql, type PostgresSqlOptions, SCHEMA_DEFAULT } from "./postgres_sql.ts";
export type { ServerFacts } from "./server_facts.ts";
