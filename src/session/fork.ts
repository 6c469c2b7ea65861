/**
 * Forking: a new session that begins with another one's events.
 *
 * A fork is cut outside of an open turn, because inside of one the parent may go on with calls of which the child would say
 * that they were never begun. The exception is a live session that can write no more: it will not go on, so its fork keeps
 * everything it holds, durable or not, and closes the turn like a crash does.
 *
 * @see session-format §4.4
 * @module
 */
import { CorruptLogError, UnsupportedFormatError } from "../errors.ts";
import { checkAppendable, FORMAT_VERSION, isEvent, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import { bracketsFold, foldEvents, logFold, type LogFolds } from "../fold/mod.ts";
import type { LostText, SpilledCheck } from "../store/check_spilled.ts";
import type { EventPage, LogFault, LogWriter, SessionStore } from "../store/session_store.ts";
import { copyBlobs, type LostBlob, namedBlobs } from "./copy_blobs.ts";
import { createLog } from "./create.ts";
import { newSessionId } from "./id.ts";
import { END_INHERITED_SEED } from "./own_events.ts";
import { closers } from "./repair.ts";
import { PAGE_EVENTS_DEFAULT, Session, type SessionSettings } from "./session.ts";

/** How many events one batch of a copy holds at most. */
export const FORK_BATCH_EVENTS_MAX = 1000;

/** At how much JSON text a batch of a copy ends, in UTF-16 units. */
export const FORK_BATCH_SIZE_MAX = 8 * 1024 * 1024;

/** How to fork a session. */
export type ForkSessionOptions =
  & SessionSettings
  & {
    /** Where the fork is kept, and where `sourceId` is looked up. */
    readonly store: SessionStore;
    /**
     * seq of the last event to take; no turn may be open after it. Default: the last such event. For a live session that has
     * failed: everything.
     */
    readonly at?: number;
    /** Id of the fork. Default: a new short one. */
    readonly id?: string;
    /** Default: the source's. */
    readonly cwd?: string;
  }
  & ({ readonly sourceId: string; readonly session?: undefined } | {
    readonly session: Session;
    readonly sourceId?: undefined;
  });

/** A fork that was made. */
export interface Forked {
  readonly session: Session;
  /** What closed its turn, when its source had failed inside of one. */
  readonly closers: readonly SessionEvent[];
  /** The long results it names, and those that its source has no more: the fork cannot read them either. */
  readonly spilled: SpilledCheck;
}

/**
 * Copies a session's events into a new session, and opens that.
 *
 * The copy is durable when it resolves. A copy that fails half-way is removed. What its source has lost keeps nobody from forking
 * it, because a fork may be the way out of a session that can write no more; `spilled` says what is lost.
 * @throws {RangeError} when `at` is no event of the source, or a turn is open after it
 * @throws {CorruptLogError} when the source is damaged and `at` does not say how much of it is wanted
 * @throws {NotFoundError} when there is no source
 *
 * @example
 * ```ts
 * import type { SessionStore } from "../store/session_store.ts";
 * import { forkSession } from "./fork.ts";
 *
 * async function fork(store: SessionStore, sourceId: string): Promise<string> {
 *   const { session } = await forkSession({ store, sourceId });
 *   await session.close();
 *   return session.id;
 * }
 * ```
 */
export async function forkSession(
  options: ForkSessionOptions,
): Promise<Forked> {
  const { store, clock = store.runtime.clock, random = store.runtime.random } = options;
  const source = await openSource(options);
  try {
    checkVersion(source.header);
    const last = await lastToTake(source, options.at);

    const log = await createLog(store, options.id, (id) => ({
      ...source.header,
      id: id ?? newSessionId(clock, random),
      createdAt: clock.now(),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      parentSession: source.header.id,
      isSeeded: true,
    }));
    try {
      const copy = new Copy(log, source);
      for await (const event of eventsThrough(source, last)) await copy.add(event);
      const closing = closers(copy.folds);
      for (const event of closing) await copy.add(event);
      const inheritedEventCount = copy.folds.nextSeq;
      await copy.add(checkAppendable(END_INHERITED_SEED, inheritedEventCount, clock.now()));
      await copy.end();
      const { folds } = copy;
      const session = new Session({ ...options, clock, random, log, folds, inheritedEventCount, mustEndSeed: false });
      return { session, closers: closing, spilled: copy.spilled };
    } catch (error) {
      await discard(store, log);
      throw error;
    }
  } finally {
    await source[Symbol.asyncDispose]();
  }
}

/** Events of another version cannot go on in this one. */
function checkVersion({ id, version }: SessionHeader): void {
  if (version === FORMAT_VERSION) return;
  const found = `its events are of version ${version} and have no place in version ${FORMAT_VERSION}`;
  throw new UnsupportedFormatError(`Cannot fork session "${id}": ${found}`, { version });
}

/** Where a fork reads from. */
interface Source extends AsyncDisposable {
  readonly header: SessionHeader;
  readonly nextSeq: number;
  readonly fault: LogFault | null;
  /** Whether it is certain that nobody goes on with its open turn. */
  readonly isOver: boolean;
  read(options: { readonly from: number; readonly limit: number }): Promise<EventPage>;
  getBlob(digest: string): Promise<Uint8Array<ArrayBuffer>>;
}

async function openSource({ store, sourceId, session }: ForkSessionOptions): Promise<Source> {
  if (session !== undefined) {
    const { header, nextSeq } = session;
    const read = (options: { readonly from: number; readonly limit: number }) => session.history(options);
    const isOver = session.failure !== null;
    const getBlob = (digest: string) => session.getBlob(digest);
    return { header, nextSeq, fault: null, isOver, read, getBlob, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const log = await store.open(sourceId, "read");
  const { nextSeq, fault } = log.state();
  const read = log.read.bind(log);
  const getBlob = log.getBlob.bind(log);
  return { header: log.header, nextSeq, fault, isOver: false, read, getBlob, [Symbol.asyncDispose]: () => log.close() };
}

/** The seq of the last event to take; −1 for none. */
async function lastToTake(source: Source, at: number | undefined): Promise<number> {
  const { header: { id }, nextSeq, fault } = source;
  if (at === undefined && fault !== null) {
    const advice = `say with "at" how much of it is wanted, at most ${nextSeq - 1}`;
    throw new CorruptLogError(`Cannot fork session "${id}": ${fault.message}; ${advice}`, { seq: nextSeq });
  }
  if (at !== undefined && !(Number.isSafeInteger(at) && at >= 0 && at < nextSeq)) {
    throw new RangeError(`Cannot fork session "${id}" at ${at}: it holds events 0 to ${nextSeq - 1}`);
  }
  if (at === undefined && source.isOver) return nextSeq - 1;

  let brackets = bracketsFold.initial();
  let boundary = -1;
  for await (const event of eventsThrough(source, at ?? nextSeq - 1)) {
    brackets = bracketsFold.apply(brackets, event);
    if (brackets.turn === null) boundary = event.seq;
  }
  if (at !== undefined && at !== boundary) {
    const nearest = boundary === -1 ? "there is no boundary before it" : `the boundary before it is ${boundary}`;
    throw new RangeError(`Cannot fork session "${id}" at ${at}: turn ${brackets.turn} is open there; ${nearest}`);
  }
  return boundary;
}

/** The events from 0 to `last`, page by page. A source that yields anything but the next event is damaged. */
async function* eventsThrough(source: Source, last: number): AsyncIterable<SessionEvent> {
  const damaged = (seq: number) => {
    const message = `Cannot read session "${source.header.id}": event ${seq} of ${last} is missing`;
    return new CorruptLogError(message, { seq });
  };
  for (let next = 0; next <= last;) {
    const { events } = await source.read({ from: next, limit: Math.min(PAGE_EVENTS_DEFAULT, last - next + 1) });
    if (events.length === 0) throw damaged(next);
    for (const event of events) {
      if (event.seq !== next) throw damaged(next);
      next++;
      yield event;
    }
  }
}

/** The log of a fork while it is filled, in batches of bounded size. */
class Copy {
  folds: LogFolds = logFold.initial();
  readonly #log: LogWriter;
  readonly #source: Pick<Source, "getBlob">;
  #batch: SessionEvent[] = [];
  #batchSize = 0;
  readonly #lost: LostText[] = [];

  constructor(log: LogWriter, source: Pick<Source, "getBlob">) {
    this.#log = log;
    this.#source = source;
  }

  /** What of the long results could be copied. */
  get spilled(): SpilledCheck {
    return {
      count: this.folds.spilled.texts.length,
      missing: this.#lost.filter(({ code }) => code === "NOT_FOUND"),
      damaged: this.#lost.filter(({ code }) => code !== "NOT_FOUND"),
    };
  }

  async add(event: SessionEvent): Promise<void> {
    this.folds = foldEvents(logFold, [event], this.folds);
    this.#batch.push(event);
    this.#batchSize += JSON.stringify(event).length;
    if (this.#batch.length >= FORK_BATCH_EVENTS_MAX || this.#batchSize >= FORK_BATCH_SIZE_MAX) await this.end();
  }

  async end(): Promise<void> {
    const digests = namedBlobs(this.#batch);
    // A folder of blobs without a log would belong to nobody.
    if (digests.length > 0 && this.#log.state().sizeBytes === null) await this.#log.materialize();
    // Before the events that name them. The parent may be deleted at any time, so the fork keeps copies of its own.
    this.#keepLost(await copyBlobs(this.#source, this.#log, digests));
    if (this.#batch.length > 0) await this.#log.append(this.#batch);
    this.#batch = [];
    this.#batchSize = 0;
  }

  #keepLost(blobs: readonly LostBlob[]): void {
    for (const event of this.#batch) {
      if (!isEvent(event, "result/spilled")) continue;
      const lost = blobs.find(({ digest }) => digest === event.data.digest);
      if (lost === undefined) continue;
      const { callId, callSeq, sizeBytes } = event.data;
      this.#lost.push({ seq: event.seq, callId, callSeq, sizeBytes, ...lost });
    }
  }
}

/** Removes what a failed copy left. Should that fail too, the copy is listed as damaged: it lacks its end-seed. */
async function discard(store: SessionStore, log: LogWriter): Promise<void> {
  const isPublished = log.state().sizeBytes !== null;
  await log.close().catch(() => {});
  if (isPublished) await store.delete(log.id).catch(() => {});
}
