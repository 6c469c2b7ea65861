/**
 * A session as a viewer knows it: what the file says, and above that what the owner says and the file does not say yet.
 *
 * @module
 */
import {
  type EventPage,
  logFold,
  type LogFolds,
  type LogReader,
  type SessionEvent,
  type SessionStore,
} from "../../mod.ts";
import { type LogMark, TailKeeper } from "./log_mark.ts";

/** How many events that are not durable are kept of an owner. What is more comes from the file. */
export const OVERLAY_EVENTS_MAX = 2_000;
/** How many events are read from the file at a time. */
const CATCH_UP_EVENTS = 500;

/** A log open for reading, with an overlay. */
export class ViewerLog {
  readonly #log: LogReader;
  #folds: LogFolds;
  #last: SessionEvent | null;
  /** Contiguous, from `#folds.nextSeq` on. */
  #overlay: SessionEvent[] = [];
  /** One reading at a time: two would fold the same events. */
  #reading: Promise<unknown> = Promise.resolve();

  /** Whether the log is another one than was remembered: what was known of it counts for nothing. */
  readonly isOther: boolean;

  private constructor(log: LogReader, folds: LogFolds, last: SessionEvent | null, isOther: boolean) {
    this.#log = log;
    this.#folds = folds;
    this.#last = last;
    this.isOther = isOther;
  }

  /**
   * Reads a log from its beginning.
   *
   * @param known how it looked when it was last seen here; a log that only grew since is the same log
   * @throws {NotFoundError} and whatever else opening for reading throws
   */
  static async open(store: SessionStore, id: string, known: LogMark | null): Promise<ViewerLog> {
    const tail = new TailKeeper(known);
    let folds = logFold.initial();
    let last: SessionEvent | null = null;
    const visit = (event: SessionEvent) => {
      folds = logFold.apply(folds, event);
      last = event;
      tail.see(event);
    };
    const log = await store.open(id, "read", { visit });
    return new ViewerLog(log, folds, last, known !== null && tail.expectedText !== known.lastText);
  }

  /** Of what is durable. */
  get folds(): LogFolds {
    return this.#folds;
  }

  get durableSeq(): number {
    return this.#folds.nextSeq - 1;
  }

  /** Behind the overlay. */
  get nextSeq(): number {
    return this.#folds.nextSeq + this.#overlay.length;
  }

  get fault(): ReturnType<LogReader["state"]>["fault"] {
    return this.#log.state().fault;
  }

  /** What is known of the log's end. */
  get mark(): LogMark {
    return { nextSeq: this.#folds.nextSeq, lastText: textOf(this.#last), sizeBytes: null };
  }

  /** What the owner committed and the file does not hold yet. */
  get overlay(): readonly SessionEvent[] {
    return this.#overlay;
  }

  /** Durable events. */
  async page(from: number, limit: number): Promise<EventPage> {
    return await this.#log.read({ from, limit });
  }

  /**
   * Reads what has become durable.
   *
   * @param show is given, in order, the events that were not known, or known otherwise. `from` is where something was known
   * that is not so, else `null`
   */
  catchUp(show: (events: readonly SessionEvent[], from: number | null) => void): Promise<void> {
    const read = this.#reading.then(() => this.#catchUp(show));
    this.#reading = read.catch(() => {});
    return read;
  }

  async #catchUp(show: (events: readonly SessionEvent[], from: number | null) => void): Promise<void> {
    for (;;) {
      const { events } = await this.#log.read({ from: this.#folds.nextSeq, limit: CATCH_UP_EVENTS });
      if (events.length === 0) return;
      const believed = this.#overlay;
      let same = 0;
      while (same < events.length && same < believed.length && textOf(events[same]!) === textOf(believed[same]!)) {
        same++;
      }
      for (const event of events) this.#folds = logFold.apply(this.#folds, event);
      this.#last = events.at(-1)!;
      const isContradicted = same < events.length && same < believed.length;
      this.#overlay = isContradicted ? [] : believed.slice(events.length);
      show(events.slice(same), isContradicted ? events[same]!.seq : null);
      if (events.length < CATCH_UP_EVENTS) return;
    }
  }

  /** Takes what the owner committed. Returns what is new; what does not continue what is known is left to the file. */
  believe(events: readonly SessionEvent[]): SessionEvent[] {
    const taken: SessionEvent[] = [];
    for (const event of events) {
      if (event.seq !== this.nextSeq || this.#overlay.length >= OVERLAY_EVENTS_MAX) continue;
      this.#overlay.push(event);
      taken.push(event);
    }
    return taken;
  }

  /** Forgets what is not in the file. Returns where that began; `null` when nothing was. */
  dropOverlay(): number | null {
    const from = this.#overlay[0]?.seq ?? null;
    this.#overlay = [];
    return from;
  }

  async close(): Promise<void> {
    await this.#log.close();
  }
}

function textOf(event: SessionEvent | null): string | null {
  return event === null ? null : JSON.stringify(event);
}
