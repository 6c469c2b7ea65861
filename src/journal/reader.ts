/**
 * A log open for reading.
 *
 * @module
 */
import { type HoldfastError, NotFoundError, SessionClosedError } from "../errors.ts";
import type { SessionEvent, SessionHeader } from "../event/mod.ts";
import type { StorageTraits } from "../storage/storage_port.ts";
import type { EventPage, LogReader, LogState } from "../store/session_store.ts";
import type { Bell } from "./bells.ts";
import { getBlob } from "./blobs.ts";
import { fileSource } from "./byte_source.ts";
import type { JournalContext } from "./context.ts";
import { errorOf, faultOf, type Finding } from "./finding.ts";
import type { LogEncoding } from "./layout.ts";
import { PAGE_EVENTS_DEFAULT } from "./limits.ts";
import { readPage } from "./page.ts";
import { type AdvanceOptions, LogScan } from "./scan.ts";
import { CLEAN_TAIL, type LogTail, readTail } from "./tail.ts";
import { watchLog } from "./watch.ts";

/** Where a log lies that is being read. */
export interface ReadPlace {
  readonly id: string;
  readonly folder: string;
  readonly log: string;
  readonly encoding: LogEncoding;
}

/** What a reader and a writer have in common: a scan, and pages from where it has been. */
export abstract class LogView implements LogReader {
  abstract readonly id: string;
  abstract readonly header: SessionHeader;
  abstract readonly encoding: LogEncoding;
  protected readonly context: JournalContext;
  protected readonly bell: Bell;
  protected tail: LogTail = CLEAN_TAIL;
  #isClosed = false;

  constructor(context: JournalContext, log: string) {
    this.context = context;
    this.bell = context.bells.acquire(log);
  }

  protected abstract readonly place: ReadPlace;
  protected abstract get scan(): LogScan;
  /** How large the file is, as last seen; `null` when there is none yet. */
  protected abstract get sizeBytes(): number | null;
  /** What forbids writing, whatever is in the file. */
  protected abstract get objection(): Finding | null;
  /** Looks whether the file has grown. */
  protected abstract refresh(options: { readonly withTail: boolean }): Promise<void>;

  get traits(): StorageTraits {
    return this.context.storage.traits;
  }

  get inheritedEventCount(): number {
    return (this.tail.salvage?.log ?? this.scan.log).inheritedEventCount;
  }

  state(): LogState {
    const { scan, tail } = this;
    const finding = this.finding;
    return {
      sizeBytes: this.sizeBytes,
      frames: scan.frames,
      nextSeq: this.nextSeq,
      torn: tail.torn,
      fault: finding === null ? null : faultOf(finding),
    };
  }

  async read(options: { readonly from?: number; readonly limit?: number } = {}): Promise<EventPage> {
    const { from = 0, limit = PAGE_EVENTS_DEFAULT } = options;
    checkCount(from, "from", 0);
    checkCount(limit, "limit", 1);
    this.checkOpen("read");
    await this.refresh({ withTail: true });
    const { nextSeq, tail: { salvage }, scan: { log: { nextSeq: solidSeq } } } = this;
    const { events } = await this.#solidPage(from, limit);
    const next = from + events.length;
    if (next < solidSeq || salvage === null) return pageOf(events, from, nextSeq);
    return pageOf(
      [...events, ...salvage.events.slice(next - solidSeq, next - solidSeq + limit - events.length)],
      from,
      nextSeq,
    );
  }

