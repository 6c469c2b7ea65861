/**
 * Connections to one database: statements, and transactions that are tried again where nothing can have been done yet.
 *
 * @module
 */
import { StorageLostError } from "../../errors.ts";
import { CommitUnknownError } from "../../sql/commit_unknown.ts";
import type { SqlRow, SqlTransaction, SqlValue } from "../../sql/sql_port.ts";
import { boundOf, pauses, type Sleep } from "./backoff.ts";
import { failureKind, translated } from "./failure.ts";
import { Line, type LineOptions } from "./line.ts";

/** How many connections a store keeps for statements, besides the one that says that it lives. */
export const CONNECTIONS_MAX = 4;

/** How a transaction sees what others do: reads see one state of the database, writes wait for each other row by row. */
const BEGIN = {
  read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
  write: "BEGIN ISOLATION LEVEL READ COMMITTED",
} as const;

/** Where, and how. */
export interface ConnectionsOptions extends LineOptions {
  readonly sleep: Sleep;
  /** Default CONNECTIONS_MAX. */
  readonly connectionsMax?: number;
}

/**
 * The connections of one store.
 *
 * @example
 * ```ts
 * import type { Connections } from "./connections.ts";
 *
 * async function count(connections: Connections): Promise<unknown> {
 *   const [row] = await connections.transaction("read", (tx) => tx.all("SELECT count(*) AS sessions FROM session"));
 *   return row?.sessions;
 * }
 * ```
 */
export class Connections {
  readonly #lines: Lines;
  readonly #sleep: Sleep;
  readonly #schedule: LineOptions["schedule"];
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    this.#lines = new Lines(options, options.connectionsMax ?? CONNECTIONS_MAX);
    this.#sleep = options.sleep;
    this.#schedule = options.schedule;
  }

  /**
   * Does `work` in one transaction. While the database cannot be reached it is begun again, for a bounded time
   * (UNREACHABLE_MS_MAX), as long as nothing can have been done: a write until its COMMIT is sent, a read until its end.
   *
   * @param work may be run again from its beginning; of a write: changes nothing but the database
   * @throws {CommitUnknownError} when the connection broke at the COMMIT of a write
   * @throws {StorageLostError} when the database cannot be reached; nothing was done
   */
  async transaction<Result>(
    mode: "read" | "write",
    work: (transaction: SqlTransaction) => Promise<Result>,
  ): Promise<Result> {
    const bound = boundOf(this.#schedule);
    try {
      for (const pauseMs of [...pauses(), null]) {
        const attempt = new Attempt<Result>(mode, work);
        try {
          return await this.#lines.use((line) => attempt.on(line));
        } catch (error) {
          const kind = failureKind(error);
          if (kind === "broken" && attempt.mayBeCommitted) {
            throw new CommitUnknownError("Cannot commit to the database: the connection broke meanwhile", {
              cause: error,
            });
          }
          const mayPass = kind === "broken" || kind === "passing";
          if (!mayPass || pauseMs === null || bound.isOver || this.#isClosed) {
            throw translated(error, mode === "read" ? "read from" : "write to");
          }
          await this.#sleep(pauseMs);
        }
      }
      throw new Error("the last try returns or throws");
    } finally {
      bound.cancel();
    }
  }

  /** Ends every connection, after the statements that run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lines.close();
  }
}

/** Connections that are used again and again, each by one transaction at a time. One that broke is never used again. */
class Lines {
  readonly #options: LineOptions;
  readonly #max: number;
  readonly #idle: Line[] = [];
  readonly #waiting: (() => void)[] = [];
  #count = 0;
  #isClosed = false;

  constructor(options: LineOptions, max: number) {
    this.#options = options;
    this.#max = max;
  }

  async use<Result>(work: (line: Line) => Promise<Result>): Promise<Result> {
    while (this.#count >= this.#max && this.#idle.length === 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    let line = this.#idle.pop();
    while (line?.isBroken) {
      this.#count -= 1;
      line = this.#idle.pop();
    }
    if (line === undefined) {
      line = new Line(this.#options);
      this.#count += 1;
    }
    try {
      return await work(line);
    } finally {
      if (line.isBroken || line.isSpent || this.#isClosed) {
        this.#count -= 1;
        void line.end();
      } else this.#idle.push(line);
      this.#waiting.shift()?.();
    }
  }

  /** Ends those that nobody uses; the others end with their transaction. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = this.#idle.splice(0);
    this.#count -= idle.length;
    await Promise.all(idle.map((line) => line.end()));
  }
}

/** One try of a transaction. */
class Attempt<Result> implements SqlTransaction {
  readonly #mode: "read" | "write";
  readonly #work: (transaction: SqlTransaction) => Promise<Result>;
  #line: Line | null = null;
  #isCommitting = false;

  constructor(mode: "read" | "write", work: (transaction: SqlTransaction) => Promise<Result>) {
    this.#mode = mode;
    this.#work = work;
  }

  /** Whether its COMMIT was sent, and it wrote. */
  get mayBeCommitted(): boolean {
    return this.#isCommitting && this.#mode === "write";
  }

  /** Begins it, works, and commits. */
  async on(line: Line): Promise<Result> {
    await line.ask(BEGIN[this.#mode], []);
    this.#line = line;
    let result: Result;
    try {
      result = await this.#work(this);
    } catch (error) {
      // What cannot be rolled back is rolled back by the database when the connection ends.
      await line.ask("ROLLBACK", []).catch(() => line.spend());
      throw error;
    } finally {
      this.#line = null;
    }
    this.#isCommitting = true;
    let command: string;
    try {
      ({ command } = await line.ask("COMMIT", []));
    } catch (error) {
      line.spend();
      throw error;
    }
    if (command === "COMMIT") return result;
    // A statement failed and nobody minded: the server takes everything back, and calls that no failure.
    this.#isCommitting = false;
    throw new StorageLostError(`Cannot write to the database: its answer to COMMIT was ${command}`);
  }

  async run(statement: string, ...values: readonly SqlValue[]): Promise<number> {
    return (await this.#ask(statement, values)).count;
  }

  async all(statement: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return (await this.#ask(statement, values)).rows;
  }

  async #ask(statement: string, values: readonly SqlValue[]): Promise<{ rows: readonly SqlRow[]; count: number }> {
    if (this.#line === null) throw new TypeError("Cannot run a statement: its transaction is over");
    return await this.#line.ask(statement, values);
  }
}
