/**
 * A log of schema 15, open for reading: its events as they are stored.
 *
 * @module
 */
import { NotFoundError, SessionClosedError } from "../../errors.ts";
import { RowFault, type SessionEvent, type SessionHeader } from "../../event/mod.ts";
import { Bell } from "../../store/bells.ts";
import type { EventPage, LogReader, LogState, OpenOptions } from "../../store/session_store.ts";
import { watchLog } from "../../store/watch.ts";
import { errorOf, faultOf } from "../finding.ts";
import { PAGE_EVENTS_DEFAULT, READ_ROWS_MAX, WATCH_POLL_MS } from "../limits.ts";
import type { DshContext } from "./context.ts";
import { readV0Row } from "./v0_event.ts";
import type { V0Header } from "./v0_header.ts";
import { v0Rows, V0Scan } from "./v0_scan.ts";

/** A log that another program may write meanwhile. */
export class V0LogReader implements LogReader {
  readonly header: SessionHeader;
  readonly inheritedEventCount: number;
  readonly encoding = null;
  readonly #context: DshContext;
  readonly #scan: V0Scan;
  readonly #bell = new Bell();
  readonly #onClose: (reader: V0LogReader) => void;
  #refreshing: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(context: DshContext, header: V0Header, scan: V0Scan, onClose: (reader: V0LogReader) => void) {
    this.#context = context;
    this.header = header.header;
    this.inheritedEventCount = header.inheritedEventCount;
    this.#scan = scan;
    this.#onClose = onClose;
  }

  /** Reads a log whole. Throws when there is none, or its header cannot be read. */
  static async open(
    context: DshContext,
    id: string,
    { visit, signal }: OpenOptions,
    onClose: (reader: V0LogReader) => void,
  ): Promise<V0LogReader> {
    // Kept when the act is run again: what was seen stays as it is, and nothing is visited twice.
    let scan: V0Scan | null = null;
    return await context.read(async (transaction) => {
      const header = await context.headerOf(transaction, id);
      if (header === null) throw new NotFoundError(`Cannot open session "${id}": there is no such session`);
      scan ??= new V0Scan(id, header);
      await scan.advance(transaction, { visit, signal });
      return new V0LogReader(context, header, scan, onClose);
    });
  }

  get id(): string {
    return this.header.id;
  }

  get traits(): LogReader["traits"] {
    return this.#context.traits;
  }

  state(): LogState {
    const { log, size, torn, finding } = this.#scan;
    return {
      sizeBytes: size + (torn?.bytes ?? 0),
      frames: 0,
      nextSeq: log.nextSeq,
      torn,
      fault: finding === null ? null : faultOf(finding),
    };
  }

  async read(options: { readonly from?: number; readonly limit?: number } = {}): Promise<EventPage> {
    const { from = 0, limit = PAGE_EVENTS_DEFAULT } = options;
    checkCount(from, "from", 0);
    checkCount(limit, "limit", 1);
    this.#checkOpen("read");
    await this.#refresh();
    const { nextSeq } = this.#scan.log;
    const end = Math.min(nextSeq, from + limit);
    const events: SessionEvent[] = [];
    if (from < end) {
      await this.#context.read(async (transaction) => {
        events.length = 0;
        for (let next = from; next < end;) {
          const rows = await v0Rows(transaction, this.id, next, Math.min(READ_ROWS_MAX, end - next));
          if (rows.length === 0) throw this.#gone();
          for (const row of rows) {
            const event = readV0Row(row, next);
            if (event instanceof RowFault) throw event.toError({ seq: next });
            events.push(event);
            next += 1;
          }
        }
      });
    }
    const next = from + events.length;
    return { events, nextFrom: next < nextSeq ? next : null };
  }

  watch(from: number, options: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    checkCount(from, "from", 0);
    this.#checkOpen("watch");
    const page = async (next: number) => {
      const found = await this.read({ from: next });
      const { stop } = this.#scan;
      if (found.events.length === 0 && stop !== null) throw errorOf(stop, `watch session "${this.id}"`);
      return found;
    };
    const { clock } = this.#context.runtime;
    const isClosed = () => this.#isClosed;
    return watchLog({ bell: this.#bell, clock, page, isClosed, pollMs: WATCH_POLL_MS }, from, options.signal);
  }

  // Async, so that a refusal is a rejection.
  // deno-lint-ignore require-await
  async getBlob(digest: string): Promise<Uint8Array<ArrayBuffer>> {
    this.#checkOpen("read a blob of");
    throw new NotFoundError(`Cannot read blob "${digest}": this database keeps none`);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#bell.ring();
    this.#onClose(this);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #refresh(): Promise<void> {
    const refreshed = this.#refreshing.then(() =>
      this.#context.read(async (transaction) => {
        if (await this.#context.headerOf(transaction, this.id) === null) throw this.#gone();
        await this.#scan.advance(transaction);
      })
    );
    this.#refreshing = refreshed.catch(() => {});
    return refreshed;
  }

  #gone(): NotFoundError {
    return new NotFoundError(`Cannot read session "${this.id}": it is not there any more`);
  }

  #checkOpen(verb: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${verb} session "${this.id}": it is closed`);
  }
}

function checkCount(value: number, name: string, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RangeError(`Cannot read: "${name}" is ${value}, wanted an integer of at least ${least}`);
}
