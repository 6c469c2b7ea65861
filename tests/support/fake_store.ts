/**
 * A store in memory whose every write a test can fail, hold back or falsify. Rows pass through JSON text, as on a disk.
 *
 * @module
 */
import {
  AlreadyExistsError,
  LockHeldError,
  NotFoundError,
  SequenceGapError,
  SessionClosedError,
} from "../../src/errors.ts";
import type { SessionEvent, SessionHeader } from "../../src/event/mod.ts";
import type { Clock, Random, Runtime } from "../../src/runtime/runtime.ts";
import type { StorageTraits } from "../../src/storage/storage_port.ts";
import type {
  EventPage,
  LogReader,
  LogState,
  LogWriter,
  OpenOptions,
  SessionRow,
  SessionStore,
  TornTail,
} from "../../src/store/session_store.ts";
import { FakeClock } from "./fake_clock.ts";
import { seededRandom } from "./seeded_random.ts";

/** Traits of a disk that keeps its word. */
export const DEVICE_TRAITS: StorageTraits = {
  medium: "fake",
  sync: "device",
  names: "synced",
  publish: "link",
  lockScope: "process",
  persistence: "persistent",
};

/** What happened at the store's door, in order. */
export interface StoreCall {
  readonly kind: "append" | "recover" | "materialize";
  readonly sessionId: string;
  readonly batchId: string | null;
  readonly types: readonly string[];
  readonly seqs: readonly number[];
}

interface Log {
  header: SessionHeader;
  rows: string[];
  isPublished: boolean;
  isLocked: boolean;
  torn: TornTail | null;
  blobs: Map<string, Uint8Array<ArrayBuffer>>;
}

/** What the next write does instead of succeeding. */
type Fault = { readonly fail: unknown } | { readonly acknowledge: number } | { readonly takeAndFail: unknown };

/** How to make a {@linkcode FakeStore}. */
export interface FakeStoreOptions {
  readonly traits?: Partial<StorageTraits>;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** See the module. */
export class FakeStore implements SessionStore {
  readonly traits: StorageTraits;
  readonly runtime: Runtime;
  readonly calls: StoreCall[] = [];
  logs = new Map<string, Log>();
  /** Logs opened and not closed. */
  openLogs = 0;
  /** While set, every write fails with it. */
  failure: unknown = null;
  #faults: Fault[] = [];
  #held: PromiseWithResolvers<void> | null = null;

  constructor(options: FakeStoreOptions = {}) {
    this.traits = { ...DEVICE_TRAITS, ...options.traits };
    this.runtime = { clock: options.clock ?? new FakeClock(), random: options.random ?? seededRandom(1) };
  }

  /** The next write without a fault before it behaves like this. */
  inject(fault: Fault): void {
    this.#faults.push(fault);
  }

  /** Writes hang from now on. Returns what lets them go on. */
  hold(): () => void {
    const held = this.#held = Promise.withResolvers<void>();
    return () => {
      this.#held = null;
      held.resolve();
    };
  }

  /** The durable events of a session. */
  events(id: string): SessionEvent[] {
    return this.#log(id).rows.map((row) => JSON.parse(row));
  }

  /** A store with what is durable now and no locks, as after a crash of the process. */
  crash(): FakeStore {
    const next = new FakeStore({ traits: this.traits, ...this.runtime });
    for (const [id, log] of this.logs) {
      if (log.isPublished) next.logs.set(id, { ...log, rows: [...log.rows], isLocked: false });
    }
    return next;
  }

  /** Puts a durable session there, as another process would have. */
  plant(header: SessionHeader, events: readonly SessionEvent[], torn: TornTail | null = null): void {
    const rows = events.map((event) => JSON.stringify(event));
    this.logs.set(header.id, { header, rows, isPublished: true, isLocked: false, torn, blobs: new Map() });
  }

