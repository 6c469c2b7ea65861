/**
 * DeepSeek Harness's databases of schema 15: read, never written.
 *
 * @see session-format §11
 * @module
 */
export { checkDshDatabase, DSH_APPLICATION_ID, DSH_SCHEMA_VERSION } from "./identity.ts";
export { type DshStoreOptions, openDshStore, type ReadableDatabase } from "./dsh_store.ts";
