/**
 * One connection to a database: statements, kept for the next time.
 *
 * @module
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { StorageLostError } from "../../errors.ts";
import type { SqlRow, SqlTransaction, SqlValue } from "../../sql/sql_port.ts";

/** How many statements are kept prepared. */
const STATEMENTS_MAX = 64;

/** How to open it. */
export interface ConnectionOptions {
  readonly readOnly?: boolean;
  /** The file does not change while it is open: no locks are taken and nothing is made beside it. */
  readonly immutable?: boolean;
  /** How long SQLite itself waits for a lock, in milliseconds; this thread waits with it. */
  readonly busyMs: number;
}

/** No bytes, at an address all the same: Node 22 takes bytes without one for NULL. */
const NO_BYTES: Uint8Array<ArrayBuffer> = new Uint8Array(1).subarray(0, 0);

function bound(value: SqlValue): SqlValue {
  return value instanceof Uint8Array && value.length === 0 ? NO_BYTES : value;
}

/** A statement, and which value stands at each of its places. */
interface Prepared {
  readonly prepared: StatementSync;
  readonly order: readonly number[];
}

/** One connection to a database. Everything on it is done at once, in this thread. */
export class Connection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();
  #isOpen = true;

  /** Opens the file; SQLite looks at it only when it is asked something. */
  constructor(path: string, { readOnly = false, immutable = false, busyMs }: ConnectionOptions) {
    this.#database = new DatabaseSync(immutable ? immutableUri(path) : path, { readOnly, timeout: busyMs });
    // Said again as a pragma: Deno forgets the option for a read-only connection, and waits five seconds.
    const answer = this.pragma(`busy_timeout = ${busyMs}`);
    if (answer === busyMs) return;
    this.close();
    throw new StorageLostError(`Cannot open database "${path}": its busy_timeout is ${answer}, wanted ${busyMs}`);
  }

  /** Runs a statement. Returns how many rows it changed. */
  run(statement: string, values: readonly SqlValue[] = []): number {
    const { prepared, order } = this.#statement(statement);
    return Number(prepared.run(...order.map((index) => bound(values[index]!))).changes);
  }

  /** Runs a statement and gives its rows. */
  all(statement: string, values: readonly SqlValue[] = []): SqlRow[] {
    const { prepared, order } = this.#statement(statement);
    const rows = prepared.all(...order.map((index) => bound(values[index]!))) as Record<string, unknown>[];
    for (const row of rows) {
      for (const name in row) if (typeof row[name] === "bigint") row[name] = Number(row[name]);
    }
    return rows as SqlRow[];
  }

  /** The one value of a pragma. */
  pragma(text: string): SqlValue {
    return Object.values(this.all(`PRAGMA ${text}`)[0] ?? {})[0] ?? null;
  }

  /** Ends it, and with it a transaction that is open. Twice is harmless. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#statements.clear();
    this.#database.close();
  }

  #statement(text: string): Prepared {
    let statement = this.#statements.get(text);
    if (statement !== undefined) return statement;
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear();
    // By place and not by number: Node 22 takes `?1` for a name.
    const order: number[] = [];
    const prepared = this.#database.prepare(text.replaceAll(/\$(\d+)/g, (_, number) => {
      order.push(Number(number) - 1);
      return "?";
    }));
    // A stranger's integer may be larger than any of ours; as a number it then fails the checks instead of the driver.
    prepared.setReadBigInts(true);
    this.#statements.set(text, statement = { prepared, order });
    return statement;
  }
}

/**
 * A transaction as the port shows it, spent when `end()` was called.
 *
 * @param check called after each statement that reads; what it throws is thrown instead of the rows
 */
export function transactionOn(
  connection: Connection,
  check: () => void = () => {},
): { readonly transaction: SqlTransaction; readonly end: () => void } {
  let isOver = false;
  const use = <Result>(act: () => Result): Promise<Result> =>
    new Promise((resolve) => {
      if (isOver) throw new TypeError("Cannot run a statement: its transaction is over");
      resolve(act());
    });
  const transaction: SqlTransaction = {
    run: (statement, ...values) => use(() => connection.run(statement, values)),
    all: (statement, ...values) =>
      use(() => {
        const rows = connection.all(statement, values);
        check();
        return rows;
      }),
  };
  return { transaction, end: () => isOver = true };
}

/** @see https://www.sqlite.org/uri.html */
function immutableUri(path: string): string {
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return `file:${escaped}?immutable=1`;
}
