/**
 * A log in a database, open for writing.
 *
 * @module
 */
import {
  AlreadyExistsError,
  FencedError,
  type HoldfastError,
  LockLostError,
  NotFoundError,
  TooLargeError,
} from "../errors.ts";
import type { SessionEvent, SessionHeader } from "../event/mod.ts";
import { type CheckedLog, withBatch } from "../fold/checked_log.ts";
import type { LogWriter } from "../store/session_store.ts";
import { checkBlobSize, hex, putBlobRow, sha256Hex } from "./blobs.ts";
import {
  columnsOf,
  EVENT_COLUMNS,
  type EventColumns,
  eventOf,
  HEADER_COLUMNS,
  headerValues,
  rowOfColumns,
} from "./columns.ts";
import { CommitUnknownError, writeRepeatable } from "./commit_unknown.ts";
import type { SqlContext } from "./context.ts";
import { errorOf } from "./finding.ts";
import { CONTENT_SIZE_BYTES_MAX, WRITE_ROWS_MAX } from "./limits.ts";
import { scanLog } from "./log_reader.ts";
import { type ScanOptions, SqlScan } from "./log_scan.ts";
import { SqlLogView } from "./log_view.ts";
import { type SessionState, sessionState } from "./session_row.ts";
import type { SqlClaim, SqlTransaction, SqlValue } from "./sql_port.ts";
import { takeClaim } from "./take_claim.ts";
import { packText } from "./text_column.ts";

/** How many random bytes an incarnation has, and the id of a batch that was given none. */
const TOKEN_BYTES = 16;

/** What one transaction adds to a log. */
interface Batch {
  readonly events: readonly SessionEvent[];
  readonly columns: readonly EventColumns[];
  /** The seq of its first event, which is the log's next one. */
  readonly at: number;
  /** The log with it. */
  readonly log: CheckedLog;
  readonly sizeBytes: number;
  readonly batchId: string;
  /** What the session's row remembers it by. */
  readonly token: string;
}

/** The batch that was acknowledged last. */
interface LastBatch {
  readonly id: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** The only writer of a log: whoever claims the session after it raises the epoch, and then it is fenced. */
export class SqlLogWriter extends SqlLogView implements LogWriter {
  protected readonly incarnation: string;
  #epoch: number;
  /** `null` until the first write of a created session, which takes it; then held until close. */
  #claim: SqlClaim | null;
  #isPublished: boolean;
  #lastBatch: LastBatch | null = null;
  /** A batch of which nobody knows whether it was committed. Read again before anything else is written. */
  #doubtful: Batch | null = null;
  /** Why nothing is written any more. */
  #spent: HoldfastError | null = null;
  /** Everything that writes is done one after the other; a call that fails does not stop the next. */
  #queue: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;
  readonly #onClose: () => void;

  private constructor(
    context: SqlContext,
    scan: SqlScan,
    owner: { readonly incarnation: string; readonly epoch: number; readonly claim: SqlClaim | null },
    onClose: (writer: SqlLogWriter) => void,
  ) {
    super(context, scan);
    this.incarnation = owner.incarnation;
    this.#epoch = owner.epoch;
    this.#claim = owner.claim;
    this.#isPublished = owner.claim !== null;
    this.#onClose = () => onClose(this);
  }

  /** A session that has no row yet. Writes nothing. */
  static create(context: SqlContext, header: SessionHeader, onClose: (writer: SqlLogWriter) => void): SqlLogWriter {
    const scan = new SqlScan(packText(header.id), header);
    const incarnation = hex(context.random.bytes(TOKEN_BYTES));
    return new SqlLogWriter(context, scan, { incarnation, epoch: 1, claim: null }, onClose);
  }