  watch(from: number, options: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    checkCount(from, "from", 0);
    this.checkOpen("watch");
    const { bell, context: { clock } } = this;
    const page = async (next: number) => {
      await this.refresh({ withTail: false });
      const { scan } = this;
      const found = await this.#solidPage(next, PAGE_EVENTS_DEFAULT);
      if (found.events.length === 0 && scan.stop !== null) throw this.errorOf(scan.stop, "watch");
      return found;
    };
    return watchLog({ bell, clock, page, isClosed: () => this.#isClosed }, from, options.signal);
  }

  async getBlob(digest: string): Promise<Uint8Array<ArrayBuffer>> {
    this.checkOpen("read a blob of");
    return await getBlob({ ...this.context, folder: this.place.folder }, digest);
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.bell.ring(); // Ends what watches through this view.
    this.context.bells.release(this.place.log);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One more than the seq of the last event that can be read. */
  protected get nextSeq(): number {
    return (this.tail.salvage?.log ?? this.scan.log).nextSeq;
  }

  /** Why this log is not fit for writing. What ends the reading comes first. */
  protected get finding(): Finding | null {
    return this.scan.stop ?? this.objection ?? this.scan.finding ?? this.tail.salvage?.objection ?? null;
  }

  protected checkOpen(verb: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${verb} session "${this.id}": it is closed`);
  }

  protected errorOf(finding: Finding, verb: string): HoldfastError {
    return errorOf(finding, `${verb} session "${this.id}"`);
  }

  /** Events of complete records only. */
  async #solidPage(from: number, limit: number): Promise<EventPage> {
    const { scan: { log, index, readableBytes }, encoding, context: { storage, codec, limits } } = this;
    const source = fileSource(storage, this.place.log);
    const { nextSeq } = log;
    const events = await readPage({ source, encoding, codec, limits, index, readableBytes, nextSeq }, from, limit);
    return pageOf(events, from, nextSeq);
  }
}

/** A log that somebody else may write meanwhile. */
export class JournalReader extends LogView {
  readonly id: string;
  readonly header: SessionHeader;
  readonly encoding: LogEncoding;
  protected readonly place: ReadPlace;
  protected readonly objection: Finding | null;
  #scan: LogScan;
  #seen: { readonly sizeBytes: number; readonly revision: string };
  /** Where the scan stood when `tail` was looked at. */
  #tailKey: string;
  readonly #onClose: () => void;
  /** Looks are taken one after the other. */
  #refreshing: Promise<void> = Promise.resolve();

  private constructor(
    context: JournalContext,
    place: ReadPlace,
    header: SessionHeader,
    opened: OpenedLog,
    onClose: () => void,
  ) {
    super(context, place.log);
    this.#onClose = onClose;
    this.id = header.id;
    this.place = place;
    this.encoding = place.encoding;
    this.header = header;
    this.objection = opened.objection;
    this.#scan = opened.scan;
    this.#seen = opened.seen;
    this.tail = opened.tail;
    this.#tailKey = tailKey(opened.scan, opened.seen.revision);
  }

  /**
   * Reads a log whole, up to its end or to damage.
   *
   * @param judge says what forbids writing, once the header is known
   * @throws the finding, as an error, when not even the header can be read
   */
  static async open(
    context: JournalContext,
    place: ReadPlace,
    judge: (header: SessionHeader) => Promise<Finding | null>,
    options: AdvanceOptions = {},
    onClose: () => void = () => {},
  ): Promise<JournalReader> {
    const bell = context.bells.acquire(place.log);
    try {
      const scan = new LogScan({ ...context, encoding: place.encoding });
      const seen = await look(context, place, bell);
      await scan.advance(fileSource(context.storage, place.log), seen.sizeBytes, options);
      const { header } = scan;
      if (header === null) throw errorOf(scan.stop!, `open session "${place.id}"`);
      const tail = await readTail(context, place, scan);
      for (const event of tail.salvage?.events ?? []) options.visit?.(event);
      const opened = { scan, seen, tail, objection: await judge(header) };
      return new JournalReader(context, place, header, opened, onClose);
    } finally {
      context.bells.release(place.log);
    }
  }

  override close(): Promise<void> {
    this.#onClose();
    return super.close();
  }

  protected get scan(): LogScan {
    return this.#scan;
  }

  protected get sizeBytes(): number {
    return this.#seen.sizeBytes;
  }

  protected refresh(options: { readonly withTail: boolean }): Promise<void> {
    const refreshed = this.#refreshing.then(() => this.#refresh(options));
    this.#refreshing = refreshed.catch(() => {});
    return refreshed;
  }

  async #refresh({ withTail }: { readonly withTail: boolean }): Promise<void> {
    const { context, place } = this;
    const seen = await look(context, place, this.bell);
    const isNews = seen.sizeBytes !== this.#seen.sizeBytes || seen.revision !== this.#seen.revision;
    if (isNews) await this.#advance(seen.sizeBytes);
    this.#seen = seen;
    const key = tailKey(this.#scan, seen.revision);
    if (key === this.#tailKey) return;
    this.tail = withTail ? await readTail(context, place, this.#scan) : CLEAN_TAIL;
    this.#tailKey = withTail ? key : "";
  }

  async #advance(sizeBytes: number): Promise<void> {
    const source = fileSource(this.context.storage, this.place.log);
    const wasStopped = this.#scan.stop !== null;
    if (sizeBytes >= this.#scan.endBytes && !wasStopped) {
      await this.#scan.advance(source, sizeBytes);
      if (this.#scan.stop === null) return;
    }
    // The file is shorter than what was read, or goes on otherwise: a writer took back a batch that it could not make durable,
    // and may have written another. Only a reading from the start tells that from damage.
    const scan = new LogScan({ ...this.context, encoding: this.encoding });
    await scan.advance(source, sizeBytes);
    if (scan.header !== null && scan.header.createdAt !== this.header.createdAt) {
      throw new NotFoundError(`Cannot read session "${this.id}": another log took its place`);
    }
    this.#scan = scan;
    this.tail = CLEAN_TAIL;
    this.#tailKey = "";
  }
}

/** What opening a log found. */
interface OpenedLog {
  readonly scan: LogScan;
  readonly seen: { readonly sizeBytes: number; readonly revision: string };
  readonly tail: LogTail;
  readonly objection: Finding | null;
}

/** How large the log is now. What a writer of this store has not acknowledged is left out. */
async function look(
  { storage }: JournalContext,
  { id, log }: ReadPlace,
  bell: Bell,
): Promise<{ sizeBytes: number; revision: string }> {
  const stat = await storage.stat(log);
  if (stat === null) throw new NotFoundError(`Cannot read session "${id}": "${log}" is not there`);
  return { sizeBytes: Math.min(stat.sizeBytes, bell.acknowledgedBytes ?? Infinity), revision: stat.revision };
}

function tailKey({ endBytes, tailBytes }: LogScan, revision: string): string {
  return `${endBytes}+${tailBytes}:${revision}`;
}

function pageOf(events: readonly SessionEvent[], from: number, nextSeq: number): EventPage {
  const next = from + events.length;
  return { events, nextFrom: next < nextSeq ? next : null };
}

function checkCount(value: number, name: string, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RangeError(`Cannot read: "${name}" is ${value}, wanted an integer of at least ${least}`);
}
