/**
 * A store that tells what becomes durable and how long that took, and that refuses to write a log which is not as remembered.
 *
 * @module
 */
import type { LogReader, LogWriter, OpenOptions, SessionEvent, SessionHeader, SessionStore } from "../../mod.ts";
import { LOG_MOVED, type LogMark, markOf, movedSince, TailKeeper } from "./log_mark.ts";
import { Refusal } from "./wire.ts";

/** What happened in the store. */
export interface StoreListener {
  /** A batch became durable. `isFirst` when the session had no file before. */
  appended(id: string, lastSeq: number, tookMs: number, isFirst: boolean): void;
}

/**
 * What is done to a log, under its lock, before a session is built on it.
 *
 * @param salvaged the `log/salvaged` events in it
 * @returns the event that was appended, if any
 */
export type Preparation = (log: LogWriter, salvaged: readonly SessionEvent[]) => Promise<SessionEvent | null>;

/** How to watch a store. */
export interface WatchOptions {
  /** Milliseconds from anywhere, with fractions, never going back. */
  readonly elapsedMs: () => number;
  readonly listener: StoreListener;
  readonly prepare?: Preparation;
}

/** The store, and what is remembered of the logs it wrote. */
export class WatchedStore implements SessionStore {
  readonly #store: SessionStore;
  readonly #options: WatchOptions;
  /** One per session that was written or followed here. */
  readonly #marks = new Map<string, LogMark>();

  constructor(store: SessionStore, options: WatchOptions) {
    this.#store = store;
    this.#options = options;
  }

  get traits(): SessionStore["traits"] {
    return this.#store.traits;
  }

  get runtime(): SessionStore["runtime"] {
    return this.#store.runtime;
  }

  /** How this log looked when it was last written or read here. Opening it for writing is refused when it looks otherwise. */
  remember(id: string, mark: LogMark): void {
    this.#marks.set(id, mark);
  }

  /** What is remembered of a log. */
  known(id: string): LogMark | null {
    return this.#marks.get(id) ?? null;
  }

  /** The next opening for writing takes the log as it is. */
  forget(id: string): void {
    this.#marks.delete(id);
  }

  async create(header: SessionHeader): Promise<LogWriter> {
    return this.#watched(await this.#store.create(header), null);
  }

  open(id: string, mode: "read", options?: OpenOptions): Promise<LogReader>;
  open(id: string, mode: "write", options?: OpenOptions): Promise<LogWriter>;
  async open(id: string, mode: "read" | "write", options: OpenOptions = {}): Promise<LogReader> {
    if (mode === "read") return await this.#store.open(id, mode, options);
    const expected = this.#marks.get(id) ?? null;
    const tail = new TailKeeper(expected);
    const salvaged: SessionEvent[] = [];
    const see = (event: SessionEvent) => {
      tail.see(event);
      if (event.type === "log/salvaged") salvaged.push(event);
      options.visit?.(event);
    };
    // Every event has to be seen, so a snapshot is of no use.
    const log = await this.#store.open(id, mode, { ...options, restore: undefined, visit: see });
    try {
      const moved = expected === null ? null : movedSince(expected, tail, log.state());
      if (moved !== null) throw new Refusal(LOG_MOVED, `Cannot go on with session "${id}": ${moved}`);
      const appended = await this.#options.prepare?.(log, salvaged) ?? null;
      if (appended !== null) see(appended);
      this.#marks.set(id, markOf(tail, log.state()));
      return this.#watched(log, tail);
    } catch (error) {
      await log.close().catch(() => {});
      throw error;
    }
  }

  list(): ReturnType<SessionStore["list"]> {
    return this.#store.list();
  }

  stat(id: string): ReturnType<SessionStore["stat"]> {
    return this.#store.stat(id);
  }

  async delete(id: string): Promise<void> {
    await this.#store.delete(id);
    this.forget(id);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #watched(log: LogWriter, tail: TailKeeper | null): LogWriter {
    const { elapsedMs, listener } = this.#options;
    const kept = tail ?? new TailKeeper(null);
    const timed = async (events: readonly SessionEvent[], act: () => Promise<number>): Promise<number> => {
      const isFirst = log.state().sizeBytes === null;
      const startMs = elapsedMs();
      const lastSeq = await act();
      for (const event of events) kept.see(event);
      this.#marks.set(log.id, markOf(kept, log.state()));
      listener.appended(log.id, lastSeq, elapsedMs() - startMs, isFirst);
      return lastSeq;
    };
    return new Proxy(log, {
      get(target, name) {
        if (name === "append") {
          return (events: readonly SessionEvent[], options?: { readonly batchId?: string }) =>
            timed(events, () => target.append(events, options));
        }
        if (name === "recover") {
          return (events: readonly SessionEvent[]) => timed(events, () => target.recover(events));
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}