  /**
   * Reads a log under its claim and raises the epoch: from then on an earlier writer is fenced, whatever it believes.
   *
   * That transaction also makes durable what a writer that was killed had written and not synced, before anybody builds on it.
   *
   * @throws the finding, as an error, when the log is not fit for writing; nothing was changed
   */
  static async open(
    context: SqlContext,
    id: string,
    claim: SqlClaim,
    options: ScanOptions,
    onClose: (writer: SqlLogWriter) => void,
  ): Promise<SqlLogWriter> {
    const { sql } = context;
    const { scan, state: { incarnation } } = await scanLog(context, id, options);
    const what = `open session "${id}" for writing`;
    if (scan.finding !== null) throw errorOf(scan.finding, what);
    // Repeated, it raises the epoch once more, which fences nobody who is not fenced already.
    const epoch = await writeRepeatable(sql, async (transaction) => {
      const changed = await transaction.run(
        "UPDATE session SET epoch = epoch + 1 WHERE id = $1 AND incarnation = $2",
        ...[scan.key, incarnation],
      );
      if (changed === 0) throw new NotFoundError(`Cannot ${what}: it went away while it was opened`);
      const state = await sessionState(transaction, scan.key) as SessionState;
      await scan.advance(transaction, state, options); // What an earlier writer still committed.
      await scan.lookBehind(transaction, state);
      if (scan.finding !== null) throw errorOf(scan.finding, what);
      return state.epoch;
    });
    return new SqlLogWriter(context, scan, { incarnation, epoch, claim }, onClose);
  }

  async append(events: readonly SessionEvent[], options: { readonly batchId?: string } = {}): Promise<number> {
    this.checkOpen("append to");
    const columns = events.map(columnsOf); // Now, because the caller may change what it handed over.
    const kept = [...events];
    return await this.#enqueue(async () => {
      await this.#settle();
      const { batchId } = options;
      if (batchId !== undefined && batchId === this.#lastBatch?.id) return repeat(this.#lastBatch, columns);
      const batch = this.#batch(kept, columns, batchId);
      return columns.length === 0 ? this.scan.log.nextSeq - 1 : await this.#commit(batch);
    });
  }

