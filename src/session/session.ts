/**
 * One session open for writing: the events of its log, in order, and everything derived from them.
 *
 * An append is committed in memory at once and becomes durable later, by the write-behind or by a flush. The session holds
 * folds, not history: what was written is read from the store, and what was not is still in the writer.
 *
 * @see session-format §4.3, §4.4, §7
 * @module
 */
import { SessionClosedError } from "../errors.ts";
import { checkAppendable, type EventDraft, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import {
  bracketProblem,
  foldEvents,
  inboxProblem,
  logFold,
  type LogFolds,
  replacementProblem,
  surfaceProblem,
} from "../fold/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import type { EventPage, LogWriter, SnapshotReport } from "../store/session_store.ts";
import { untilAborted } from "../writer/until_aborted.ts";
import { WriteBehind } from "../writer/write_behind.ts";
import { contained, Observers, type SessionProblem } from "./observers.ts";
import { BARRIER_POLICY, checkNotReserved, END_SEED } from "./own_events.ts";
import { Probes } from "./probes.ts";

/** How many events one page of history holds unless asked otherwise. */
export const PAGE_EVENTS_DEFAULT = 1000;

/** Settings every way of opening a session takes. */
export interface SessionSettings {
  /** Default: the store's. */
  readonly clock?: Clock;
  /** Default: the store's. */
  readonly random?: Random;
  /**
   * Lets tools with effects run on a medium that promises nothing (`traits.sync` is `none`). Chosen per call, never stored. A
   * volatile session writes no `checkpoint/policy`, so that after a crash its calls are classed conservatively. Default false.
   */
  readonly volatile?: boolean;
  /** Told about failures that no caller waits for. */
  readonly report?: (problem: SessionProblem) => void;
  /** How many events may wait to become durable. Default `PENDING_EVENTS_MAX`. */
  readonly pendingEventsMax?: number;
}

/** What a {@linkcode Session} is made from. `createSession`, `openSession` and `forkSession` do it. */
export interface SessionParts extends SessionSettings {
  /** The clock its events take their time from. */
  readonly clock: Clock;
  /** Where its ids and keys are drawn from. */
  readonly random: Random;
  /** The log it appends to. The session owns it: closing the session closes it. */
  readonly log: LogWriter;
  /** The folds of everything in the log. */
  readonly folds: LogFolds;
  /** How many events at the start came from a parent. */
  readonly inheritedEventCount: number;
  /** Whether a `session/end-seed` must be appended, because the log is a seed that does not end with one. */
  readonly mustEndSeed: boolean;
}

/**
 * A session open for writing.
 *
 * @example
 * ```ts
 * import type { Session } from "./session.ts";
 *
 * async function oneTurn(session: Session): Promise<number> {
 *   session.append({ type: "turn/start", data: { turn: 1 } });
 *   session.append({ type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } });
 *   return await session.flush(); // durable through this seq
 * }
 * ```
 */
export class Session implements AsyncDisposable {
  /** How many events at the start came from a parent. */
  readonly inheritedEventCount: number;
  /** See {@linkcode SessionSettings.volatile}. */
  readonly isVolatile: boolean;
  /** Where ids and keys of this session are drawn from. */
  readonly random: Random;
  /** The clock its events take their time from. */
  readonly clock: Clock;
  /** Who measures writes and barriers. */
  readonly probes: Probes;

  readonly #log: LogWriter;
  readonly #writer: WriteBehind;
  readonly #observers: Observers;
  /** Wakes those who follow the log, at the next event or at the end; `null` while nobody waits. */
  #news: PromiseWithResolvers<void> | null = null;

  /** Always the folds of exactly the events that were handed to `#writer` or were in the log before. */
  #folds: LogFolds;
  /** The type of the last event. A log that is not new either ends with this one or gets it now. */
  #lastType: string | null;
  /** Whether this lifecycle still needs its `checkpoint/policy`, which goes directly before its first other event. */
  #owesPolicy: boolean;
  /** Set from the first look at a draft until the last observer was told: no event may come in between. */
  #isAppending = false;
  #materializing: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  /** Takes over an open log. A `session/end-seed` that is owed is pending afterwards. */
  constructor(parts: SessionParts) {
    const { log, clock, random, folds } = parts;
    this.inheritedEventCount = parts.inheritedEventCount;
    this.isVolatile = parts.volatile ?? false;
    this.clock = clock;
    this.random = random;
    this.#log = log;
    this.#folds = folds;
    this.#lastType = folds.nextSeq === 0 ? null : END_SEED.type;
    this.#owesPolicy = log.traits.sync === "device" && !this.isVolatile;
    const report = contained(parts.report);
    this.#observers = new Observers(log.id, report);
    this.probes = new Probes(log.id);
    this.#writer = new WriteBehind({
      append: (events, batchId, size) => this.#write(events, batchId, size),
      clock,
      durableSeq: folds.nextSeq - 1,
      batchPrefix: Array.from(random.bytes(6), (byte) => byte.toString(16).padStart(2, "0")).join(""),
      onFailure: (error) => report({ kind: "write", error }),
      pendingEventsMax: parts.pendingEventsMax,
    });
    if (parts.mustEndSeed) this.#commit([this.#eventFor(END_SEED, folds)]);
  }

  /** The id in the header. */
  get id(): string {
    return this.#log.id;
  }

  /** The first record of the log. It never changes. */
  get header(): SessionHeader {
    return this.#log.header;
  }

  /** What the medium promises. */
  get traits(): LogWriter["traits"] {
    return this.#log.traits;
  }

  /** Everything derived from the log, pending events included. A value: it does not change when the log grows. */
  get folds(): LogFolds {
    return this.#folds;
  }

  /** One more than the last event's seq. The next append may get the one after it: the first of a lifecycle brings a policy. */
  get nextSeq(): number {
    return this.#folds.nextSeq;
  }

  /** The last seq the store acknowledged; −1 before the first. */
  get durableSeq(): number {
    return this.#writer.durableSeq;
  }

  /** How many events are appended and not durable yet: what a crash now would take. */
  get pendingEvents(): number {
    return this.#writer.pendingEvents;
  }

  /** How much JSON text is not durable yet, in UTF-16 units: of ASCII, bytes. */
  get pendingSize(): number {
    return this.#writer.pendingSize;
  }

  /**
   * The error that made this session read-only (`LOCK_LOST`, `SYNC_FAILED`, `FENCED` …), or `null`. From then on appends and
   * flushes throw it. The events that were not durable stay readable, and `forkSession` can keep them as another session.
   */
  get failure(): unknown {
    return this.#writer.failure ?? this.#log.doubt ?? null;
  }

  /** What became of the snapshots beside the log; `null` where the store has none. Nothing depends on them but time. */
  get snapshots(): SnapshotReport | null {
    return this.#log.snapshots?.() ?? null;
  }

  /**
   * Appends one event: checked, numbered, folded and told to the observers when it returns, durable later.
   *
   * Refuses what a reopen would refuse, and what breaks the nesting of turns, steps and calls.
   *
   * @returns the event as it is in the log, deep-frozen
   * @throws {TypeError} a shape, a place on the surface or a nesting that is not allowed; the message says what was found
   * @throws {UnknownEventError} a type outside the format without `ignorable: true`
   * @throws {BufferFullError|TooLargeError} when too much waits to become durable; nothing was appended
   * @throws {SessionClosedError} after `close()`
   * @throws the session's {@linkcode failure}
   */
  append(draft: EventDraft): SessionEvent {
    if (this.#isAppending) {
      throw new TypeError(`Cannot append "${draft?.type}" to session "${this.id}": another append is not finished`);
    }
    this.#checkWritable("append to");

    this.#isAppending = true;
    try {
      const events = this.#owesPolicy ? [this.#eventFor(BARRIER_POLICY, this.#folds)] : [];
      const before = foldEvents(logFold, events, this.#folds);
      const event = this.#eventFor(draft, before);
      checkNotReserved(event);
      this.#checkPlace(event, before);
      this.#commit([...events, event]);
      this.#owesPolicy = false;
      this.#observers.tell([...events, event]);
      return event;
    } finally {
      this.#isAppending = false;
    }
  }

  /**
   * Makes everything appended so far, and what is appended meanwhile, durable. A session without any event gets its file.
   *
   * @param options.signal ends the waiting, not the flush
   * @returns the last durable seq, −1 for an empty log
   * @throws whatever refused the events: a passing failure (`STORAGE_FULL`) leaves them pending, and a later flush tries again
   */
  flush(options: { readonly signal?: AbortSignal } = {}): Promise<number> {
    return untilAborted(this.#flush(), options.signal);
  }

  async #write(events: readonly SessionEvent[], batchId: string, size: number): Promise<number> {
    const end = this.probes.beginWrite({ events: events.length, size });
    try {
      const durableSeq = await this.#log.append(events, { batchId });
      end(null);
      this.#offer(durableSeq);
      return durableSeq;
    } catch (error) {
      end(error);
      throw error;
    }
  }

  /** Lets the store keep what the log comes to, when all of it is durable. */
  #offer(durableSeq: number): void {
    if (durableSeq !== this.#folds.nextSeq - 1) return;
    this.#log.offer?.({ folds: this.#folds, lastType: this.#lastType });
  }

  async #flush(): Promise<number> {
    this.#checkWritable("flush");
    if (this.nextSeq === 0 && this.#log.state().sizeBytes === null) {
      this.#materializing ??= this.#log.materialize().finally(() => this.#materializing = null);
      await this.#materializing;
    }
    return await this.#writer.flush();
  }

  /**
   * Calls `observer` with every event after it is committed, in order, the policy event included.
   *
   * An observer that throws or rejects is reported and harms nobody; one that appends is refused with a TypeError.
   *
   * @returns what ends the subscription
   * @throws {RangeError} when there are OBSERVERS_MAX already
   */
  subscribe(observer: (event: SessionEvent) => unknown): () => void {
    return this.#observers.add(observer);
  }

  /**
   * Reads events from `from` (default 0), at most `limit` (default PAGE_EVENTS_DEFAULT), those that are not durable included.
   * Works on after a failure, for as long as the store can still be read.
   */
  async history(options: { readonly from?: number; readonly limit?: number } = {}): Promise<EventPage> {
    this.#checkOpen("read");
    const { from = 0, limit = PAGE_EVENTS_DEFAULT } = options;
    if (!Number.isSafeInteger(from) || from < 0 || !(limit >= 1)) {
      throw new RangeError(`Cannot read ${limit} events from ${from} of session "${this.id}"`);
    }
    // The tail is taken before the store is asked: an event that becomes durable in between is in both, and none is in neither.
    const tail = this.#writer.pending(from);
    const stored = from <= this.durableSeq ? (await this.#log.read({ from, limit })).events : [];
    const end = from + stored.length;
    const rest = tail.filter((event) => event.seq >= end);
    // A store may give less than it was asked for; the tail then belongs to a later page.
    const isContiguous = rest[0]?.seq === end;
    const events = isContiguous ? [...stored, ...rest].slice(0, limit) : stored;
    const nextFrom = from + events.length;
    return { events, nextFrom: nextFrom < this.nextSeq ? nextFrom : null };
  }

  /**
   * Every event from `from` on, each once and in order, first those of the past, then each new one when it is committed
   * (which is before it is durable). Ends with the signal or the session.
   */
  async *follow(from = 0, options: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    const { signal } = options;
    for (let next = from; !signal?.aborted && this.#closing === null;) {
      // Taken before the page: whatever comes later than the page wakes us.
      const { promise: news } = this.#news ??= Promise.withResolvers();
      const events = await this.#pageToFollow(next);
      for (const event of events) {
        if (signal?.aborted) return;
        yield event;
      }
      next += events.length;
      if (events.length === 0) await untilAborted(news, signal).catch(() => {});
    }
  }

  async #pageToFollow(from: number): Promise<readonly SessionEvent[]> {
    try {
      return (await this.history({ from })).events;
    } catch (error) {
      // The end of the session is the end of the iteration, also in the middle of a read.
      if (this.#closing !== null) return [];
      throw error;
    }
  }

  /**
   * Keeps bytes under their SHA-256, durable when it resolves.
   *
   * @returns the digest, 64 lower-case hex digits
   */
  async putBlob(bytes: Uint8Array): Promise<string> {
    this.#checkWritable("keep a blob in");
    return await this.#log.putBlob(bytes);
  }

  /**
   * Reads the bytes that were kept under a digest.
   *
   * @throws {NotFoundError} when there are none
   */
  async getBlob(digest: string): Promise<Uint8Array<ArrayBuffer>> {
    this.#checkOpen("read");
    return await this.#log.getBlob(digest);
  }

  /**
   * Makes everything durable and releases the session, also when that fails. A repeated call joins the first.
   *
   * @throws whatever refused the last events; an AggregateError when the release failed too
   */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  /** Does what {@linkcode Session.close} does, and throws what it throws. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    const errors: unknown[] = [];
    await this.#writer.close().catch((error) => errors.push(error));
    if (errors.length === 0) this.#offer(this.durableSeq);
    await this.#log.close().catch((error) => errors.push(error));
    this.#tellFollowers();
    this.#observers.clear();
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, `Cannot close session "${this.id}": two things failed`);
  }

  #checkOpen(verb: string): void {
    if (this.#closing !== null) throw new SessionClosedError(`Cannot ${verb} session "${this.id}": it is closed`);
  }

  #checkWritable(verb: string): void {
    this.#checkOpen(verb);
    if (this.failure !== null) throw this.failure;
  }

  #eventFor(draft: EventDraft, before: LogFolds): SessionEvent {
    return checkAppendable(draft, before.nextSeq, this.clock.now());
  }

  #checkPlace(event: SessionEvent, { surface, brackets, inbox }: LogFolds): void {
    const problem = surfaceProblem(surface, event) ?? replacementProblem(surface, event) ??
      bracketProblem(brackets, event) ?? inboxProblem(inbox, event);
    if (problem === null) return;
    throw new TypeError(`Cannot append ${nameOf(event)} to session "${this.id}": ${problem}`);
  }

  #commit(events: readonly SessionEvent[]): void {
    const folds = foldEvents(logFold, events, this.#folds);
    this.#writer.push(events);
    this.#folds = folds;
    this.#lastType = events.at(-1)?.type ?? this.#lastType;
    this.#tellFollowers();
  }

  #tellFollowers(): void {
    this.#news?.resolve();
    this.#news = null;
  }
}

/** The event as a person names it: with the turn and the step it wants. */
function nameOf({ type, data }: SessionEvent): string {
  const { turn, step } = typeof data === "object" && data !== null && !Array.isArray(data) ? data as Place : {};
  const place = [["turn", turn], ["step", step]].filter(([, value]) => value !== undefined);
  return place.length === 0 ? `"${type}"` : `"${type}" of ${place.map((pair) => pair.join(" ")).join(", ")}`;
}

interface Place {
  readonly turn?: unknown;
  readonly step?: unknown;
}
