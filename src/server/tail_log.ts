/**
 * The durable side of the tails of one session: what is in its log, as frames, encoded once for all clients.
 *
 * The log itself is the buffer of a slow client, so nothing is held for it: the newest frames are in a ring, and whoever is
 * further behind is read to from the log, a page at a time. Pages of the past never change, so the last few are kept.
 *
 * @module
 */
import type { LogReader } from "../../mod.ts";
import {
  RING_FRAMES_MAX,
  RING_SIZE_BYTES_MAX,
  TAIL_PAGE_BYTES_MAX,
  TAIL_PAGE_EVENTS,
  TAIL_PAGES_MAX,
  TAIL_READS_MAX,
} from "./limits.ts";
import { durableFrame } from "./sse.ts";

/**
 * The frames of one log.
 *
 * @example
 * ```ts
 * import type { LogReader } from "../../mod.ts";
 * import { TailLog } from "./tail_log.ts";
 *
 * async function frames(reader: LogReader): Promise<readonly Uint8Array[]> {
 *   return await new TailLog(reader).from(0);
 * }
 * ```
 */
export class TailLog {
  readonly #reader: LogReader;
  /** The frames of the seqs up to `#head`, without a gap. */
  readonly #ring: Uint8Array[] = [];
  #ringBytes = 0;
  /** One more than the last durable seq that is known. */
  #head: number;
  /** By first seq; oldest use first. Only full ones, which never change. */
  readonly #pages = new Map<number, readonly Uint8Array[]>();
  readonly #loading = new Map<number, Promise<readonly Uint8Array[]>>();
  #reads = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(reader: LogReader) {
    this.#reader = reader;
    this.#head = reader.state().nextSeq;
  }

  /** One more than the last durable seq. */
  get head(): number {
    return this.#head;
  }

  /** Follows the log until the signal; calls `onNews` after each event. @throws what the log cannot be read for */
  async follow(signal: AbortSignal, onNews: () => void): Promise<void> {
    for await (const event of this.#reader.watch(this.#head, { signal })) {
      const frame = durableFrame(event);
      this.#ring.push(frame);
      this.#ringBytes += frame.length;
      this.#head = event.seq + 1;
      while (this.#ring.length > RING_FRAMES_MAX || (this.#ringBytes > RING_SIZE_BYTES_MAX && this.#ring.length > 1)) {
        this.#ringBytes -= this.#ring.shift()!.length;
      }
      onNews();
    }
  }

  /** The frames from a seq on: some of them, none at the head. */
  from(seq: number): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    if (seq >= this.#head) return [];
    const first = this.#head - this.#ring.length;
    if (seq >= first) return this.#ring.slice(seq - first, seq - first + TAIL_PAGE_EVENTS);
    return this.#page(seq);
  }

  #page(from: number): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    const known = this.#pages.get(from);
    if (known !== undefined) {
      this.#pages.delete(from);
      this.#pages.set(from, known);
      return known;
    }
    let loading = this.#loading.get(from);
    if (loading === undefined) {
      loading = this.#load(from).finally(() => this.#loading.delete(from));
      this.#loading.set(from, loading);
    }
    return loading;
  }

  async #load(from: number): Promise<readonly Uint8Array[]> {
    while (this.#reads >= TAIL_READS_MAX) await new Promise<void>((next) => this.#waiting.push(next));
    this.#reads += 1;
    try {
      const { events } = await this.#reader.read({ from, limit: TAIL_PAGE_EVENTS });
      if (events.length === 0) throw new Error(`Cannot tail session "${this.#reader.id}": seq ${from} is gone`);
      const frames: Uint8Array[] = [];
      let sizeBytes = 0;
      for (const event of events) {
        const frame = durableFrame(event);
        if (frames.length > 0 && sizeBytes + frame.length > TAIL_PAGE_BYTES_MAX) break;
        frames.push(frame);
        sizeBytes += frame.length;
      }
      // A page that ends at the end of the log gets longer: it is not kept.
      if (frames.length === TAIL_PAGE_EVENTS || frames.length < events.length) this.#keep(from, frames);
      return frames;
    } finally {
      this.#reads -= 1;
      this.#waiting.shift()?.();
    }
  }

  #keep(from: number, frames: readonly Uint8Array[]): void {
    this.#pages.set(from, frames);
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= TAIL_PAGES_MAX) break;
      this.#pages.delete(oldest);
    }
  }
}
