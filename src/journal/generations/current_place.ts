/**
 * The place of a session's current generation, made when there is none.
 *
 * @module
 */
import { NotFoundError } from "../../errors.ts";
import { FORMAT_VERSION } from "../../event/mod.ts";
import type { StorageLock } from "../../storage/storage_port.ts";
import type { OpenOptions } from "../../store/session_store.ts";
import { fileSource } from "../byte_source.ts";
import type { JournalContext } from "../context.ts";
import { errorOf } from "../finding.ts";
import { isLegacyVersion } from "../legacy/mod.ts";
import { judgeOf, type LogPlace, newerVersion, placeOf } from "../locate.ts";
import { peekVersion } from "./peek_version.ts";
import { type Publication, publishGeneration } from "./publish_generation.ts";

/** How a migration is asked for. */
export type MigrationOptions = Pick<OpenOptions, "onMigration" | "signal">;

/** Where the log lies now that its lock is held, in the current version. */
export async function currentPlace(
  context: JournalContext,
  found: LogPlace,
  lock: StorageLock,
  options: MigrationOptions,
): Promise<LogPlace> {
  const place = await placeUnderLock(context, found, lock);
  if (place.version === FORMAT_VERSION) return place;
  await migratePlace(context, place, lock, options);
  return await placeUnderLock(context, place, lock);
}

/**
 * Publishes the current generation of a place of an older version.
 *
 * @throws as `publishGeneration`
 */
export async function migratePlace(
  context: JournalContext,
  place: LogPlace,
  lock: StorageLock,
  options: MigrationOptions,
): Promise<Publication> {
  if (place.version > FORMAT_VERSION) throw newerVersion(place);
  const judge = judgeOf(context.storage, place);
  const what = `open session "${place.id}" for writing`;
  if (place.objection !== null) throw errorOf(place.objection, what);
  const { storage } = context;
  const sizeBytes = (await storage.stat(place.log))?.sizeBytes ?? 0;
  const said = await peekVersion(fileSource(storage, place.log), sizeBytes, place.encoding, context);
  // A header that says another version than the name is refused by `judge`; one that says none, by the reading.
  const version = isLegacyVersion(said) ? said : isLegacyVersion(place.version) ? place.version : 0;
  return await publishGeneration(context, { place, version, lock, judge, ...options });
}

/** Between the look and the lock the session may have been removed, or another process may have brought it to a later version. */
export async function placeUnderLock(context: JournalContext, found: LogPlace, lock: StorageLock): Promise<LogPlace> {
  const { storage } = context;
  const { id, folder } = found;
  const entries = await storage.list(folder);
  const place = placeOf(folder, entries);
  if (place !== null && (place.log === found.log || place.version > found.version)) {
    return { ...place, objection: place.objection ?? found.objection };
  }
  // Our lock has made the folder of a removed session anew.
  if (entries.every((entry) => entry.name === found.lock)) await storage.remove(folder, lock);
  throw new NotFoundError(`Cannot open session "${id}": "${found.log}" went away while it was opened`);
}
