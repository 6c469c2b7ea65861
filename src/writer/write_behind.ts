/**
 * Write-behind: events are taken at once and written in batches, a fixed time after the first of them.
 *
 * The window opens with the first pending event and is never reset, so an event waits at most {@linkcode WINDOW_MS} for its
 * write to start, unless the write before it takes longer. Events that arrive during a write form the next batch, with a
 * window of their own. A failed batch keeps its place, its content and its id, and is tried again before anything newer: by
 * the next event's window, or at once by a flush.
 *
 * @see session-format §7
 * @module
 */
import { BufferFullError, SequenceGapError, SessionClosedError, TooLargeError } from "../errors.ts";
import type { SessionEvent } from "../event/mod.ts";
import type { Clock } from "../runtime/runtime.ts";
import { isPermanentFailure } from "./failure.ts";

/** How long the first pending event waits for company, in milliseconds. */
export const WINDOW_MS = 200;

/** How many events may wait to become durable; the next one is refused with `BUFFER_FULL`. */
export const PENDING_EVENTS_MAX = 16_384;

/**
 * How much JSON text may wait to become durable, in UTF-16 units (at most three bytes each, so that a batch stays below the
 * 256 MiB a frame may hold); what does not fit is refused with `BUFFER_FULL`, and one event larger than this with `TOO_LARGE`.
 */
export const PENDING_SIZE_MAX = 64 * 1024 * 1024;

/** What a {@linkcode WriteBehind} is made from. */
export interface WriteBehindOptions {
  /**
   * Makes one batch durable and returns its last seq. Never called while an earlier call is unsettled. A failed batch comes
   * again unchanged under the same `batchId`, because the store may have taken it before it failed. `size` is its JSON text, in
   * UTF-16 units.
   */
  readonly append: (events: readonly SessionEvent[], batchId: string, size: number) => Promise<number>;
  readonly clock: Clock;
  /** What is durable already: the last seq, or −1. */
  readonly durableSeq: number;
  /** Begins every batch id; differs from that of every other writer of the same log. */
  readonly batchPrefix: string;
  /** Told about each failed write that nobody waits for. */
  readonly onFailure?: (error: unknown) => void;
  /** Default {@linkcode WINDOW_MS}. */
  readonly windowMs?: number;
  /** Default {@linkcode PENDING_EVENTS_MAX}. */
  readonly pendingEventsMax?: number;
  /** Default {@linkcode PENDING_SIZE_MAX}. */
  readonly pendingSizeMax?: number;
}

interface Batch {
  readonly id: string;
  readonly events: readonly SessionEvent[];
  readonly size: number;
}

/**
 * Takes events in order and makes them durable in batches.
 *
 * @example
 * ```ts
 * import { WriteBehind } from "./write_behind.ts";
 *
 * const written: number[] = [];
 * const writer = new WriteBehind({
 *   append: (events) => Promise.resolve(written[written.push(...events.map((event) => event.seq)) - 1]!),
 *   clock: { now: () => 0, schedule: () => () => {} },
 *   durableSeq: -1,
 *   batchPrefix: "w1",
 * });
 * writer.push([{ type: "turn/start", seq: 0, time: 0, data: { turn: 1 } }]);
 * if (await writer.flush() !== 0) throw new Error("unreachable");
 * await writer.close();
 * ```
 */
export class WriteBehind {
  readonly #append: WriteBehindOptions["append"];
  readonly #clock: Clock;
  readonly #batchPrefix: string;
  readonly #onFailure: (error: unknown) => void;
  readonly #windowMs: number;
  readonly #pendingEventsMax: number;
  readonly #pendingSizeMax: number;

  /** Each event that is not durable is in exactly one of `#batch` and `#pending`, and those of `#batch` come first. */
  #batch: Batch | null = null;
  #pending: SessionEvent[] = [];
  #pendingOnlySize = 0;
  #durableSeq: number;

