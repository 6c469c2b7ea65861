/**
 * The Sql port: a database that keeps rows, with explicit transaction edges. Nothing here knows what an event is.
 *
 * Statements are few and written once, in `statements.ts`, for every database: parameters are `$1`, `$2`, …, and what differs is
 * in the {@linkcode SqlDialect}. An adapter translates the errors of its driver once, at this edge, into those named here.
 *
 * Ownership has two halves. A *claim* says who may try: it never waits, and ends with its owner. The *epoch* in the session's row
 * says who writes: it rises with every writer that opens, and each append checks it in its own transaction. So a claim decides
 * only when a takeover is tried, and a mistake in it fences a writer and never forks a log.
 *
 * @module
 */
import type { SessionStore } from "../store/session_store.ts";
import type { SqlDialect } from "./dialect.ts";

/** What a column holds. Integers come back as numbers, also where a driver gives strings; all of ours are safe ones. */
export type SqlValue = string | number | Uint8Array<ArrayBuffer> | null;

/** One row, by the names of its columns. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** Statements inside one transaction. Spent when it ends. */
export interface SqlTransaction {
  /** Runs a statement that returns no rows. Gives the number of rows it changed. */
  run(statement: string, ...values: readonly SqlValue[]): Promise<number>;
  /** Runs a statement and gives its rows. */
  all(statement: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
}

/** The right to write one session, until it is released or its owner is gone. */
export interface SqlClaim {
  /**
   * Whether it is still ours, as far as this process knows. A medium whose claims end by time answers `false` when that time
   * has passed without a renewal; the epoch is what decides.
   */
  isHeld(): boolean;
  /** Gives it back. Twice is harmless. */
  release(): Promise<void>;
}

/** A database. */
export interface SqlPort extends AsyncDisposable {
  /** What the medium promises. `sync: "device"` only when the database said so. */
  readonly traits: SessionStore["traits"];
  /** What this database spells in its own way. */
  readonly dialect: SqlDialect;
  /** Where it is, for people: a file, or an address without its password. */
  readonly name: string;

  /**
   * Runs reads on one consistent state of the database, and never writes a byte: a database that is not there yet is read as
   * an empty one. `act` may be run again from its beginning, when that state could not be kept.
   *
   * @throws {UnsupportedFormatError} when what is there has another schema version; names both
   * @throws {StorageLostError} when it cannot be reached, or is not ours
   */
  read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result>;

  /**
   * Runs a transaction that may write: commits when `act` resolves, rolls back when it rejects. Makes the database and its tables
   * when they are not there. `act` awaits nothing but its statements.
   *
   * @throws {CommitUnknownError} when the connection broke while it committed: it may have happened. The caller reads again
   * @throws {StorageLostError} when the connection broke before; nothing was written. It may be tried again
   * @throws {StorageFullError} nothing was written
   * @throws {UnsupportedFormatError} as `read()`
   */
  write<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result>;

  /**
   * Takes the right to write the session with this key, and never waits.
   *
   * @throws {LockHeldError} when another one lives, in this process or any other
   */
  claim(key: string): Promise<SqlClaim>;

  /** Which of these keys are claimed now, by anybody. Never writes a byte. */
  claimed(keys: readonly string[]): Promise<ReadonlySet<string>>;

  /**
   * Hears of sessions that others wrote to: a wake-up and nothing more. It may be late, double or lost, so whoever waits also
   * looks from time to time. Absent where the database has no such thing.
   *
   * @returns a function that ends it
   */
  readonly listen?: (heard: (key: string) => void) => () => void;

  /**
   * Tells others, as part of a transaction that wrote to a session, so that they hear of it when it commits. Absent like `listen`.
   */
  readonly announce?: (transaction: SqlTransaction, key: string, nextSeq: number) => Promise<void>;

  /** Ends claims and connections. Twice is harmless. */
  close(): Promise<void>;
}
