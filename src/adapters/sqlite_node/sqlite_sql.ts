/**
 * The Sql port over one SQLite file.
 *
 * @module
 */
import { resolve } from "node:path";
import { LockLostError, SessionClosedError, StorageLostError, UnsupportedFormatError } from "../../errors.ts";
import { CommitUnknownError } from "../../sql/commit_unknown.ts";
import { sqliteDialect } from "../../sql/dialect_sqlite.ts";
import { APPLICATION_ID, checkSchemaVersion, SCHEMA_VERSION, schemaStatements } from "../../sql/schema.ts";
import type { SqlClaim, SqlPort, SqlTransaction } from "../../sql/sql_port.ts";
import { Claims } from "./claims.ts";
import { Connection, transactionOn } from "./connection.ts";
import { checkWritable, createPrivately, factsOf } from "./database_file.ts";
import { failureOf, isBusy, isIoFailure } from "./failure.ts";
import { type DatabaseIdentity, identityOf, openSqliteReader, readOn, type SqliteReader } from "./sqlite_reader.ts";
import { type Turns, writerTurns } from "./turns.ts";

/** How long SQLite itself waits for the writer of another process, in milliseconds: this thread stands still meanwhile. */
const BUSY_MS = 250;

/** How long a transaction waits for other writers altogether, in milliseconds, and the pause between two tries. */
const BUSY_WAIT_MS = 30_000;
const BUSY_PAUSE_MS = 10;

/** What the write connection is set to, and reads back. */
const SETTINGS: readonly (readonly [name: string, wanted: string, answer: string | number])[] = [
  ["journal_mode", "WAL", "wal"],
  ["synchronous", "FULL", 2],
  ["fullfsync", "ON", 1],
  ["foreign_keys", "ON", 1],
  ["trusted_schema", "OFF", 0],
  ["secure_delete", "ON", 1],
];

/** What a SQLite database is opened with. */
export interface SqliteOptions {
  /** The file. Made at the first write, for its owner alone. */
  readonly path: string;
  /** Times the pauses while another process writes. */
  readonly clock: { readonly schedule: (delayMs: number, wake: () => void) => () => void };
}

/**
 * Opens a SQLite database as a Sql port. Nothing is made before the first write, and reading makes nothing at all.
 *
 * @example
 * ```ts
 * import { openSqlite } from "./sqlite_sql.ts";
 *
 * const folder = await Deno.makeTempDir();
 * await using sql = openSqlite({ path: `${folder}/a.db`, clock: { schedule: () => () => {} } });
 * const rows = await sql.read((transaction) => transaction.all("SELECT id FROM session"));
 * if (rows.length !== 0 || [...Deno.readDirSync(folder)].length !== 0) throw new Error("unreachable");
 * await Deno.remove(folder);
 * ```
 */
export function openSqlite(options: SqliteOptions): SqlPort {
  return new SqliteSql(options);
}

/** The connection that writes, and the files it was opened on. */
interface Writing {
  readonly connection: Connection;
  readonly file: string;
  /** The `-wal`, once there is one. While a connection is open, nobody may remove it. */
  wal: string | null;
}

class SqliteSql implements SqlPort {
  readonly traits: SqlPort["traits"] = {
    medium: "sqlite",
    sync: "device",
    names: "synced",
    publish: "transaction",
    lockScope: "host",
    persistence: "persistent",
  };
  readonly dialect = sqliteDialect;
  readonly name: string;
  readonly #clock: SqliteOptions["clock"];
  readonly #claims: Claims;
  readonly #reader: SqliteReader;
  readonly #turns: Turns;
  #writing: Writing | null = null;
  /** An empty database with our tables, for reading where there is none. */
  #nothing: Connection | null = null;
  #closing: Promise<void> | null = null;

  constructor({ path, clock }: SqliteOptions) {
    this.name = resolve(path);
    this.#clock = clock;
    this.#claims = new Claims(this.name);
    this.#reader = openSqliteReader(this.name);
    this.#turns = writerTurns(this.name);
  }