  /** The write in flight. Never rejects, and is `null` again before anybody who awaited it goes on. */
  #writing: Promise<void> | null = null;
  /** The flush in flight, which everybody who flushes joins. */
  #drain: Promise<number> | null = null;
  /** Ends the window, while one is open. */
  #stopWindow: (() => void) | null = null;
  /** A window ended and its events are not handed on yet. */
  #isDue = false;
  /** An event came after the last write began: it is what a failed batch is retried for. */
  #hasNews = false;
  #failure: unknown = null;
  #closing: Promise<void> | null = null;

  constructor(options: WriteBehindOptions) {
    // An async wrapper turns a throw into a rejection, so that a write never settles before `#writing` is set.
    this.#append = async (events, batchId, size) => await options.append(events, batchId, size);
    this.#clock = options.clock;
    this.#durableSeq = options.durableSeq;
    this.#batchPrefix = options.batchPrefix;
    this.#onFailure = options.onFailure ?? (() => {});
    this.#windowMs = options.windowMs ?? WINDOW_MS;
    this.#pendingEventsMax = options.pendingEventsMax ?? PENDING_EVENTS_MAX;
    this.#pendingSizeMax = options.pendingSizeMax ?? PENDING_SIZE_MAX;
  }

  /** The last seq that was acknowledged; −1 before the first. */
  get durableSeq(): number {
    return this.#durableSeq;
  }

  /** How many events are not durable yet. */
  get pendingEvents(): number {
    return (this.#batch?.events.length ?? 0) + this.#pending.length;
  }

  /** How much JSON text is not durable yet, in UTF-16 units. */
  get pendingSize(): number {
    return (this.#batch?.size ?? 0) + this.#pendingOnlySize;
  }

  /** The failure that ended all writing, or `null`. What was not durable by then is still in {@linkcode pending}. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The events that are not durable yet, from seq `from` on, in order. */
  pending(from = 0): SessionEvent[] {
    return [...this.#batch?.events ?? [], ...this.#pending].filter((event) => event.seq >= from);
  }

  /**
   * Takes contiguous events, all of them or, when it throws, none. Nothing is durable yet.
   *
   * @throws {BufferFullError} when too much is waiting: flush, then push again
   * @throws {TooLargeError} when they could not fit even into an empty buffer
   * @throws {SessionClosedError} after `close()`
   * @throws the failure that ended all writing
   */
  push(events: readonly SessionEvent[]): void {
    if (this.#closing !== null) throw closed("take an event");
    if (this.#failure !== null) throw this.#failure;
    const size = events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
    this.#checkRoom(events, size);

    this.#pending.push(...events);
    this.#pendingOnlySize += size;
    this.#hasNews = true;
    this.#openWindow();
  }

  /**
   * Writes everything that is pending, without waiting for the window, until nothing is left; also what comes meanwhile.
   * Callers join a flush that is under way.
   *
   * @returns the last durable seq
   * @throws whatever refused a batch: its events are still pending, in order, and the next flush tries again
   * @throws {SessionClosedError} after `close()`
   */
  flush(): Promise<number> {
    if (this.#closing !== null) return Promise.reject(closed("flush"));
    return this.#drain ??= this.#drainToQuiescence();
  }

  /**
   * Writes everything that is pending and takes no more. A repeated call joins the first.
   *
   * @throws whatever refused the last batch: what is not durable then is lost with the process
   */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    // A flush that was under way may have begun before the medium healed, so its failure is not yet ours.
    await this.#drain?.catch(() => {});
    try {
      if (this.#hasWork) await (this.#drain = this.#drainToQuiescence());
    } finally {
      this.#endWindow();
    }
  }

  get #hasWork(): boolean {
    return this.#batch !== null || this.#pending.length > 0;
  }

  #checkRoom(events: readonly SessionEvent[], size: number): void {
    if (events.length > this.#pendingEventsMax || size > this.#pendingSizeMax) {
      const limit = `at most ${this.#pendingEventsMax} events and ${this.#pendingSizeMax} characters may wait`;
      throw new TooLargeError(`Cannot append "${events.at(-1)?.type}": it has ${size} characters, and ${limit}`);
    }
    if (
      this.pendingEvents + events.length > this.#pendingEventsMax || this.pendingSize + size > this.#pendingSizeMax
    ) {
      const waiting = `${this.pendingEvents} events of ${this.pendingSize} characters wait to become durable`;
      throw new BufferFullError(`Cannot append "${events.at(-1)?.type}": ${waiting}; flush first`);
    }
  }

  /** The window of the first pending event. Whatever takes the events ends it. */
  #openWindow(): void {
    this.#stopWindow ??= this.#clock.schedule(this.#windowMs, () => {
      this.#stopWindow = null;
      this.#isDue = true;
      if (this.#writing === null) void this.#writeWhatIsDue();
    });
  }

  #endWindow(): void {
    this.#stopWindow?.();
    this.#stopWindow = null;
    this.#isDue = false;
  }

  /** In the background: one batch, or two when a failed one comes first or the next fell due. A flush takes over at once. */
  async #writeWhatIsDue(): Promise<void> {
    while (this.#isDue && this.#hasWork && this.#drain === null) {
      try {
        await this.#write();
      } catch (error) {
        this.#report(error);
        return;
      }
    }
  }

