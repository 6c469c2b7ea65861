/**
 * Writes snapshots of one log that is open for writing, now and then, and takes the old ones away.
 *
 * Nobody waits for it but the end of the writer, and whatever is in its way is forgotten: the next opening then reads a little more.
 *
 * @module
 */
import { KEPT_FOLDS_VERSION, type KeptFolds, keptText } from "../../fold/mod.ts";
import { publish, type StorageLock, type StoragePort } from "../../storage/storage_port.ts";
import { fileSource } from "../byte_source.ts";
import { type LogEncoding, snapshotName } from "../layout.ts";
import { type JournalLimits, SNAPSHOT_BYTES_MAX, SNAPSHOT_LAST_FRAME_BYTES_MAX } from "../limits.ts";
import type { LogScan } from "../scan.ts";
import { digestOf, endDigestOf, snapshotNames, type SnapshotPlace } from "./resume.ts";
import { encodeSnapshot } from "./snapshot.ts";

/** What a keeper needs. */
export interface KeeperOptions extends SnapshotPlace {
  readonly storage: StoragePort;
  readonly limits: JournalLimits;
  readonly encoding: LogEncoding;
}

/** A log must have grown by at least this part of the last snapshot: one of a long conversation costs more than it saves. */
const SNAPSHOT_SHARE_MIN = 1 / 4;

/** The snapshots of one log. */
export class SnapshotKeeper {
  readonly #options: KeeperOptions;
  /** How far the log was at the last try, whatever came of it. */
  #last: { readonly nextSeq: number; readonly endBytes: number };
  /** How large the last one was that this keeper has written, in bytes. */
  #sizeBytes = 0;
  #writing: Promise<void> | null = null;
  #isOver = false;
  written = 0;
  problem: string | null = null;

  /** @param last how much of the log a snapshot stands for already */
  constructor(options: KeeperOptions, last: { readonly nextSeq: number; readonly endBytes: number }) {
    this.#options = options;
    this.#last = last;
  }

  /**
   * Writes a snapshot when the log has grown enough and no other is being written. The scan must stand at the end of what is
   * durable and come to exactly `kept`; what it says is taken now, and the rest is done later.
   */
  offer(kept: KeptFolds, scan: LogScan, lock: StorageLock): void {
    const { limits } = this.#options;
    const grownEvents = scan.log.nextSeq - this.#last.nextSeq;
    const grownBytes = scan.endBytes - this.#last.endBytes;
    if (this.#isOver || this.#writing !== null) return;
    if (grownEvents < limits.snapshotGrowthEvents && grownBytes < limits.snapshotGrowthBytes) return;
    if (grownBytes < this.#sizeBytes * SNAPSHOT_SHARE_MIN) return;
    if (scan.endBytes - scan.lastStartBytes > SNAPSHOT_LAST_FRAME_BYTES_MAX) return;
    this.#last = { nextSeq: scan.log.nextSeq, endBytes: scan.endBytes };
    const { headerEndBytes, endBytes: coveredBytes, lastStartBytes, frames } = scan;
    const { inheritedEventCount, hasInheritedSeed } = scan.log;
    const facts = { headerEndBytes, coveredBytes, lastStartBytes, frames, inheritedEventCount, hasInheritedSeed };
    const places = scan.index.places();
    this.#writing = this.#write({ ...facts, places }, kept, lock)
      .then(() => this.problem = null, (error) => this.problem = String(error?.message ?? error))
      .then(() => void (this.#writing = null));
  }

  /** Removes every snapshot there is. Returns whether there was one, or one was being written. */
  async removeAll(lock: StorageLock): Promise<boolean> {
    const wasWriting = this.#writing !== null;
    await this.#writing;
    const { storage } = this.#options;
    const names = await snapshotNames(storage, this.#options);
    for (const name of names) await storage.remove(name, lock);
    return wasWriting || names.length > 0;
  }

  /** Takes no more. Resolves when nothing is being written. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#writing;
  }

  async #write(
    facts: Pick<
      Parameters<typeof encodeSnapshot>[0],
      | "headerEndBytes"
      | "coveredBytes"
      | "lastStartBytes"
      | "frames"
      | "inheritedEventCount"
      | "hasInheritedSeed"
      | "places"
    >,
    kept: KeptFolds,
    lock: StorageLock,
  ): Promise<void> {
    const { storage, log, encoding } = this.#options;
    const source = fileSource(storage, log);
    const headerDigest = await digestOf(source, 0, facts.headerEndBytes);
    const endDigest = await endDigestOf(source, facts.lastStartBytes, facts.coveredBytes);
    const stat = await storage.stat(log);
    // A later write changes the word, and then it is not asked for.
    const revision = stat?.sizeBytes === facts.coveredBytes ? stat.revision : "";
    const whole = { ...facts, encoding, headerDigest, endDigest, revision, foldsVersion: KEPT_FOLDS_VERSION };
    const { bytes, digest } = await encodeSnapshot(whole, keptText(kept));
    if (bytes.length > SNAPSHOT_BYTES_MAX) return;
    const name = snapshotName(log, facts.coveredBytes, digest);
    const older = await snapshotNames(storage, this.#options);
    if (older.includes(name)) return;
    await publish(storage, name, bytes, lock);
    this.written++;
    this.#sizeBytes = bytes.length;
    for (const each of older) await storage.remove(each, lock);
  }
}
