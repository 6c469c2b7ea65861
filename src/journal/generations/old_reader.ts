/**
 * A log of version 0, 1 or 2 open for reading. Nothing is written: what is shown is made in memory.
 *
 * @module
 */
import { NotFoundError, SessionClosedError } from "../../errors.ts";
import type { SessionEvent, SessionHeader } from "../../event/mod.ts";
import type { StorageTraits } from "../../storage/storage_port.ts";
import type { EventPage, LogReader, LogState, OpenOptions } from "../../store/session_store.ts";
import type { Bell } from "../bells.ts";
import { getBlob } from "../blobs.ts";
import { fileSource } from "../byte_source.ts";
import type { JournalContext } from "../context.ts";
import { errorOf, faultOf, type Finding } from "../finding.ts";
import type { LogEncoding } from "../layout.ts";
import { foldedEvent, type LegacyVersion } from "../legacy/mod.ts";
import { PAGE_EVENTS_DEFAULT, WATCH_POLL_MS } from "../limits.ts";
import { checkCount, pageOf, type ReadPlace } from "../log_view.ts";
import { watchLog } from "../watch.ts";
import { EventCursor } from "./event_cursor.ts";
import type { OldSink, OldView } from "./old_dialect.ts";
import { type OldLog, readOldLog } from "./old_log.ts";

/** How much text of rows an old log may have for its events to be kept in memory, in UTF-16 units. A longer one is read again. */
export const OLD_EVENTS_KEPT_LENGTH_MAX: number = 16 * 1024 * 1024;

/** What forbids writing, once the stored header is known. */
export type Judge = (header: SessionHeader) => Promise<Finding | null>;

/** What a reading found. */
interface Loaded {
  readonly seen: { readonly sizeBytes: number; readonly revision: string };
  readonly old: OldLog;
  readonly view: OldView;
  readonly header: SessionHeader;
  readonly finding: Finding | null;
  /** All events; `null` when they are too many to be kept. */
  readonly kept: readonly SessionEvent[] | null;
}

