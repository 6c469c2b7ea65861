/**
 * What a store over a database is made of, and what every part of it shares.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import type { Bells } from "../store/bells.ts";
import type { SqlPort, SqlTransaction } from "./sql_port.ts";

/** What a store over a database is made of. */
export interface SqlStoreOptions {
  /** Where the rows are. The store owns it: closing the store closes it. */
  readonly sql: SqlPort;
  /** Times the pauses between two tries for a claim and between two looks for what other processes appended. */
  readonly clock: Clock;
  /** Where incarnations and the ids of batches that have none come from. */
  readonly random: Random;
  /**
   * More statements for the transaction of each append and recovery, run after the events are in: what they write and the
   * events become durable together, or neither does. What it throws takes the batch back.
   */
  readonly inAppend?: (transaction: SqlTransaction, appended: AppendedBatch) => Promise<void>;
}

/** A batch, as the transaction that writes it sees it. */
export interface AppendedBatch {
  /** The session's id. */
  readonly id: string;
  /** The session's key in the database: its id, spelled so that any column holds it. */
  readonly key: string;
  /** The epoch of the writer, checked by this very transaction. */
  readonly epoch: number;
  /** What is appended, in order; may be empty when a recovery only drops a tail. */
  readonly events: readonly SessionEvent[];
  /** The batch's id, given or drawn. */
  readonly batchId: string;
}

/** The wiring of one store. */
export interface SqlContext extends SqlStoreOptions {
  readonly bells: Bells;
}