  async #drainToQuiescence(): Promise<number> {
    this.#endWindow();
    try {
      // Waiting, even for nothing, also lets the caller remember this flush before the end forgets it.
      await this.#writing;
      // Between the last look at `#hasWork` and `#drain = null` nothing else runs, so nobody joins a flush that is over.
      while (this.#hasWork && this.#failure === null) await this.#write();
      if (this.#failure !== null) throw this.#failure;
      return this.#durableSeq;
    } finally {
      this.#drain = null;
    }
  }

  /** Writes the batch that failed, unchanged, or else everything pending as one new batch. */
  #write(): Promise<void> {
    const batch = this.#batch ??= this.#takePending();
    this.#hasNews = false;
    const write = this.#attempt(batch);
    this.#writing = write.catch(() => {});
    return write;
  }

  #takePending(): Batch {
    const batch: Batch = {
      id: `${this.#batchPrefix}-${this.#pending[0]!.seq}`,
      events: this.#pending,
      size: this.#pendingOnlySize,
    };
    this.#pending = [];
    this.#pendingOnlySize = 0;
    this.#endWindow();
    return batch;
  }

  async #attempt(batch: Batch): Promise<void> {
    try {
      const acknowledged = await this.#append(batch.events, batch.id, batch.size);
      checkAcknowledgement(batch, acknowledged);
      this.#durableSeq = acknowledged;
      this.#batch = null;
    } catch (error) {
      this.#isDue = false;
      if (isPermanentFailure(error)) {
        this.#failure = error;
        this.#endWindow();
      } else if (this.#hasNews) {
        // What came during the failed write still has its promise of a window, which may have ended meanwhile.
        this.#openWindow();
      }
      throw error;
    } finally {
      this.#writing = null;
    }
  }

  #report(error: unknown): void {
    try {
      this.#onFailure(error);
    } catch {
      // Whoever listens cannot make a failed write worse.
    }
  }
}

/** No acknowledgement, no durability: a store that answers anything but the batch's last seq cannot be relied on. */
function checkAcknowledgement(batch: Batch, acknowledged: number): void {
  const first = batch.events[0]!.seq;
  const last = batch.events.at(-1)!.seq;
  if (acknowledged === last) return;
  throw new SequenceGapError(`Cannot write events ${first} to ${last}: the store acknowledged seq ${acknowledged}`);
}

function closed(verb: string): SessionClosedError {
  return new SessionClosedError(`Cannot ${verb}: the session is closed`);
}