/** A log of an older version, for reading. */
export class OldReader implements LogReader {
  readonly id: string;
  readonly encoding: LogEncoding;
  readonly #context: JournalContext;
  readonly #place: ReadPlace;
  readonly #version: LegacyVersion;
  readonly #judge: Judge;
  readonly #as: OpenOptions["as"];
  readonly #onClose: () => void;
  readonly #bell: Bell;
  #loaded: Loaded;
  #cursor: EventCursor | null = null;
  /** Looks and pages are taken one after the other. */
  #queue: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(options: OldReaderOptions, loaded: Loaded) {
    this.#context = options.context;
    this.#place = options.place;
    this.#version = options.version;
    this.#judge = options.judge;
    this.#as = options.open?.as;
    this.#onClose = options.onClose ?? (() => {});
    this.#loaded = loaded;
    this.id = loaded.header.id;
    this.encoding = options.place.encoding;
    this.#bell = options.context.bells.acquire(options.place.log);
  }

  /**
   * Reads an old log whole.
   *
   * @throws the finding, as an error, when not even the header can be read
   */
  static async open(options: OldReaderOptions): Promise<OldReader> {
    const loaded = await load(options);
    const reader = new OldReader(options, loaded);
    const { visit, signal } = options.open ?? {};
    if (visit !== undefined) await reader.#visit(visit, signal);
    return reader;
  }

  get header(): SessionHeader {
    return this.#loaded.header;
  }

  get storedVersion(): number | undefined {
    return this.header.version === this.#version ? undefined : this.#version;
  }

  get inheritedEventCount(): number {
    return this.#loaded.old.inheritedEventCount;
  }

  get traits(): StorageTraits {
    return this.#context.storage.traits;
  }

  state(): LogState {
    const { seen, old: { scan, torn, nextSeq }, finding } = this.#loaded;
    const fault = finding === null ? null : faultOf(finding);
    return { sizeBytes: seen.sizeBytes, frames: scan.frames, nextSeq, torn, fault };
  }

  async read(options: { readonly from?: number; readonly limit?: number } = {}): Promise<EventPage> {
    const { from = 0, limit = PAGE_EVENTS_DEFAULT } = options;
    checkCount(from, "from", 0);
    checkCount(limit, "limit", 1);
    this.#checkOpen("read");
    return await this.#enqueue(async () => {
      await this.#refresh();
      return await this.#page(from, limit);
    });
  }

  watch(from: number, options: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    checkCount(from, "from", 0);
    this.#checkOpen("watch");
    const page = async (next: number) => {
      const found = await this.#enqueue(async () => {
        await this.#refresh();
        return await this.#page(next, PAGE_EVENTS_DEFAULT);
      });
      const { finding, old: { scan } } = this.#loaded;
      if (found.events.length === 0 && finding !== null && scan.stop !== null) {
        throw errorOf(finding, `watch session "${this.id}"`);
      }
      return found;
    };
    const { clock } = this.#context;
    return watchLog(
      { bell: this.#bell, clock, page, isClosed: () => this.#isClosed, pollMs: WATCH_POLL_MS },
      from,
      options.signal,
    );
  }

  async getBlob(digest: string): Promise<Uint8Array<ArrayBuffer>> {
    this.#checkOpen("read a blob of");
    return await getBlob({ ...this.#context, folder: this.#place.folder }, digest);
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.#cursor?.close();
    this.#bell.ring(); // Ends what watches through this reader.
    this.#context.bells.release(this.#place.log);
    this.#onClose();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #page(from: number, limit: number): Promise<EventPage> {
    const { kept, old: { nextSeq }, seen, view } = this.#loaded;
    if (kept !== null) return pageOf(kept.slice(from, from + limit), from, nextSeq);
    const readOnce = (sink: OldSink, signal: AbortSignal) =>
      readOldLog({ ...optionsOf(this.#context, this.#place, this.#version), ...seen, view, sink, signal });
    this.#cursor ??= new EventCursor(readOnce);
    return pageOf(await this.#cursor.read(from, limit), from, nextSeq);
  }

  /** Every event, once, for folds: what none of them would understand has no meaning, and is counted. */
  async #visit(visit: NonNullable<OpenOptions["visit"]>, signal: AbortSignal | undefined): Promise<void> {
    const { seen, view, kept } = this.#loaded;
    const foldable = view === "stored" ? "viewed" : view;
    const show: OldSink = (events) => {
      for (const event of events) visit(foldedEvent(event));
    };
    if (kept !== null && foldable === view) return show(kept, 0);
    const options = { ...optionsOf(this.#context, this.#place, this.#version), ...seen, signal };
    await readOldLog({ ...options, view: foldable, sink: show });
  }

  /** An old log may still be written by the program it is of, which asks nobody. */
  async #refresh(): Promise<void> {
    const seen = await look(this.#context, this.#place);
    const { sizeBytes, revision } = this.#loaded.seen;
    if (seen.sizeBytes === sizeBytes && seen.revision === revision) return;
    this.#cursor?.close();
    this.#cursor = null;
    const { header: { createdAt } } = this.#loaded;
    this.#loaded = await load({
      ...{ context: this.#context, place: this.#place, version: this.#version, judge: this.#judge },
      open: { as: this.#as },
    });
    if (this.header.id !== this.id || this.header.createdAt !== createdAt) {
      throw new NotFoundError(`Cannot read session "${this.id}": another log took its place`);
    }
  }

  #enqueue<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = this.#queue.then(act);
    this.#queue = done.then(() => {}, () => {});
    return done;
  }

  #checkOpen(verb: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${verb} session "${this.id}": it is closed`);
  }
}

/** What a reader of an old log is made of. */
export interface OldReaderOptions {
  readonly context: JournalContext;
  readonly place: ReadPlace;
  readonly version: LegacyVersion;
  readonly judge: Judge;
  readonly open?: OpenOptions;
  readonly onClose?: () => void;
}

/**
 * Finds out what an old log is. What has no place in the current version is known at the end only, so such a log is read a second
 * time, as it is stored.
 */
async function load(options: OldReaderOptions): Promise<Loaded> {
  const { context, place, version, judge, open = {} } = options;
  const seen = await look(context, place);
  const read = async (view: OldView) => {
    const keeper = new Keeper();
    const base = { ...optionsOf(context, place, version), ...seen, signal: open.signal };
    const old = await readOldLog({ ...base, view, sink: keeper.sink });
    return { old, kept: keeper.events };
  };
  const migrated = await read("migrated");
  const { scan, refusal } = migrated.old;
  const stored = scan.header;
  if (stored === null) throw errorOf(scan.stop!, `open session "${place.id}"`);
  const finding = scan.stop ?? await judge(stored) ?? scan.finding ?? refusal;

  const hasNoPlace = refusal !== null && refusal.code === "UNSUPPORTED_FORMAT";
  const view = open.as === "stored" ? "stored" : hasNoPlace ? "viewed" : "migrated";
  const shown = view === "migrated" && migrated.old.header !== null ? migrated : await read(wanted(view));
  return { seen, view: wanted(view), header: shown.old.header ?? stored, finding, ...shown };

  /** A header that says something impossible leaves nothing to migrate, and what is stored can still be seen. */
  function wanted(view: OldView): OldView {
    return view === "migrated" && migrated.old.header === null ? "viewed" : view;
  }
}

/** Keeps events while they are few. */
class Keeper {
  events: SessionEvent[] | null = [];
  #length = 0;

  readonly sink: OldSink = (events, textLength) => {
    this.#length += textLength;
    if (this.#length > OLD_EVENTS_KEPT_LENGTH_MAX) this.events = null;
    if (this.events !== null) { for (const event of events) this.events.push(event); }
  };
}

function optionsOf({ storage, codec, limits }: JournalContext, place: ReadPlace, version: LegacyVersion) {
  const { log, encoding } = place;
  return { source: fileSource(storage, log), encoding, codec, limits, version } as const;
}

async function look(
  { storage }: JournalContext,
  { id, log }: ReadPlace,
): Promise<{ sizeBytes: number; revision: string }> {
  const stat = await storage.stat(log);
  if (stat === null) throw new NotFoundError(`Cannot read session "${id}": "${log}" is not there`);
  return stat;
}
