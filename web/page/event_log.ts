/**
 * The part of a log that the page holds: pages of events, fetched when something wants to show them, and bounded.
 *
 * Events the worker pushes are kept at once; what is missing comes through `history`. The worker stays the owner of the truth:
 * {@linkcode EventLog.reset} forgets what a takeover superseded.
 *
 * @module
 */
import type { EventPage, SessionEvent } from "../../mod.ts";

/** How many events one fetch brings. */
export const PAGE_EVENTS = 256;
/** How many pages are held: more than the conversation and every row on the screen together need. */
export const PAGES_MAX = 64;
/** How many fetches run at once; what is wanted beyond them is asked for when a fetch ends and it is still wanted. */
export const FETCHES_MAX = 3;

/** Fetches a page of the durable log. */
export type FetchPage = (from: number, limit: number) => Promise<EventPage>;

/** Events by seq, of one session. */
export class EventLog {
  /** Least recently used first. */
  readonly #pages = new Map<number, Map<number, SessionEvent>>();
  readonly #fetching = new Set<number>();
  /** Pages whose last fetch left a gap: what is missing is not durable yet. Not asked for again before something changed. */
  readonly #gapped = new Set<number>();
  readonly #listeners = new Set<() => void>();
  readonly #fetch: FetchPage;
  readonly #onRefused: (error: unknown) => void;
  #wasRefused = false;
  /** Pages that were wanted while too many fetches ran; the newest wish is last. */
  #wanted: number[] = [];
  #isClosed = false;
  /** One more than the newest event that is known to be there. */
  nextSeq = 0;

  /** @param onRefused told once when events cannot be had */
  constructor(fetch: FetchPage, onRefused: (error: unknown) => void = () => {}) {
    this.#fetch = fetch;
    this.#onRefused = onRefused;
  }

  /** The event, or `null` while it is not here; it is then fetched. */
  get(seq: number): SessionEvent | null {
    const event = this.#touch(pageOf(seq))?.get(seq) ?? null;
    if (event === null && seq < this.nextSeq) this.#want(pageOf(seq));
    return event;
  }

  /** Every event from `from` on, up to the end: the longest run that is here. What is missing is fetched. */
  tail(from: number): SessionEvent[] {
    const events: SessionEvent[] = [];
    for (let number = pageOf(this.nextSeq - 1); number >= pageOf(from); number--) {
      const page = this.#touch(number);
      const first = Math.max(from, number * PAGE_EVENTS);
      for (let seq = Math.min(this.nextSeq, (number + 1) * PAGE_EVENTS) - 1; seq >= first; seq--) {
        const event = page?.get(seq);
        if (event === undefined) {
          this.#want(number);
          return events.reverse();
        }
        events.push(event);
      }
    }
    return events.reverse();
  }

  /** More has become durable: what a fetch did not bring before may be there now. */
  refresh(): void {
    if (this.#gapped.size === 0) return;
    this.#gapped.clear();
    this.#changed();
  }

  /** Keeps events that came unasked. */
  push(events: readonly SessionEvent[]): void {
    this.#gapped.clear();
    for (const event of events) this.#keep(event);
    this.#changed();
  }

  /** The log is known to reach to `nextSeq`. */
  extend(nextSeq: number): void {
    if (nextSeq <= this.nextSeq) return;
    this.nextSeq = nextSeq;
    this.#gapped.clear();
    this.#changed();
  }

  /** Forgets every event from `from` on. */
  reset(from: number): void {
    this.#gapped.clear();
    for (const [page, events] of this.#pages) {
      if ((page + 1) * PAGE_EVENTS <= from) continue;
      for (const seq of events.keys()) if (seq >= from) events.delete(seq);
    }
    this.nextSeq = Math.min(this.nextSeq, from);
    this.#changed();
  }

  /** Calls back after every change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the fetching; what still comes is dropped. */
  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
  }

  #keep(event: SessionEvent): void {
    const number = pageOf(event.seq);
    const page = this.#touch(number) ?? new Map<number, SessionEvent>();
    this.#pages.set(number, page.set(event.seq, event));
    this.nextSeq = Math.max(this.nextSeq, event.seq + 1);
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= PAGES_MAX) break;
      this.#pages.delete(oldest);
    }
  }

  #touch(number: number): Map<number, SessionEvent> | undefined {
    const page = this.#pages.get(number);
    if (page === undefined) return undefined;
    this.#pages.delete(number);
    this.#pages.set(number, page);
    return page;
  }

  #want(page: number): void {
    if (this.#isClosed || this.#fetching.has(page) || this.#gapped.has(page)) return;
    if (this.#fetching.size < FETCHES_MAX) return void this.#load(page);
    this.#wanted = [...this.#wanted.filter((other) => other !== page), page].slice(-FETCHES_MAX);
  }

  async #load(page: number): Promise<void> {
    this.#fetching.add(page);
    try {
      // Large events make an answer shorter than what was asked for: it says where the rest begins.
      for (let from: number | null = page * PAGE_EVENTS; from !== null && from < (page + 1) * PAGE_EVENTS;) {
        const { events, nextFrom }: EventPage = await this.#fetch(from, (page + 1) * PAGE_EVENTS - from);
        if (this.#isClosed) return;
        // What was reset while the answer was on its way is not brought back.
        for (const event of events) if (event.seq < this.nextSeq) this.#keep(event);
        if (events.length > 0) this.#changed();
        from = nextFrom !== null && nextFrom > from && nextFrom < this.nextSeq ? nextFrom : null;
      }
      const end = Math.min(this.nextSeq, (page + 1) * PAGE_EVENTS);
      if ((this.#pages.get(page)?.size ?? 0) < end - page * PAGE_EVENTS) this.#gapped.add(page);
    } catch (error) {
      if (!this.#wasRefused && !this.#isClosed) this.#onRefused(error);
      this.#wasRefused = true;
      // The worker is gone or the log cannot be read further: whoever still wants the page asks again at the next change.
    } finally {
      this.#fetching.delete(page);
    }
    const next = this.#wanted.pop();
    if (next !== undefined) this.#want(next);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

function pageOf(seq: number): number {
  return Math.floor(seq / PAGE_EVENTS);
}