  async read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result> {
    this.#checkOpen("read");
    let isThere = false;
    const result = await this.#reader.read(async (transaction) => {
      const identity = await identityOf(transaction);
      if (isPristine(identity)) return null;
      checkIdentity(identity, this.name);
      isThere = true;
      return { value: await act(transaction) };
    });
    if (isThere) return result!.value;
    return await readOn(this.#nothing ??= emptyDatabase(), act);
  }

  async write<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result> {
    this.#checkOpen("write");
    return await this.#turns.take(async () => {
      const what = `write database "${this.name}"`;
      try {
        return await this.#write(act);
      } catch (error) {
        throw failureOf(error, what);
      }
    });
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async claim(key: string): Promise<SqlClaim> {
    this.#checkOpen("lock");
    return this.#claims.take(key);
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async claimed(keys: readonly string[]): Promise<ReadonlySet<string>> {
    this.#checkOpen("look at");
    return new Set(keys.filter((key) => this.#claims.isTaken(key)));
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#turns.settled();
    await this.#reader.close();
    await this.#claims.releaseAll();
    this.#nothing?.close();
    this.#drop();
  }

  async #write<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result> {
    const writing = await this.#open();
    const { connection } = writing;
    await this.#begin(connection);
    const { transaction, end } = transactionOn(connection);
    let result: Result;
    try {
      this.#checkFiles(writing);
      result = await act(transaction);
    } catch (error) {
      end();
      this.#rollBack(connection);
      throw error;
    }
    end();
    try {
      connection.run("COMMIT");
    } catch (error) {
      // Whatever the medium did: this connection is not believed any more, and what a new one finds is read again.
      this.#drop();
      if (!isIoFailure(error)) throw error;
      const found = (error as Error).message;
      throw new CommitUnknownError(`Cannot commit to database "${this.name}": ${found}`, { cause: error });
    }
    writing.wal ??= factsOf(`${this.name}-wal`)?.identity ?? null;
    return result;
  }

  /** Begins a transaction that writes: SQLite waits a moment for another process, then we do, without standing still. */
  async #begin(connection: Connection): Promise<void> {
    for (let waitedMs = 0;; waitedMs += BUSY_MS + BUSY_PAUSE_MS) {
      try {
        connection.run("BEGIN IMMEDIATE");
        return;
      } catch (error) {
        if (!isBusy(error) || waitedMs >= BUSY_WAIT_MS) throw error;
      }
      await new Promise<void>((wake) => this.#clock.schedule(BUSY_PAUSE_MS, wake));
    }
  }

  async #open(): Promise<Writing> {
    if (this.#writing !== null) return this.#writing;
    createPrivately(this.name);
    const file = checkWritable(this.name).identity;
    const connection = new Connection(this.name, { busyMs: BUSY_MS });
    try {
      // Whose it is comes first: a setting would already change another program's file.
      const identity = await readOn(connection, identityOf);
      if (!isPristine(identity)) checkIdentity(identity, this.name);
      for (const [name, wanted, answer] of SETTINGS) await this.#set(connection, name, wanted, answer);
      await this.#makeTables(connection);
      if (checkWritable(this.name).identity !== file) throw replaced(this.name);
    } catch (error) {
      connection.close();
      throw error;
    }
    return this.#writing = { connection, file, wal: null };
  }

  async #set(connection: Connection, name: string, wanted: string, answer: string | number): Promise<void> {
    for (let waitedMs = 0;; waitedMs += BUSY_MS + BUSY_PAUSE_MS) {
      try {
        connection.pragma(`${name} = ${wanted}`);
        break;
      } catch (error) {
        if (!isBusy(error) || waitedMs >= BUSY_WAIT_MS) throw error;
      }
      await new Promise<void>((wake) => this.#clock.schedule(BUSY_PAUSE_MS, wake));
    }
    const found = connection.pragma(name);
    if (found === answer) return;
    throw new StorageLostError(`Cannot open database "${this.name}": its ${name} is ${found}, wanted ${answer}`);
  }

  /** In one transaction, so that a database has all of it or nothing. */
  async #makeTables(connection: Connection): Promise<void> {
    await this.#begin(connection);
    try {
      const { transaction } = transactionOn(connection);
      const identity = await identityOf(transaction);
      if (isPristine(identity)) {
        for (const statement of schemaStatements(this.dialect)) connection.run(statement);
        connection.pragma(`application_id = ${APPLICATION_ID}`);
        connection.pragma(`user_version = ${SCHEMA_VERSION}`);
      } else {
        checkIdentity(identity, this.name);
      }
      connection.run("COMMIT");
    } catch (error) {
      this.#rollBack(connection);
      throw error;
    }
  }

  /** Another program may have replaced or removed the files under us: then what we write would be nobody's. */
  #checkFiles({ file, wal }: Writing): void {
    const isSame = factsOf(this.name)?.identity === file &&
      (wal === null || factsOf(`${this.name}-wal`)?.identity === wal);
    if (isSame) return;
    throw replaced(this.name);
  }

  #rollBack(connection: Connection): void {
    try {
      connection.run("ROLLBACK");
    } catch {
      this.#drop(); // SQLite rolled back by itself, or cannot: either way the next transaction gets a new connection.
    }
  }

  #drop(): void {
    this.#writing?.connection.close();
    this.#writing = null;
  }

  #checkOpen(verb: string): void {
    if (this.#closing !== null) throw new SessionClosedError(`Cannot ${verb} database "${this.name}": it is closed`);
  }
}

function isPristine({ applicationId, userVersion, isEmpty }: DatabaseIdentity): boolean {
  return applicationId === 0 && userVersion === 0 && isEmpty;
}

function checkIdentity({ applicationId, userVersion }: DatabaseIdentity, name: string): void {
  if (applicationId !== APPLICATION_ID) {
    throw new UnsupportedFormatError(
      `Cannot open database "${name}": found application id ${applicationId}, wanted ${APPLICATION_ID}: it is another program's`,
    );
  }
  checkSchemaVersion(userVersion, name);
}

function replaced(name: string): LockLostError {
  return new LockLostError(`Cannot write database "${name}": the file or its "-wal" is not the one that was opened`);
}

function emptyDatabase(): Connection {
  const connection = new Connection(":memory:", { busyMs: 0 });
  for (const statement of schemaStatements(sqliteDialect)) connection.run(statement);
  return connection;
}