  create(header: SessionHeader): Promise<LogWriter> {
    if (this.logs.has(header.id)) {
      return Promise.reject(new AlreadyExistsError(`Cannot create session "${header.id}": the id is taken`));
    }
    const log: Log = { header, rows: [], isPublished: false, isLocked: true, torn: null, blobs: new Map() };
    this.logs.set(header.id, log);
    return Promise.resolve(this.#writer(log));
  }

  open(id: string, mode: "read", options?: OpenOptions): Promise<LogReader>;
  open(id: string, mode: "write", options?: OpenOptions): Promise<LogWriter>;
  // deno-lint-ignore require-await -- what is thrown must reject
  async open(id: string, mode: "read" | "write", options: OpenOptions = {}): Promise<LogWriter> {
    const log = this.#log(id);
    if (mode === "write" && log.isLocked) throw new LockHeldError(`Cannot open session "${id}": it has a writer`);
    for (const row of log.rows) options.visit?.(JSON.parse(row));
    if (mode === "write") log.isLocked = true;
    return this.#writer(log, mode === "write");
  }

  async *list(): AsyncIterable<SessionRow> {
    for (const id of [...this.logs.keys()].sort()) yield (await this.stat(id))!;
  }

  stat(id: string): Promise<SessionRow | null> {
    const log = this.logs.get(id);
    if (log === undefined) return Promise.resolve(null);
    return Promise.resolve({
      id,
      name: id,
      header: log.header,
      state: "unchecked",
      reason: null,
      sizeBytes: log.rows.join("\n").length,
      version: log.header.version,
      encoding: null,
      lastEventTime: null,
      live: log.isLocked,
    });
  }

  // deno-lint-ignore require-await -- what is thrown must reject
  async delete(id: string): Promise<void> {
    if (this.#log(id).isLocked) throw new LockHeldError(`Cannot delete session "${id}": it has a writer`);
    this.logs.delete(id);
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #log(id: string): Log {
    const log = this.logs.get(id);
    if (log === undefined) throw new NotFoundError(`Cannot open session "${id}": there is none`);
    return log;
  }

  /** Every write passes here: held back, failed, or recorded and done. */
  async #write(log: Log, call: Omit<StoreCall, "sessionId">, events: readonly SessionEvent[]): Promise<number> {
    this.calls.push({ ...call, sessionId: log.header.id });
    while (this.#held !== null) await this.#held.promise;
    const fault = this.#faults.shift() ?? (this.failure === null ? null : { fail: this.failure });
    if (fault !== null && "fail" in fault) throw fault.fail;
    const gap = events.find((event, index) => event.seq !== log.rows.length + index);
    if (gap !== undefined) {
      throw new SequenceGapError(`Cannot append seq ${gap.seq}: the log has ${log.rows.length} events`);
    }
    log.rows.push(...events.map((event) => JSON.stringify(event)));
    log.isPublished = true;
    log.torn = null;
    if (fault !== null && "takeAndFail" in fault) throw fault.takeAndFail;
    return fault?.acknowledge ?? log.rows.length - 1;
  }

  #writer(log: Log, isWriting = true): LogWriter {
    const { traits } = this;
    let isClosed = false;
    this.openLogs++;
    let lastBatch: { id: string; seq: number } | null = null;
    const check = () => {
      if (isClosed) throw new SessionClosedError(`Cannot use session "${log.header.id}": it is closed`);
    };
    const describe = (events: readonly SessionEvent[], batchId: string | null) => ({
      batchId,
      types: events.map((event) => event.type),
      seqs: events.map((event) => event.seq),
    });

    return {
      id: log.header.id,
      header: log.header,
      inheritedEventCount: inheritedCount(log),
      encoding: null,
      traits,
      state: (): LogState => ({
        sizeBytes: log.isPublished ? log.rows.join("\n").length : null,
        frames: 0,
        nextSeq: log.rows.length,
        torn: log.torn,
        fault: null,
      }),
      read: (options = {}): Promise<EventPage> => {
        const from = options.from ?? 0;
        const end = Math.min(log.rows.length, from + (options.limit ?? 1000));
        const events = log.rows.slice(from, end).map((row) => JSON.parse(row));
        return Promise.resolve({ events, nextFrom: end < log.rows.length ? end : null });
      },
      async *watch(from) {
        for (const row of log.rows.slice(from)) yield JSON.parse(row);
      },
      getBlob: (digest) => {
        const blob = log.blobs.get(digest);
        return blob === undefined ? Promise.reject(new NotFoundError(digest)) : Promise.resolve(blob);
      },
      append: async (events, options = {}) => {
        check();
        const batchId = options.batchId ?? null;
        if (batchId !== null && lastBatch?.id === batchId) return lastBatch.seq;
        const last = events.at(-1)!.seq;
        try {
          return await this.#write(log, { kind: "append", ...describe(events, batchId) }, events);
        } finally {
          if (batchId !== null && log.rows.length > last) lastBatch = { id: batchId, seq: last };
        }
      },
      recover: (events) => {
        check();
        return this.#write(log, { kind: "recover", ...describe(events, null) }, events);
      },
      materialize: async () => {
        check();
        await this.#write(log, { kind: "materialize", ...describe([], null) }, []);
      },
      putBlob: async (bytes) => {
        check();
        const copy = new Uint8Array(bytes);
        const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", copy));
        const digest = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
        log.blobs.set(digest, copy);
        return digest;
      },
      close: () => {
        if (!isClosed) this.openLogs--;
        if (!isClosed && isWriting) {
          log.isLocked = false;
          if (!log.isPublished) this.logs.delete(log.header.id);
        }
        isClosed = true;
        return Promise.resolve();
      },
      async [Symbol.asyncDispose]() {
        await this.close();
      },
    };
  }
}

function inheritedCount(log: Log): number {
  const events = log.rows.map((row): SessionEvent<string, { inherited?: true }> => JSON.parse(row));
  return events.findLast((event) => event.type === "session/end-seed" && event.data.inherited === true)?.seq ?? 0;
}
