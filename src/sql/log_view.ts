/**
 * What a reader and a writer of a log in a database have in common: a scan, and pages of what it has checked.
 *
 * @module
 */
import { CorruptLogError, NotFoundError, SessionClosedError } from "../errors.ts";
import { RowFault, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import type { Bell } from "../store/bells.ts";
import type { EventPage, LogReader, LogState } from "../store/session_store.ts";
import { watchLog } from "../store/watch.ts";
import { getBlob } from "./blobs.ts";
import { eventOf } from "./columns.ts";
import type { SqlContext } from "./context.ts";
import { errorOf, faultOf } from "./finding.ts";
import { PAGE_BYTES_MAX, PAGE_EVENTS_DEFAULT, READ_ROWS_MAX, WATCH_POLL_MS } from "./limits.ts";
import { eventRows, type SqlScan } from "./log_scan.ts";
import { packText } from "./text_column.ts";

/** A log in a database. */
export abstract class SqlLogView implements LogReader {
  readonly id: string;
  readonly header: SessionHeader;
  readonly encoding = null;
  protected readonly context: SqlContext;
  protected readonly key: string;
  protected readonly bell: Bell;
  protected readonly scan: SqlScan;
  #isClosed = false;

  constructor(context: SqlContext, scan: SqlScan) {
    this.context = context;
    this.header = scan.header;
    this.id = scan.header.id;
    this.key = packText(this.id);
    this.scan = scan;
    this.bell = context.bells.acquire(this.key);
  }

  /** Which of the sessions that ever had this id is meant. */
  protected abstract readonly incarnation: string;
  /** Looks whether the log has grown. */
  protected abstract refresh(): Promise<void>;
  /** Whether there is a row of the session yet. */
  protected abstract readonly isPublished: boolean;

  get traits(): LogReader["traits"] {
    return this.context.sql.traits;
  }

  get inheritedEventCount(): number {
    return this.scan.log.inheritedEventCount;
  }

  state(): LogState {
    const { scan } = this;
    return {
      sizeBytes: this.isPublished ? scan.sizeBytes : null,
      frames: 0,
      nextSeq: scan.log.nextSeq,
      torn: scan.torn,
      fault: scan.finding === null ? null : faultOf(scan.finding),
    };
  }

  async read(options: { readonly from?: number; readonly limit?: number } = {}): Promise<EventPage> {
    const { from = 0, limit = PAGE_EVENTS_DEFAULT } = options;
    checkCount(from, "from", 0);
    checkCount(limit, "limit", 1);
    this.checkOpen("read");
    await this.refresh();
    return await this.#page(from, limit);
  }

  watch(from: number, options: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    checkCount(from, "from", 0);
    this.checkOpen("watch");
    const { bell, scan, context: { clock } } = this;
    const page = async (next: number) => {
      await this.refresh();
      const found = await this.#page(next, PAGE_EVENTS_DEFAULT);
      if (found.events.length === 0 && scan.stop !== null) throw errorOf(scan.stop, `watch session "${this.id}"`);
      return found;
    };
    const isClosed = () => this.#isClosed;
    return watchLog({ bell, clock, page, isClosed, pollMs: WATCH_POLL_MS }, from, options.signal);
  }

  async getBlob(digest: string): Promise<Uint8Array<ArrayBuffer>> {
    this.checkOpen("read a blob of");
    return await getBlob(this.context.sql, this.key, this.incarnation, digest);
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.bell.ring(); // Ends what watches through this view.
    this.context.bells.release(this.key);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected checkOpen(verb: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${verb} session "${this.id}": it is closed`);
  }

  /** Events that the scan has seen, so they are whole; only the medium may have changed since. */
  async #page(from: number, limit: number): Promise<EventPage> {
    const { nextSeq } = this.scan.log;
    const end = Math.min(nextSeq, from + limit);
    if (from >= end) return { events: [], nextFrom: null };
    const events: SessionEvent[] = [];
    let sizeBytes = 0;
    await this.context.sql.read(async (transaction) => {
      events.length = sizeBytes = 0;
      for (let next = from; next < end && sizeBytes < PAGE_BYTES_MAX;) {
        const rows = await eventRows(transaction, this.key, next, Math.min(end, next + READ_ROWS_MAX));
        if (rows.length === 0) throw new NotFoundError(`Cannot read session "${this.id}": event ${next} went away`);
        for (const row of rows) {
          if (sizeBytes >= PAGE_BYTES_MAX) break;
          const event = eventOf(row, next);
          if (event instanceof RowFault) {
            throw new CorruptLogError(`Cannot read session "${this.id}": event ${next}: ${event.problem}`, {
              seq: next,
            });
          }
          events.push(event);
          sizeBytes += String(row.data).length;
          next += 1;
        }
      }
    });
    const next = from + events.length;
    return { events, nextFrom: next < nextSeq ? next : null };
  }
}

function checkCount(value: number, name: string, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RangeError(`Cannot read: "${name}" is ${value}, wanted an integer of at least ${least}`);
}
