/**
 * Reading a database without leaving a trace: no lock files, no checkpoint, no `-wal` that was not there.
 *
 * A database that nobody writes has no `-wal`, or an empty one, and is read as what it then is, a file that does not change. A
 * read-only connection of the usual kind would make both `-wal` and `-shm` beside it, and leave them. Where there is a `-wal`, the
 * usual kind is needed to see what it holds; it writes neither the file nor the `-wal`.
 *
 * @see https://www.sqlite.org/wal.html#read_only_databases
 * @module
 */
import { CorruptLogError, StorageLostError } from "../../errors.ts";
import type { SqlTransaction } from "../../sql/sql_port.ts";
import { Connection, transactionOn } from "./connection.ts";
import { checkReadable, factsOf, type JournalKind } from "./database_file.ts";
import { failureOf } from "./failure.ts";
import { Turns } from "./turns.ts";

/** How long a read waits for another process that recovers the `-wal`, in milliseconds. */
const READ_BUSY_MS = 2000;

/** How often a read begins anew because the file changed under it. */
const READ_TRIES_MAX = 10;

/** Whose database it is, as SQLite's header says. */
export interface DatabaseIdentity {
  /** `PRAGMA application_id`. */
  readonly applicationId: number;
  /** `PRAGMA user_version`. */
  readonly userVersion: number;
  /** Whether it has no tables, nor anything else. */
  readonly isEmpty: boolean;
}

/** The file changed while it was taken for one that does not. */
class MovedError extends StorageLostError {}

/** How to read a database. */
export interface SqliteReaderOptions {
  /**
   * How its writers keep it whole: with a `-wal`, as ours do, or with a rollback journal, where the file itself changes while it is
   * written and only locks say when it may be read. Those leave nothing beside it. Default `"wal"`.
   */
  readonly journal?: JournalKind;
}

/** Opens a database for reading. Nothing is opened before it is asked something. */
export function openSqliteReader(path: string, { journal = "wal" }: SqliteReaderOptions = {}): SqliteReader {
  return new SqliteReader(path, journal);
}

/** Reads one database. */
export class SqliteReader {
  readonly #path: string;
  readonly #journal: JournalKind;
  readonly #turns = new Turns();
  /** Kept between two reads where locks are taken; `file` is what it was opened on. */
  #open: { readonly connection: Connection; readonly file: string } | null = null;

  constructor(path: string, journal: JournalKind) {
    this.#path = path;
    this.#journal = journal;
  }

  /** Whose database it is; `null` when there is none. */
  async identity(): Promise<DatabaseIdentity | null> {
    return await this.read((transaction) => identityOf(transaction));
  }

  /** Runs reads on one state of the database; again from the beginning when it changed under them. `null` when there is none. */
  async read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result | null> {
    return await this.#turns.take(async () => {
      for (let tries = 1;; tries++) {
        try {
          return await this.#read(act);
        } catch (error) {
          if (error instanceof MovedError && tries < READ_TRIES_MAX) continue;
          throw failureOf(error, `read database "${this.#path}"`);
        }
      }
    });
  }

  /** Ends what is open. It may be read again. */
  async close(): Promise<void> {
    await this.#turns.settled();
    this.#drop();
  }

  async #read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result | null> {
    const file = checkReadable(this.#path);
    if (file === null) {
      this.#drop();
      return null;
    }
    if (this.#open !== null && this.#open.file !== file.identity) this.#drop();
    const hasWal = (factsOf(`${this.#path}-wal`)?.sizeBytes ?? 0) > 0;
    if (hasWal || this.#journal === "rollback") {
      this.#open ??= {
        connection: new Connection(this.#path, { readOnly: true, busyMs: READ_BUSY_MS }),
        file: file.identity,
      };
      return await readOn(this.#open.connection, act);
    }
    this.#drop();
    const connection = new Connection(this.#path, { readOnly: true, immutable: true, busyMs: READ_BUSY_MS });
    try {
      return await readOn(connection, act, () => {
        if (factsOf(this.#path)?.revision === file.revision) return;
        throw new MovedError(`Cannot read database "${this.#path}": another process changed it meanwhile; try again`);
      });
    } finally {
      connection.close();
    }
  }

  #drop(): void {
    this.#open?.connection.close();
    this.#open = null;
  }
}

/** Whose database it is. */
export async function identityOf(transaction: SqlTransaction): Promise<DatabaseIdentity> {
  const [application] = await transaction.all("PRAGMA application_id");
  const [version] = await transaction.all("PRAGMA user_version");
  const [schema] = await transaction.all("SELECT count(*) AS objects FROM sqlite_schema");
  const found = { applicationId: application?.application_id, userVersion: version?.user_version };
  if (typeof found.applicationId !== "number" || typeof found.userVersion !== "number") {
    throw new CorruptLogError("Cannot open database: it does not say whose it is");
  }
  return { ...found as DatabaseIdentity, isEmpty: schema!.objects === 0 };
}

/** Runs reads in one transaction, which sees one state from its first statement on. */
export async function readOn<Result>(
  connection: Connection,
  act: (transaction: SqlTransaction) => Promise<Result>,
  check?: () => void,
): Promise<Result> {
  const { transaction, end } = transactionOn(connection, check);
  connection.run("BEGIN");
  try {
    return await act(transaction);
  } finally {
    end();
    connection.run("ROLLBACK");
  }
}
