/**
 * The session store over named bytes: DeepSeek Harness's directory layout and log format, version 3.
 *
 * @module
 */
import { AlreadyExistsError, NotFoundError, SessionClosedError, UnsupportedFormatError } from "../errors.ts";
import { checkNewHeader, FORMAT_VERSION, type SessionHeader } from "../event/mod.ts";
import type { ZstdCodec } from "../frame/mod.ts";
import type { Clock, Random, Runtime } from "../runtime/runtime.ts";
import type { StoragePort, StorageTraits } from "../storage/storage_port.ts";
import type { LogReader, LogWriter, OpenOptions, SessionRow, SessionStore } from "../store/session_store.ts";
import { Bells } from "./bells.ts";
import type { JournalContext } from "./context.ts";
import { FOLDER_NAME_UNITS_MAX, LOCK_NAME, type LogEncoding, sessionFolder } from "./layout.ts";
import { JOURNAL_LIMITS, type JournalLimits } from "./limits.ts";
import { listSessions, statSession } from "./list.ts";
import { currentPlace } from "./generations/current_place.ts";
import { openReader } from "./generations/open_reader.ts";
import type { StageVerifier } from "./generations/verify_stage.ts";
import { judgeOf, locate, locateLog, type LogPlace, newerVersion, placeOf } from "./locate.ts";
import { JournalReader } from "./reader.ts";
import { takeLock } from "./take_lock.ts";
import { JournalWriter } from "./writer.ts";

/** What a journal is made of. */
export interface JournalOptions {
  /** Where the bytes are. The journal owns it: closing the store closes it. */
  readonly storage: StoragePort;
  /** Writes new zstd frames and reads those that are there, also when `compression` is `"none"`. */
  readonly codec: ZstdCodec;
  /** Times the pauses between two tries for a lock and between two looks for what other processes appended. */
  readonly clock: Clock;
  /** Handed on as part of the store's `runtime`; the journal itself draws nothing from it. */
  readonly random: Random;
  /**
   * How new sessions are stored; existing ones keep what they have. Default `"zstd"`. DeepSeek Harness wants one encoding for
   * a whole root.
   */
  readonly compression?: LogEncoding;
  /**
   * Checks a migrated log before it is published, such as on another thread. Default: a check where the migration runs, which is
   * the same check.
   */
  readonly verifyStage?: StageVerifier;
  /** Bounds to move; the others are those of {@linkcode JOURNAL_LIMITS}. */
  readonly limits?: Partial<JournalLimits>;
}

/**
 * Opens a store of sessions over a storage. Nothing is read or written before it is asked for.
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../adapters/memory/memory_storage.ts";
 * import { portableZstd } from "../frame/portable_zstd.ts";
 * import { openJournal } from "./journal.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };
 * await using store = openJournal({ storage: new MemoryStorage(), codec: portableZstd(), clock, random });
 * const log = await store.create({ type: "session", version: 3, id: "a", createdAt: 0, isSeeded: false, delegationDepth: 0 });
 * await log.append([{ type: "turn/start", seq: 0, time: 0, data: { turn: 1 } }]);
 * await log.close();
 * if ((await store.stat("a"))?.state !== "open") throw new Error("unreachable");
 * ```
 */
export function openJournal(options: JournalOptions): SessionStore {
  return new Journal(contextOf(options));
}

/** The wiring of one journal. */
export function contextOf(options: JournalOptions): JournalContext {
  const { storage, codec, clock, random, verifyStage, compression = "zstd" } = options;
  const limits = { ...JOURNAL_LIMITS, ...options.limits };
  return { storage, codec, clock, random, verifyStage, compression, limits, bells: new Bells() };
}

/** What `openReader` takes behind the context. */
type ReaderArguments = Parameters<typeof openReader> extends [unknown, ...infer Rest] ? Rest : never;

class Journal implements SessionStore {
  readonly #context: JournalContext;
  /** Ids that were created here and may not be on the medium yet. */
  readonly #created = new Set<string>();
  /** Every reader and writer that is not closed. */
  readonly #open = new Set<LogReader>();
  #closing: Promise<void> | null = null;

  constructor(context: JournalContext) {
    this.#context = context;
  }

  get traits(): StorageTraits {
    return this.#context.storage.traits;
  }

  get runtime(): Runtime {
    const { clock, random } = this.#context;
    return { clock, random };
  }

