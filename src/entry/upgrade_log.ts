/**
 * A log of an older version as one of the current version, for stores that keep old logs as they are.
 *
 * @module
 */
import { CorruptLogError, UnsupportedFormatError } from "../errors.ts";
import { legacyHeaderOf, migrateLegacy, readLegacyRow } from "../journal/mod.ts";
import type { EventPage, LogReader } from "../store/session_store.ts";

/** How many events are read at once. */
const PAGE_EVENTS = 1_000;

/**
 * Reads a log of version 0, 1 or 2 whole and migrates it in memory. Nothing is written.
 *
 * @throws {UnsupportedFormatError} it holds what has no place in the current version
 * @throws {CorruptLogError} its own version refuses it
 *
 * @example
 * ```ts
 * import { openSqliteFile } from "./sqlite.ts";
 * import { upgradeLog } from "./upgrade_log.ts";
 *
 * const current = async (path: string, id: string) => {
 *   await using store = await openSqliteFile({ path });
 *   await using reader = await store.open(id, "read");
 *   return await upgradeLog(reader);
 * };
 * ```
 */
export async function upgradeLog(reader: LogReader): Promise<UpgradedLog> {
  try {
    return await upgraded(reader);
  } catch (error) {
    const isDamage = error instanceof CorruptLogError;
    if (!isDamage && !(error instanceof UnsupportedFormatError)) throw error;
    const found = error.message.replace(/^Cannot (?:migrate|read) /, "");
    const message =
      `Cannot bring session "${reader.id}" from version ${reader.header.version} to the current one: ${found}`;
    throw isDamage
      ? new CorruptLogError(message, { cause: error })
      : new UnsupportedFormatError(message, { cause: error });
  }
}

/** A log in the current version. */
interface UpgradedLog {
  readonly header: LogReader["header"];
  readonly events: EventPage["events"];
}

async function upgraded(reader: LogReader): Promise<UpgradedLog> {
  const { isSeeded, version, ...members } = reader.header;
  const seed = (version as number) === 2 ? { isSeeded } : isSeeded ? { seedLength: reader.inheritedEventCount } : {};
  const header = legacyHeaderOf({ ...members, version, ...seed });
  const migration = migrateLegacy(header);
  const events: EventPage["events"][number][] = [];
  for (let next = 0; next < reader.state().nextSeq;) {
    const page = await reader.read({ from: next, limit: PAGE_EVENTS });
    if (page.events.length === 0) {
      throw new CorruptLogError(`Cannot read session "${reader.id}": event ${next} went away`);
    }
    for (const event of page.events) {
      const row = readLegacyRow(JSON.stringify(event), header.version, event.seq);
      if ("toError" in row) throw row.toError();
      events.push(...migration.push(row));
    }
    next += page.events.length;
  }
  events.push(...migration.end());
  return { header: migration.header, events };
}
