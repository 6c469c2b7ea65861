/**
 * What a reader and a writer have in common: a scan, and pages from where it has been.
 *
 * @module
 */
import { type HoldfastError, SessionClosedError } from "../errors.ts";
import type { SessionEvent, SessionHeader } from "../event/mod.ts";
import type { StorageTraits } from "../storage/storage_port.ts";
import type { EventPage, LogReader, LogState } from "../store/session_store.ts";
import type { Bell } from "./bells.ts";
import { getBlob } from "./blobs.ts";
import { fileSource } from "./byte_source.ts";
import type { JournalContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { errorOf, faultOf, type Finding } from "./finding.ts";
import type { LogEncoding } from "./layout.ts";
import { PAGE_EVENTS_DEFAULT, WATCH_POLL_MS } from "./limits.ts";
import type { CheckedLog } from "./checked_log.ts";
import { PageReader } from "./page.ts";
import type { Salvage } from "./salvage.ts";
import type { LogScan } from "./scan.ts";
import { CLEAN_TAIL, type LogTail } from "./tail.ts";
import { watchLog } from "./watch.ts";

/** Where a log lies that is being read. */
export interface ReadPlace {
  readonly id: string;
  readonly folder: string;
  readonly log: string;
  readonly encoding: LogEncoding;
  /** The version in its name; absent where names mean nothing. */
  readonly version?: number;
  /** How its rows are read. Default: as version 3. */
  readonly dialect?: Dialect<SessionEvent>;
}

/** What a reader and a writer have in common: a scan, and pages from where it has been. */
export abstract class LogView implements LogReader {
  abstract readonly id: string;
  abstract readonly header: SessionHeader;
  abstract readonly encoding: LogEncoding;
  protected readonly context: JournalContext;
  protected readonly bell: Bell;
  protected tail: LogTail = CLEAN_TAIL;
  readonly #pages = new PageReader();
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
    return this.log.inheritedEventCount;
  }

  state(): LogState {
    const { scan, tail } = this;
    const finding = this.finding;
    return {
      sizeBytes: this.sizeBytes,
      frames: scan.frames,
      nextSeq: this.log.nextSeq,
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
    const { log: { nextSeq }, salvage, scan: { log: { nextSeq: solidSeq } } } = this;
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
    return watchLog({ bell, clock, page, isClosed: () => this.#isClosed, pollMs: WATCH_POLL_MS }, from, options.signal);
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

  /** The log with everything that can be read. */
  protected get log(): CheckedLog {
    return this.salvage?.log ?? this.scan.log;
  }

  /** Records of the tail. A scan that is going on may have come past them already: then they are not the tail any more. */
  protected get salvage(): Salvage | null {
    const { salvage } = this.tail;
    return salvage?.events[0]?.seq === this.scan.log.nextSeq ? salvage : null;
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
    const { dialect } = this.place;
    const readable = { source, encoding, codec, limits, index, readableBytes, nextSeq, dialect };
    const events = await this.#pages.read(readable, from, limit);
    return pageOf(events, from, nextSeq);
  }
}

/** A page, and where the next one begins. */
export function pageOf(events: readonly SessionEvent[], from: number, nextSeq: number): EventPage {
  const next = from + events.length;
  return { events, nextFrom: next < nextSeq ? next : null };
}

/** Refuses what is no count of at least `least`. */
export function checkCount(value: number, name: string, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RangeError(`Cannot read: "${name}" is ${value}, wanted an integer of at least ${least}`);
}