  async create(header: SessionHeader): Promise<LogWriter> {
    this.#checkOpen("create a session");
    checkNewHeader(header);
    const { id } = header;
    if (sessionFolder(id).length > FOLDER_NAME_UNITS_MAX) {
      throw new RangeError(
        `Cannot create session "${id}": its folder would have a name of more than ${FOLDER_NAME_UNITS_MAX} units`,
      );
    }
    if (this.#created.has(id)) {
      throw new AlreadyExistsError(`Cannot create session "${id}": it is being created already`);
    }
    this.#created.add(id);
    try {
      const { places, flat, unreadable } = await locate(this.#context.storage, id);
      const taken = places[0]?.log ?? flat;
      if (taken !== null) throw new AlreadyExistsError(`Cannot create session "${id}": "${taken}" is there already`);
      if (unreadable !== null) throw unreadable;
    } catch (error) {
      this.#created.delete(id);
      throw error;
    }
    const writer: JournalWriter = JournalWriter.create(this.#context, { ...header }, () => {
      this.#created.delete(id);
      this.#open.delete(writer);
    });
    this.#open.add(writer);
    return writer;
  }

  open(id: string, mode: "read", options?: OpenOptions): Promise<LogReader>;
  open(id: string, mode: "write", options?: OpenOptions): Promise<LogWriter>;
  async open(id: string, mode: "read" | "write", options: OpenOptions = {}): Promise<LogReader> {
    this.#checkOpen(`open session "${id}"`);
    options.signal?.throwIfAborted();
    const place = await locateLog(this.#context.storage, id);
    return mode === "read" ? await this.#openReader(place, options) : await this.#openWriter(place, options);
  }

  async *list(): AsyncIterable<SessionRow> {
    this.#checkOpen("list sessions");
    yield* listSessions(this.#context);
  }

  async stat(id: string): Promise<SessionRow | null> {
    this.#checkOpen(`look at session "${id}"`);
    return await statSession(this.#context, id);
  }

  async delete(id: string): Promise<void> {
    this.#checkOpen(`delete session "${id}"`);
    const { storage, clock } = this.#context;
    const { places: [place, second], empty, unreadable } = await locate(storage, id);
    if (second !== undefined) await locateLog(storage, id); // Throws, and says where.
    const folder = place?.folder ?? empty[0];
    if (folder === undefined) {
      throw unreadable ?? new NotFoundError(`Cannot delete session "${id}": there is no such session`);
    }
    const lock = await takeLock(storage, folder + LOCK_NAME, `delete session "${id}"`, clock);
    try {
      // The highest generation is the session, so it goes last: until then the session is there and whole.
      const found = placeOf(folder, await storage.list(folder));
      for (const generation of found?.generations ?? []) await storage.remove(generation, lock);
      await storage.remove(folder, lock);
    } finally {
      await lock.release();
    }
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const results = await Promise.allSettled([...this.#open].map((log) => log.close()));
    await this.#context.storage.close();
    const errors = results.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
    if (errors.length > 0) throw new AggregateError(errors, "Cannot close the store cleanly");
  }

  async #openReader(place: LogPlace, options: OpenOptions): Promise<LogReader> {
    const judge = judgeOf(this.#context.storage, place);
    const onClose = () => this.#open.delete(reader);
    const reader = place.version === FORMAT_VERSION
      ? await this.#openCurrent(place, judge, options, onClose)
      : await openReader(this.#context, place, judge, options, onClose);
    this.#open.add(reader);
    return reader;
  }

  /** The header decides how a log is read, also where its name says something else, which is then told as a fault. */
  async #openCurrent(...[place, judge, options, onClose]: ReaderArguments): Promise<LogReader> {
    try {
      return await JournalReader.open(this.#context, place, judge, options, onClose);
    } catch (error) {
      if (!(error instanceof UnsupportedFormatError) || error.version === undefined) throw error;
      return await openReader(this.#context, place, judge, options, onClose);
    }
  }

  async #openWriter(found: LogPlace, options: OpenOptions): Promise<LogWriter> {
    const { storage, clock } = this.#context;
    if (found.version > FORMAT_VERSION) throw newerVersion(found);
    const lock = await takeLock(storage, found.lock, `open session "${found.id}" for writing`, clock, options);
    try {
      const place = await currentPlace(this.#context, found, lock, options);
      const judge = judgeOf(storage, place);
      const writer = await JournalWriter.open(
        this.#context,
        place,
        lock,
        judge,
        options,
        () => this.#open.delete(writer),
      );
      this.#open.add(writer);
      return writer;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  #checkOpen(verb: string): void {
    if (this.#closing !== null) throw new SessionClosedError(`Cannot ${verb}: the store is closed`);
  }
}
