/**
 * Whether a database is DeepSeek Harness's, and of the one schema that is read here.
 *
 * @module
 */
import { UnsupportedFormatError } from "../../errors.ts";
import type { SqlTransaction } from "../sql_port.ts";

/** `PRAGMA application_id` of its databases: the letters DSHP. */
export const DSH_APPLICATION_ID = 0x44534850;

/** `PRAGMA user_version` of the schema that is read here: one row per event, JSON as text. */
export const DSH_SCHEMA_VERSION = 15;

/**
 * Checks the database under a transaction.
 *
 * @param name the database's, for the message
 * @throws {UnsupportedFormatError} another program's, or another schema; the message names both and the direction
 */
export async function checkDshDatabase(transaction: SqlTransaction, name: string): Promise<void> {
  const id = (await transaction.all("PRAGMA application_id"))[0]?.application_id as number;
  const version = (await transaction.all("PRAGMA user_version"))[0]?.user_version as number;
  const what = `Cannot open database "${name}"`;
  if (id !== DSH_APPLICATION_ID) {
    throw new UnsupportedFormatError(`${what}: found application id ${id}, wanted ${DSH_APPLICATION_ID}`);
  }
  if (version === DSH_SCHEMA_VERSION) return;
  const direction = version > DSH_SCHEMA_VERSION
    ? "written by a newer program, whose schema this build does not read"
    : "an older schema that this build does not read";
  throw new UnsupportedFormatError(
    `${what}: found schema version ${version}, wanted ${DSH_SCHEMA_VERSION}: ${direction}`,
    { version },
  );
}
