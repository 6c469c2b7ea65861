/**
 * A store that writes down what it is handed and what it acknowledges. It changes nothing.
 *
 * @module
 */
import type { SessionEvent } from "../../event/event.ts";
import type { SessionHeader } from "../../event/header.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type {
  EventPage,
  LogReader,
  LogState,
  LogWriter,
  OpenOptions,
  SessionStore,
  SnapshotReport,
} from "../../store/session_store.ts";
import type { Record } from "./record.ts";

/** Wraps a store for one process of a run. */
export class WatchedStore implements SessionStore {
  readonly #store: SessionStore;
  readonly #record: Record;
  readonly #incarnation: number;

  constructor(store: SessionStore, record: Record, incarnation: number) {
    this.#store = store;
    this.#record = record;
    this.#incarnation = incarnation;
  }

  get traits(): SessionStore["traits"] {
    return this.#store.traits;
  }

  get runtime(): Runtime {
    return this.#store.runtime;
  }

  async create(header: SessionHeader): Promise<LogWriter> {
    return this.#watch(await this.#store.create(header));
  }

  open(id: string, mode: "read", options?: OpenOptions): Promise<LogReader>;
  open(id: string, mode: "write", options?: OpenOptions): Promise<LogWriter>;
  async open(id: string, mode: "read" | "write", options?: OpenOptions): Promise<LogReader> {
    if (mode === "read") return await this.#store.open(id, "read", options);
    return this.#watch(await this.#store.open(id, "write", options));
  }

  list(): ReturnType<SessionStore["list"]> {
    return this.#store.list();
  }

  stat(id: string): ReturnType<SessionStore["stat"]> {
    return this.#store.stat(id);
  }

  delete(id: string): Promise<void> {
    return this.#store.delete(id);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #watch(log: LogWriter): LogWriter {
    return new WatchedLog(log, this.#record, this.#incarnation);
  }
}

class WatchedLog implements LogWriter {
  readonly #log: LogWriter;
  readonly #record: Record;
  readonly #incarnation: number;

  constructor(log: LogWriter, record: Record, incarnation: number) {
    this.#log = log;
    this.#record = record;
    this.#incarnation = incarnation;
  }

  get id(): string {
    return this.#log.id;
  }

  get header(): SessionHeader {
    return this.#log.header;
  }

  get inheritedEventCount(): number {
    return this.#log.inheritedEventCount;
  }

  get encoding(): LogWriter["encoding"] {
    return this.#log.encoding;
  }

  get traits(): LogWriter["traits"] {
    return this.#log.traits;
  }

  state(): LogState {
    return this.#log.state();
  }

  read(options?: Parameters<LogWriter["read"]>[0]): Promise<EventPage> {
    return this.#log.read(options);
  }

  watch(from: number, options?: Parameters<LogWriter["watch"]>[1]): AsyncIterable<SessionEvent> {
    return this.#log.watch(from, options);
  }

  getBlob(digest: string): ReturnType<LogWriter["getBlob"]> {
    return this.#log.getBlob(digest);
  }

  putBlob(bytes: Uint8Array): Promise<string> {
    return this.#log.putBlob(bytes);
  }

  async append(events: readonly SessionEvent[], options?: { readonly batchId?: string }): Promise<number> {
    const acknowledge = this.#record.batch(this.#incarnation, events);
    const lastSeq = await this.#log.append(events, options);
    acknowledge(lastSeq);
    return lastSeq;
  }

  async recover(events: readonly SessionEvent[]): Promise<number> {
    const acknowledge = this.#record.recovery(this.#incarnation, events);
    const lastSeq = await this.#log.recover(events);
    acknowledge(lastSeq);
    return lastSeq;
  }

  offer(kept: Parameters<NonNullable<LogWriter["offer"]>>[0]): void {
    this.#log.offer?.(kept);
  }

  snapshots(): SnapshotReport {
    return this.#log.snapshots!();
  }

  get doubt(): Error | null {
    return this.#log.doubt ?? null;
  }

  materialize(): Promise<void> {
    return this.#log.materialize();
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
