/**
 * A log open for writing.
 *
 * @module
 */
import { AlreadyExistsError, hasCode } from "../errors.ts";
import { encodeHeader, encodeRow, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import type { KeptFolds } from "../fold/mod.ts";
import type { StorageFile, StorageLock } from "../storage/storage_port.ts";
import type { LogWriter, OpenOptions, SnapshotReport } from "../store/session_store.ts";
import { putBlob } from "./blobs.ts";
import { fileSource } from "./byte_source.ts";
import { type CheckedLog, withBatch } from "./checked_log.ts";
import type { JournalContext } from "./context.ts";
import { errorOf, type Finding } from "./finding.ts";
import { concat, encodeBatch, type EncodedBatch } from "./frames_of.ts";
import { LOCK_NAME, type LogEncoding, logPath, sessionPath } from "./layout.ts";
import { type LogPlace, placeOf } from "./locate.ts";
import { LogFile } from "./log_file.ts";
import { LogView, type ReadPlace } from "./log_view.ts";
import type { LogScan } from "./scan.ts";
import { SnapshotKeeper } from "./snapshot/keeper.ts";
import { PrefixCheck } from "./snapshot/prefix_check.ts";
import { type Found, resumeBySnapshot } from "./snapshot/resume.ts";
import { startScan } from "./start_scan.ts";
import { CLEAN_TAIL, readTail } from "./tail.ts";
import { keepTornTail, pruneTornCopies, type TornCopies } from "./torn_tail.ts";

/** The batch that was acknowledged last. */
interface LastBatch {
  readonly id: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** The only writer of a log. */
export class JournalWriter extends LogView implements LogWriter {
  readonly id: string;
  readonly header: SessionHeader;
  readonly encoding: LogEncoding;
  protected readonly place: ReadPlace;
  protected readonly scan: LogScan;
  readonly #lockName: string;
  /** `null` until the first write of a created session, which takes it; then held until close. */
  #lock: StorageLock | null = null;
  /** `null` until a created session is published. */
  #file: LogFile | null = null;
  /** Whether a copy of the torn tail is durable. From then on the log need not hold it any more. */
  #isTailKept = false;
  #lastBatch: LastBatch | null = null;
  /** Everything that writes is done one after the other; a call that fails does not stop the next. */
  #queue: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;
  readonly #onClose: () => void;
  readonly #keeper: SnapshotKeeper;
  #check: PrefixCheck | null = null;
  #openedBy: Pick<SnapshotReport, "openedBy" | "refused" | "coveredEvents"> = {
    openedBy: "whole read",
    refused: null,
    coveredEvents: 0,
  };
  /** What the check of the beginning found. From then on nothing is written. */
  #doubtful: Finding | null = null;

  private constructor(
    context: JournalContext,
    place: ReadPlace,
    header: SessionHeader,
    scan: LogScan,
    onClose: () => void,
    last: { readonly nextSeq: number; readonly endBytes: number } = { nextSeq: 0, endBytes: 0 },
  ) {
    super(context, place.log);
    this.#keeper = new SnapshotKeeper({ ...context, ...place }, last);
    this.id = place.id;
    this.place = place;
    this.encoding = place.encoding;
    this.header = header;
    this.scan = scan;
    this.#lockName = place.folder + LOCK_NAME;
    this.#onClose = onClose;
  }

  /** A session that has no file yet. Writes nothing. */
  static create(context: JournalContext, header: SessionHeader, onClose: () => void): JournalWriter {
    const encoding = context.compression;
    const place = { id: header.id, folder: sessionPath(header), log: logPath(header, encoding), encoding };
    const scan = startScan({ ...context, encoding });
    scan.header = header;
    return new JournalWriter(context, place, header, scan, onClose);
  }

  /**
   * Reads a log under its lock, and makes sure that what was found is durable before anybody builds on it.
   *
   * @param judge what forbids writing, as far as it is not in the bytes
   * @throws the finding, as an error, when the log is not fit for writing; nothing was changed
   */
  static async open(
    context: JournalContext,
    place: LogPlace,
    lock: StorageLock,
    judge: (header: SessionHeader) => Promise<Finding | null>,
    options: OpenOptions,
    onClose: () => void,
  ): Promise<JournalWriter> {
    const { visit } = options;
    const reopen = () => context.storage.open(place.log, lock);
    const file = await reopen();
    try {
      const { scan, found } = await scanned(context, place, file.sizeBytes, options);
      const tail = await readTail(context, place, scan);
      const finding = scan.stop ?? await judge(scan.header!) ?? scan.finding ?? tail.salvage?.objection ?? null;
      if (finding !== null) throw errorOf(finding, `open session "${place.id}" for writing`);
      for (const event of tail.salvage?.events ?? []) visit?.(event);
      // A writer that was killed between append and sync left rows that only the cache holds.
      await file.sync();
      const resumed = found !== null && "kept" in found ? found : null;
      const last = resumed === null
        ? undefined
        : { nextSeq: resumed.kept.folds.nextSeq, endBytes: resumed.snapshot.coveredBytes };
      const writer = new JournalWriter(context, place, scan.header!, scan, onClose, last);
      writer.tail = tail;
      writer.#lock = lock;
      writer.#file = new LogFile(file, scan.endBytes, reopen);
      writer.bell.acknowledgedBytes = file.sizeBytes; // A torn tail stays readable until it is recovered.
      await writer.#begin(found, lock);
      return writer;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Nothing depends on it, so nothing that is in its way is an error. */
  async #begin(found: Found, lock: StorageLock): Promise<void> {
    if (found === null) return;
    if ("refused" in found) {
      this.#openedBy = { openedBy: "whole read", refused: found.refused, coveredEvents: 0 };
      // One that stands for more than there is must be gone before the log grows over it.
      await this.#keeper.removeAll(lock).catch((error) => this.#keeper.problem = String(error?.message ?? error));
      return;
    }
    const { kept: { folds: { nextSeq } }, snapshot } = found;
    this.#openedBy = { openedBy: "snapshot", refused: null, coveredEvents: nextSeq };
    const onMismatch = (finding: Finding) => {
      this.#doubtful = finding;
      // The next opening shall read everything and say what is wrong.
      void this.#enqueue(() => this.#keeper.removeAll(lock)).catch(() => {});
    };
    const { encoding, place: { log }, context } = this;
    this.#check = new PrefixCheck({ ...context, encoding, log, snapshot, onMismatch });
  }

  offer(kept: KeptFolds): void {
    const { scan, tail } = this;
    if (this.#file === null || this.#lock === null || this.#closing !== null || this.doubt !== null) return;
    // What is not durable, or not whole, is nothing to build on.
    if (kept.folds.nextSeq !== scan.log.nextSeq || tail.torn !== null || scan.finding !== null) return;
    if (this.#file.failure === null) this.#keeper.offer(kept, scan, this.#lock);
  }

  snapshots(): SnapshotReport {
    const { written, problem } = this.#keeper;
    return { ...this.#openedBy, check: this.#check?.state ?? "none", written, problem };
  }

  get doubt(): Error | null {
    return this.#doubtful === null ? null : this.errorOf(this.#doubtful, "write to");
  }

  protected get objection(): Finding | null {
    return this.#doubtful;
  }

  async append(events: readonly SessionEvent[], options: { readonly batchId?: string } = {}): Promise<number> {
    this.checkOpen("append to");
    const rows = events.map(encodeRow); // Now, because the caller may change what it handed over.
    const first = events[0]?.seq ?? null;
    return await this.#enqueue(async () => {
      const { batchId } = options;
      if (batchId !== undefined && batchId === this.#lastBatch?.id) {
        return this.#repeat(this.#lastBatch, first, rows.length);
      }
      this.#checkDoubt();
      const lastSeq = await this.#append(rows, first);
      if (batchId !== undefined && first !== null) this.#lastBatch = { id: batchId, firstSeq: first, lastSeq };
      return lastSeq;
    });
  }

  async recover(events: readonly SessionEvent[]): Promise<number> {
    this.checkOpen("recover");
    const rows = events.map(encodeRow);
    const first = events[0]?.seq ?? null;
    return await this.#enqueue(async () => {
      this.#checkDoubt();
      this.#accept(rows, first); // Before anything is changed.
      await this.#recoverTail();
      return await this.#append(rows, first);
    });
  }

  async materialize(): Promise<void> {
    this.checkOpen("materialize");
    await this.#enqueue(async () => {
      this.#checkDoubt();
      if (this.#file === null) await this.#publish(null);
    });
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    this.checkOpen("keep a blob of");
    const copy = bytes.slice();
    return await this.#enqueue(async () => {
      return await putBlob({ ...this.context, folder: this.place.folder }, copy, await this.#takeLock());
    });
  }

  override close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await super.close(); // New calls are refused from now on.
    await this.#check?.stop();
    await this.#queue;
    await this.#keeper.end();
    this.bell.acknowledgedBytes = null;
    const errors: unknown[] = [];
    await this.#file?.close().catch((error) => errors.push(error));
    await this.#lock?.release().catch((error) => errors.push(error));
    this.#onClose();
    if (errors.length > 0) throw new AggregateError(errors, `Cannot close session "${this.id}" cleanly`);
  }

  protected get sizeBytes(): number | null {
    return this.#file === null ? null : this.scan.endBytes + this.scan.tailBytes;
  }

  /** Nobody else writes, so there is never any news. */
  protected refresh(): Promise<void> {
    return Promise.resolve();
  }

  #enqueue<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = this.#queue.then(act);
    this.#queue = done.then(() => {}, () => {});
    return done;
  }

  #repeat({ id, firstSeq, lastSeq }: LastBatch, first: number | null, count: number): number {
    if (first === firstSeq && lastSeq - firstSeq + 1 === count) return lastSeq;
    throw new TypeError(`Cannot append batch "${id}": it was acknowledged with the events ${firstSeq} to ${lastSeq}`);
  }

  async #append(rows: readonly string[], first: number | null): Promise<number> {
    const log = this.#accept(rows, first);
    if (rows.length === 0) return log.nextSeq - 1;
    const batch = encodeBatch(rows, this.#encoder);
    if (this.#file === null) {
      await this.#publish({ batch, log });
    } else {
      await this.#recoverTail();
      await this.#appendBytes(this.#file, batch.bytes);
      this.#acknowledge(log, batch);
    }
    return log.nextSeq - 1;
  }

  /** A log comes before its snapshots: on a full medium they make room for it. */
  async #appendBytes(file: LogFile, bytes: Uint8Array): Promise<void> {
    try {
      return await file.append(bytes);
    } catch (error) {
      if (!hasCode(error, "STORAGE_FULL") || file.failure !== null) throw error;
      const hadSome = await this.#keeper.removeAll(await this.#takeLock()).catch(() => false);
      if (!hadSome) throw error;
    }
    await file.append(bytes);
  }

  #checkDoubt(): void {
    const { doubt } = this;
    if (doubt !== null) throw doubt;
  }

  /** The log with these rows. Throws when they are not what may come next. */
  #accept(rows: readonly string[], first: number | null): CheckedLog {
    return withBatch(this.log, rows, first, this.header, `append to session "${this.id}"`);
  }

  /** Publishes the file with its header and, when there is one, the first batch. */
  async #publish(first: { readonly batch: EncodedBatch; readonly log: CheckedLog } | null): Promise<void> {
    const { storage } = this.context;
    const { log: name, folder } = this.place;
    const lock = await this.#takeLock();
    const taken = placeOf(folder, await storage.list(folder));
    if (taken !== null) {
      throw new AlreadyExistsError(`Cannot create session "${this.id}": "${taken.log}" is there already`);
    }
    const header = encodeBatch([encodeHeader(this.header)], this.#encoder);
    const bodyBytes = first?.batch.bytes ?? new Uint8Array(0);
    const staged = await storage.stage(name, lock);
    try {
      await staged.append(concat([header.bytes, bodyBytes], header.bytes.length + bodyBytes.length));
      const file = await staged.publish();
      const reopen = (): Promise<StorageFile> => storage.open(name, lock);
      this.#file = new LogFile(file, file.sizeBytes, reopen);
      this.scan.appended(this.scan.log, [{ offsetBytes: 0, seq: 0 }], header.frames, header.bytes.length);
      if (first === null) this.#acknowledge(this.scan.log, null);
      else this.#acknowledge(first.log, first.batch);
    } finally {
      await staged.discard();
    }
  }

  async #takeLock(): Promise<StorageLock> {
    return this.#lock ??= await this.context.storage.lock(this.#lockName);
  }

  /** Puts the log in order behind its last complete record. Does nothing when it is. May be repeated after a failure. */
  async #recoverTail(): Promise<void> {
    const { torn } = this.tail;
    const file = this.#file;
    if (torn === null || file === null) return;
    const lock = await this.#takeLock();
    const { storage, codec, limits } = this.context;
    const copies: TornCopies = { storage, codec, limits, ...this.place };
    const { scan, tail: { salvage } } = this;
    if (scan.tailBytes > 0) {
      const startBytes = scan.endBytes;
      if (!this.#isTailKept) {
        const tail = await storage.read(this.place.log, { startBytes, endBytes: startBytes + scan.tailBytes });
        await keepTornTail(copies, startBytes, tail, lock);
        this.#isTailKept = true;
      }
      await file.cutBack();
      scan.appended(scan.log, [], 0, startBytes);
      this.bell.acknowledgedBytes = startBytes;
      this.tail = { ...this.tail, torn: { ...torn, bytes: 0 } };
    }
    if (salvage !== null && salvage.events.length > 0) {
      // One frame, whatever its size: of several, a crash could leave the first, and nothing would lead back to the copy.
      const frame = codec.compress(salvage.rows);
      await file.append(frame);
      this.#acknowledge(salvage.log, { bytes: frame, frames: 1, places: [{ offsetBytes: 0, row: 0 }] });
    }
    this.tail = CLEAN_TAIL;
    // The log is in order; that old copies could not be removed concerns nobody now, and is tried again next time.
    await pruneTornCopies(copies, scan.endBytes, lock).catch(() => {});
  }

  /** What was appended is durable: it may be read, and watchers hear of it. */
  #acknowledge(log: CheckedLog, batch: EncodedBatch | null): void {
    const { scan } = this;
    const { endBytes, log: { nextSeq } } = scan;
    const places = batch?.places.map(({ offsetBytes, row }) => ({
      offsetBytes: endBytes + offsetBytes,
      seq: nextSeq + row,
    }));
    scan.appended(log, places ?? [], batch?.frames ?? 0, endBytes + (batch?.bytes.length ?? 0));
    this.bell.acknowledgedBytes = scan.endBytes;
    this.bell.ring();
  }

  get #encoder(): { encoding: LogEncoding; codec: JournalContext["codec"]; limits: JournalContext["limits"] } {
    return { encoding: this.encoding, codec: this.context.codec, limits: this.context.limits };
  }
}

/**
 * Reads a log, behind a snapshot where there is one that fits. What is wrong with a log is never said by the word of a snapshot: then
 * it is read whole after all.
 */
async function scanned(
  context: JournalContext,
  place: LogPlace,
  sizeBytes: number,
  { visit, signal, restore }: OpenOptions,
): Promise<{ readonly scan: LogScan; readonly found: Found }> {
  const source = fileSource(context.storage, place.log);
  let found = restore === undefined ? null : await resumeBySnapshot(context, place, sizeBytes, signal);
  if (found !== null && "kept" in found) {
    restore!(found.kept);
    await found.scan.advance(source, sizeBytes, { visit, signal });
    if (found.scan.finding === null) return { scan: found.scan, found };
    found = { refused: `with it the log looks damaged: ${found.scan.finding.message}` };
    restore!(null);
  }
  const scan = startScan({ ...context, encoding: place.encoding });
  await scan.advance(source, sizeBytes, { visit, signal });
  return { scan, found };
}