  async recover(events: readonly SessionEvent[]): Promise<number> {
    this.checkOpen("recover");
    const columns = events.map(columnsOf);
    const kept = [...events];
    return await this.#enqueue(async () => {
      await this.#settle();
      const batch = this.#batch(kept, columns, undefined);
      if (columns.length === 0 && this.scan.torn === null) return this.scan.log.nextSeq - 1;
      return await this.#commit(batch);
    });
  }

  async materialize(): Promise<void> {
    this.checkOpen("materialize");
    await this.#enqueue(async () => {
      await this.#settle();
      if (!this.#isPublished) await this.#commit(this.#batch([], [], undefined));
    });
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    this.checkOpen("keep a blob of");
    const copy = bytes.slice();
    checkBlobSize(copy);
    const digest = await sha256Hex(copy);
    return await this.#enqueue(async () => {
      await this.#settle();
      await this.#takeClaim();
      await writeRepeatable(this.context.sql, async (transaction) => {
        if (this.#isPublished) await this.#checkOwner(transaction);
        await putBlobRow(transaction, this.key, this.incarnation, digest, copy);
      });
      return digest;
    });
  }

  override close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await super.close(); // New calls are refused from now on.
    await this.#queue;
    try {
      await this.#claim?.release();
    } finally {
      this.#onClose();
    }
  }

  protected get isPublished(): boolean {
    return this.#isPublished;
  }

  /** Nobody else writes, so there is never any news. */
  protected refresh(): Promise<void> {
    return Promise.resolve();
  }

  #enqueue<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = this.#queue.then(async () => {
      if (this.#spent !== null) throw this.#spent;
      return await act();
    });
    this.#queue = done.then(() => {}, () => {});
    return done;
  }

  async #takeClaim(): Promise<void> {
    const { sql, clock } = this.context;
    this.#claim ??= await takeClaim(sql, this.key, `write session "${this.id}"`, clock);
  }

  /** A batch that may come next, or an error. */
  #batch(events: readonly SessionEvent[], columns: readonly EventColumns[], batchId: string | undefined): Batch {
    const { scan: { log }, header } = this;
    const what = `append to session "${this.id}"`;
    const read = (row: EventColumns, seq: number) => eventOf(rowOfColumns(row), seq);
    const next = withBatch(log, columns, columns[0]?.seq ?? null, header, what, read);
    for (const { seq, sizeBytes } of columns) {
      if (sizeBytes <= CONTENT_SIZE_BYTES_MAX) continue;
      const limit = `the limit is ${CONTENT_SIZE_BYTES_MAX}`;
      throw new TooLargeError(`Cannot ${what}: event ${seq} has ${sizeBytes} bytes, ${limit}`);
    }
    const id = batchId ?? hex(this.context.random.bytes(TOKEN_BYTES));
    const sizeBytes = columns.reduce((sum, row) => sum + row.sizeBytes, 0);
    const token = `${this.#epoch}:${packText(id)}`;
    return { events, columns, at: log.nextSeq, log: next, sizeBytes, batchId: id, token };
  }

  /**
   * Writes a batch and acknowledges it. A commit of unknown outcome is read again; only when it is certain that it did not
   * happen is the batch written a second time.
   */
  async #commit(batch: Batch): Promise<number> {
    await this.#takeClaim();
    for (let isLast = false;; isLast = true) {
      try {
        await this.context.sql.write((transaction) => this.#write(transaction, batch));
      } catch (error) {
        if (error instanceof FencedError || error instanceof LockLostError) this.#spent = error;
        if (!(error instanceof CommitUnknownError)) throw error;
        this.#doubtful = batch;
        const isThere = await this.#settle();
        if (isThere) return batch.log.nextSeq - 1;
        if (isLast) throw error;
        continue;
      }
      this.#acknowledge(batch);
      return batch.log.nextSeq - 1;
    }
  }

  /**
   * Reads again whether the batch in doubt was committed, waiting for whoever still holds its row, and acknowledges it when it
   * was. Returns whether it was.
   */
  async #settle(): Promise<boolean> {
    const batch = this.#doubtful;
    if (batch === null) return false;
    const { sql } = this.context;
    const state = await writeRepeatable(
      sql,
      (transaction) => sessionState(transaction, this.key, sql.dialect.forUpdate),
    );
    this.#doubtful = null;
    const isOurs = state !== null && state.incarnation === this.incarnation;
    if (isOurs && state.lastBatch === batch.token && state.nextSeq === batch.log.nextSeq) {
      this.#acknowledge(batch);
      return true;
    }
    if (!this.#isPublished && !isOurs) return false;
    const problem = this.#ownerProblem(state);
    if (problem !== null) throw this.#spent = problem;
    return false;
  }

  async #write(transaction: SqlTransaction, batch: Batch): Promise<void> {
    const { sql, inAppend } = this.context;
    await (this.#isPublished ? this.#advanceRow(transaction, batch) : this.#insertRow(transaction, batch));
    if (this.scan.torn !== null) await this.#dropTail(transaction, batch.at);
    await insertEvents(transaction, this.key, batch.columns);
    await sql.announce?.(transaction, this.key, batch.log.nextSeq);
    const { events, batchId } = batch;
    await inAppend?.(transaction, { id: this.id, key: this.key, epoch: this.#epoch, events, batchId });
  }

  async #insertRow(transaction: SqlTransaction, { log, sizeBytes, token }: Batch): Promise<void> {
    const columns = [...HEADER_COLUMNS, "incarnation", "epoch", "next_seq", "size_bytes", "last_batch"];
    const values = [...headerValues(this.header), this.incarnation, this.#epoch, log.nextSeq, sizeBytes, token];
    const places = columns.map((_, index) => `$${index + 1}`).join(", ");
    const inserted = await transaction.run(
      `INSERT INTO session (${columns.join(", ")}) VALUES (${places}) ON CONFLICT (id) DO NOTHING`,
      ...values,
    );
    if (inserted === 0) throw new AlreadyExistsError(`Cannot create session "${this.id}": it is there already`);
    // Of a session that was never published, or was deleted with an older program.
    const strange = "DELETE FROM blob WHERE session_id = $1 AND incarnation <> $2";
    await transaction.run(strange, this.key, this.incarnation);
  }

  /** The one statement that fences: it changes the row only for the owner, and only where the log ends for him. */
  async #advanceRow(transaction: SqlTransaction, { at, log, sizeBytes, token }: Batch): Promise<void> {
    const changed = await transaction.run(
      "UPDATE session SET next_seq = $1, size_bytes = size_bytes + $2, last_batch = $3 " +
        "WHERE id = $4 AND incarnation = $5 AND epoch = $6 AND next_seq = $7",
      ...[log.nextSeq, sizeBytes, token, this.key, this.incarnation, this.#epoch, at],
    );
    if (changed !== 1) throw this.#ownerProblem(await sessionState(transaction, this.key)) ?? this.#moved(at);
  }

  async #checkOwner(transaction: SqlTransaction): Promise<void> {
    const problem = this.#ownerProblem(await sessionState(transaction, this.key, this.context.sql.dialect.forUpdate));
    if (problem === null) return;
    throw this.#spent = problem;
  }

  /** Why this writer does not own the log any more; `null` while it does. */
  #ownerProblem(state: SessionState | null): HoldfastError | null {
    const what = `append to session "${this.id}"`;
    if (state === null || state.incarnation !== this.incarnation) {
      return new LockLostError(`Cannot ${what}: it was deleted, or another took its place`);
    }
    if (state.epoch === this.#epoch) return null;
    return new FencedError(
      `Cannot ${what}: found epoch ${state.epoch}, this writer's is ${this.#epoch}: a newer owner took over`,
    );
  }

  #moved(at: number): LockLostError {
    return new LockLostError(`Cannot append to session "${this.id}": it does not end at event ${at} any more`);
  }

  /** Takes what nobody acknowledged out of the log. A copy stays, under the epoch that found it. */
  async #dropTail(transaction: SqlTransaction, at: number): Promise<void> {
    const columns = EVENT_COLUMNS.join(", ");
    await transaction.run(
      `INSERT INTO torn_event (session_id, epoch, ${columns}) SELECT session_id, $1, ${columns} FROM event ` +
        "WHERE session_id = $2 AND seq >= $3",
      ...[this.#epoch, this.key, at],
    );
    await transaction.run("DELETE FROM event WHERE session_id = $1 AND seq >= $2", this.key, at);
  }

  /** What was appended is durable: it may be read, and watchers hear of it. */
  #acknowledge({ batchId, at, log, sizeBytes, columns }: Batch): void {
    this.#isPublished = true;
    this.scan.log = log;
    this.scan.torn = null;
    this.scan.sizeBytes += sizeBytes;
    if (columns.length > 0) this.#lastBatch = { id: batchId, firstSeq: at, lastSeq: log.nextSeq - 1 };
    this.bell.ring();
  }
}

async function insertEvents(
  transaction: SqlTransaction,
  key: string,
  events: readonly EventColumns[],
): Promise<void> {
  const names = ["session_id", ...EVENT_COLUMNS].join(", ");
  for (let start = 0; start < events.length; start += WRITE_ROWS_MAX) {
    const chunk = events.slice(start, start + WRITE_ROWS_MAX);
    const values: SqlValue[] = [key];
    const places = chunk.map((event) => {
      const first = values.length;
      values.push(...event.values);
      return `($1, ${event.values.map((_, index) => `$${first + index + 1}`).join(", ")})`;
    });
    await transaction.run(`INSERT INTO event (${names}) VALUES ${places.join(", ")}`, ...values);
  }
}

function repeat({ id, firstSeq, lastSeq }: LastBatch, columns: readonly EventColumns[]): number {
  if (columns[0]?.seq === firstSeq && lastSeq - firstSeq + 1 === columns.length) return lastSeq;
  throw new TypeError(`Cannot append batch "${id}": it was acknowledged with the events ${firstSeq} to ${lastSeq}`);
}
