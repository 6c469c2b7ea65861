/**
 * Migration for its own sake: a session of an older version gets its current generation, and is not opened.
 *
 * @module
 */
import { FORMAT_VERSION } from "../../event/mod.ts";
import type { OpenOptions } from "../../store/session_store.ts";
import { contextOf, type JournalOptions } from "../journal.ts";
import { locateLog } from "../locate.ts";
import { takeLock } from "../take_lock.ts";
import { migratePlace, placeUnderLock } from "./current_place.ts";

/** What became of a session that was to be migrated. */
export interface Migration {
  readonly id: string;
  /** `current`: there was nothing to do. `accepted`: another process had just published the same. */
  readonly outcome: "published" | "accepted" | "current";
  /** The version it had. */
  readonly from: number;
  readonly to: number;
  /** The whole name of the log that counts from now on. */
  readonly log: string;
  /** How many events it has, and how many bytes; `null` when it was not read. */
  readonly events: number | null;
  readonly sizeBytes: number | null;
}

/**
 * Publishes the current generation of a session. Its old file stays as it is for ever. The storage stays the caller's.
 *
 * Bounded in memory, unlike opening the session for writing, which holds what the model sees.
 *
 * @throws {NotFoundError}
 * @throws {LockHeldError} when a writer is alive
 * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when it is damaged, of a later version, or has no place in the
 * current one; nothing was published
 * @throws {SourceDriftError} when somebody wrote to the old log meanwhile; nothing was published
 * @throws {AlreadyExistsError} when another current generation appeared meanwhile, with another content
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../../adapters/memory/memory_storage.ts";
 * import { portableZstd } from "../../frame/portable_zstd.ts";
 * import { migrateLog } from "./migrate_log.ts";
 *
 * const storage = new MemoryStorage();
 * const line = '{"type":"session","version":0,"id":"a","createdAt":0,"delegationDepth":0}\n';
 * storage.stranger.write("_no-cwd/a/session.jsonl", new TextEncoder().encode(line));
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };
 * const { outcome, log } = await migrateLog({ storage, codec: portableZstd(), clock, random }, "a");
 * if (outcome !== "published" || log !== "_no-cwd/a/session.v3.jsonl") throw new Error("unreachable");
 * ```
 */
export async function migrateLog(
  options: JournalOptions,
  id: string,
  open: Pick<OpenOptions, "onMigration" | "signal" | "waitMs"> = {},
): Promise<Migration> {
  const context = contextOf(options);
  const { storage, clock } = context;
  const found = await locateLog(storage, id);
  const base = { id: found.id, from: found.version, to: FORMAT_VERSION };
  if (found.version === FORMAT_VERSION) {
    return { ...base, outcome: "current", log: found.log, events: null, sizeBytes: null };
  }
  const lock = await takeLock(storage, found.lock, `migrate session "${id}"`, clock, open);
  try {
    const place = await placeUnderLock(context, found, lock);
    if (place.version === FORMAT_VERSION) {
      return { ...base, outcome: "accepted", log: place.log, events: null, sizeBytes: null };
    }
    const { log, isAccepted, events, sizeBytes } = await migratePlace(context, place, lock, open);
    return { ...base, outcome: isAccepted ? "accepted" : "published", log, events, sizeBytes };
  } finally {
    await lock.release();
  }
}
