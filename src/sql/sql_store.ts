/**
 * The session store over a database: one row per event, and every append one transaction.
 *
 * - `create` writes nothing. The first `append` (or `materialize`) claims the id, inserts the session's row with epoch 1, and with
 *   it the first batch.
 * - `open(id, "write")` claims the id (LOCK_HELD, never waits unless told to), then raises the epoch in one transaction and reads
 *   the log. From then on a writer of a lower epoch is FENCED.
 * - `append` is one transaction: `UPDATE session SET next_seq … WHERE id AND incarnation AND epoch = mine AND next_seq = at`, then
 *   the rows, then the port's `announce` and the store's `inAppend`. No row changed: the epoch is read again and says whether the
 *   writer is fenced. The batch's id is in the same row, so that a commit of unknown outcome is read again, under the row's lock.
 * - `recover` deletes what a torn tail left (a copy stays in `torn_event`) and inserts the closers, in one such transaction.
 * - `watch` waits for a ring: of a writer of this store, of the port's `listen`, or of the poll.
 *
 * @module
 */
import { AlreadyExistsError, NotFoundError, SessionClosedError } from "../errors.ts";
import { checkNewHeader, type SessionHeader } from "../event/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { Bells } from "../store/bells.ts";
import type { LogReader, LogWriter, OpenOptions, SessionRow, SessionStore } from "../store/session_store.ts";
import type { SqlContext, SqlStoreOptions } from "./context.ts";
import { ID_UNITS_MAX } from "./limits.ts";
import { listSessions, statSession } from "./list.ts";
import { SqlLogReader } from "./log_reader.ts";
import { SqlLogWriter } from "./log_writer.ts";
import { sessionState } from "./session_row.ts";
import { takeClaim } from "./take_claim.ts";
import { isIdTooLong, packText } from "./text_column.ts";

export type { AppendedBatch, SqlStoreOptions } from "./context.ts";

/**
 * Opens a store of sessions over a database. Nothing is read or written before it is asked for.
 *
 * @example
 * ```ts
 * import { openSqlite } from "../adapters/sqlite_node/mod.ts";
 * import { openSqlStore } from "./sql_store.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };
 * const folder = await Deno.makeTempDir();
 * await using store = openSqlStore({ sql: openSqlite({ path: `${folder}/sessions.db`, clock }), clock, random });
 * const log = await store.create({ type: "session", version: 3, id: "a", createdAt: 0, isSeeded: false, delegationDepth: 0 });
 * await log.append([{ type: "turn/start", seq: 0, time: 0, data: { turn: 1 } }]);
 * await log.close();
 * if ((await store.stat("a"))?.state !== "open") throw new Error("unreachable");
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export function openSqlStore(options: SqlStoreOptions): SessionStore {
  return new SqlStore({ ...options, bells: new Bells() });
}

class SqlStore implements SessionStore {
  readonly #context: SqlContext;
  /** Ids that were created here and may not be in the database yet. */
  readonly #created = new Set<string>();
  /** Every reader and writer that is not closed. */
  readonly #open = new Set<LogReader>();
  readonly #stopListening: () => void;
  #closing: Promise<void> | null = null;

  constructor(context: SqlContext) {
    this.#context = context;
    const { bells, sql } = context;
    this.#stopListening = sql.listen?.((key) => bells.ring(key)) ?? (() => {});
  }

  get traits(): SessionStore["traits"] {
    return this.#context.sql.traits;
  }

  get runtime(): Runtime {
    const { clock, random } = this.#context;
    return { clock, random };
  }

  async create(header: SessionHeader): Promise<LogWriter> {
    this.#checkOpen("create a session");
    checkNewHeader(header);
    const { id } = header;
    if (isIdTooLong(id)) {
      throw new RangeError(`Cannot create session "${id}": its id would be a name of more than ${ID_UNITS_MAX} units`);
    }
    if (this.#created.has(id)) {
      throw new AlreadyExistsError(`Cannot create session "${id}": it is being created already`);
    }
    this.#created.add(id);
    try {
      if (await this.#has(id)) throw new AlreadyExistsError(`Cannot create session "${id}": it is there already`);
    } catch (error) {
      this.#created.delete(id);
      throw error;
    }
    const writer = SqlLogWriter.create(this.#context, { ...header }, (closed) => {
      this.#created.delete(id);
      this.#open.delete(closed);
    });
    this.#open.add(writer);
    return writer;
  }

  open(id: string, mode: "read", options?: OpenOptions): Promise<LogReader>;
  open(id: string, mode: "write", options?: OpenOptions): Promise<LogWriter>;
  async open(id: string, mode: "read" | "write", options: OpenOptions = {}): Promise<LogReader> {
    this.#checkOpen(`open session "${id}"`);
    options.signal?.throwIfAborted();
    const onClose = (closed: LogReader) => this.#open.delete(closed);
    const log = mode === "read"
      ? await SqlLogReader.open(this.#context, id, options, onClose)
      : await this.#openWriter(id, options, onClose);
    this.#open.add(log);
    return log;
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
    const { sql, clock, bells } = this.#context;
    const key = packText(id);
    if (!await this.#has(id)) throw missing("delete", id);
    const claim = await takeClaim(sql, key, `delete session "${id}"`, clock);
    try {
      await sql.write(async (transaction) => {
        for (const table of ["event", "torn_event", "blob"]) {
          await transaction.run(`DELETE FROM ${table} WHERE session_id = $1`, key);
        }
        const deleted = await transaction.run("DELETE FROM session WHERE id = $1", key);
        if (deleted === 0) throw missing("delete", id);
        await sql.announce?.(transaction, key, 0);
      });
    } finally {
      await claim.release();
    }
    bells.ring(key);
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stopListening();
    const results = await Promise.allSettled([...this.#open].map((log) => log.close()));
    await this.#context.sql.close();
    const errors = results.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
    if (errors.length > 0) throw new AggregateError(errors, "Cannot close the store cleanly");
  }

  async #openWriter(id: string, options: OpenOptions, onClose: (log: LogReader) => void): Promise<LogWriter> {
    const { sql, clock } = this.#context;
    // First, so that asking for what is not there leaves nothing behind.
    if (!await this.#has(id)) throw missing("open", id);
    const claim = await takeClaim(sql, packText(id), `open session "${id}" for writing`, clock, options);
    try {
      return await SqlLogWriter.open(this.#context, id, claim, options, onClose);
    } catch (error) {
      await claim.release();
      throw error;
    }
  }

  #has(id: string): Promise<boolean> {
    return this.#context.sql.read(async (transaction) => await sessionState(transaction, packText(id)) !== null);
  }

  #checkOpen(verb: string): void {
    if (this.#closing !== null) throw new SessionClosedError(`Cannot ${verb}: the store is closed`);
  }
}

function missing(verb: string, id: string): NotFoundError {
  return new NotFoundError(`Cannot ${verb} session "${id}": there is no such session`);
}
