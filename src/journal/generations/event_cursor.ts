/**
 * Pages from something that can only be read from its start to its end.
 *
 * @module
 */
import type { SessionEvent } from "../../event/mod.ts";
import { PAGE_BYTES_MAX } from "../limits.ts";
import type { OldSink } from "./old_dialect.ts";

/** Reads everything once, giving it to the sink. */
export type ReadOnce = (sink: OldSink, signal: AbortSignal) => Promise<unknown>;

/** Some events, and how much text they were read from. */
interface Batch {
  readonly events: readonly SessionEvent[];
  readonly textLength: number;
}

/**
 * Remembers where the last page ended, so that pages in order cost one reading. A page before that begins a new reading. Holds
 * one batch.
 */
export class EventCursor {
  readonly #readOnce: ReadOnce;
  #running: Running | null = null;
  /** The seq of the first event of `#rest`; of the next batch when that is empty. */
  #next = 0;
  #rest: readonly SessionEvent[] = [];

  constructor(readOnce: ReadOnce) {
    this.#readOnce = readOnce;
  }

  /** Events from `from` on: at most `limit`, fewer when they are large, none from the end on. */
  async read(from: number, limit: number): Promise<SessionEvent[]> {
    if (this.#running === null || from < this.#next) this.#restart();
    const page: SessionEvent[] = [];
    let pageLength = 0;
    while (page.length < limit && pageLength < PAGE_BYTES_MAX) {
      if (this.#rest.length === 0) {
        const batch = await this.#running!.next();
        if (batch === null) break;
        this.#rest = batch.events;
        if (this.#next + batch.events.length > from) pageLength += batch.textLength;
      }
      const skipped = Math.min(this.#rest.length, Math.max(0, from - this.#next));
      const taken = this.#rest.slice(skipped, skipped + limit - page.length);
      for (const event of taken) page.push(event);
      this.#next += skipped + taken.length;
      this.#rest = this.#rest.slice(skipped + taken.length);
    }
    return page;
  }

  /** Ends the reading that is under way. */
  close(): void {
    this.#running?.end();
    this.#running = null;
  }

  #restart(): void {
    this.close();
    this.#running = new Running(this.#readOnce);
    this.#next = 0;
    this.#rest = [];
  }
}

/** A reading under way: it waits after each batch until somebody wants the next one. */
class Running {
  readonly #stop = new AbortController();
  #offered = Promise.withResolvers<Batch | null>();
  #wanted = Promise.withResolvers<void>();
  /** What everybody is answered from now on; `null` while the reading goes on. */
  #end: Promise<null> | null = null;

  constructor(readOnce: ReadOnce) {
    const sink: OldSink = async (events, textLength) => {
      await this.#wanted.promise;
      this.#stop.signal.throwIfAborted();
      this.#wanted = Promise.withResolvers<void>();
      this.#offered.resolve({ events, textLength });
    };
    readOnce(sink, this.#stop.signal).then(
      async () => {
        await this.#wanted.promise;
        this.#end = Promise.resolve(null);
        this.#offered.resolve(null);
      },
      async (error) => {
        await this.#wanted.promise;
        this.#end = Promise.reject(error);
        this.#end.catch(() => {}); // Told to whoever asks.
        this.#offered.reject(error);
      },
    );
  }

  async next(): Promise<Batch | null> {
    if (this.#end !== null) return await this.#end;
    this.#offered = Promise.withResolvers<Batch | null>();
    this.#wanted.resolve();
    return await this.#offered.promise;
  }

  end(): void {
    // Nobody waits for it any more.
    this.#offered.promise.catch(() => {});
    this.#stop.abort();
    this.#wanted.resolve();
  }
}
