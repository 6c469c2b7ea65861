/**
 * A session store over a database of schema 15, for reading alone.
 *
 * @module
 */
import { hasCode, NotFoundError, SessionClosedError, UnsupportedFormatError } from "../../errors.ts";
import type { SessionEvent, SessionHeader } from "../../event/mod.ts";
import { attentionText, type Brackets, bracketsFold, type Unresolved, unresolvedFold } from "../../fold/mod.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { LogReader, LogWriter, OpenOptions, SessionRow, SessionStore } from "../../store/session_store.ts";
import { foundIn } from "../finding.ts";
import { LIST_BYTES_MAX } from "../limits.ts";
import type { SqlRow, SqlTransaction } from "../sql_port.ts";
import type { DshContext } from "./context.ts";
import { checkDshDatabase } from "./identity.ts";
import { asCurrent } from "./v0_event.ts";
import { V0_HEADER_COLUMNS, type V0Header, v0HeaderOf } from "./v0_header.ts";
import { V0LogReader } from "./v0_reader.ts";
import { V0Scan } from "./v0_scan.ts";

/** A database that can be read. */
export interface ReadableDatabase {
  /** Runs reads on one state of it; `null` when there is none. */
  read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result | null>;
  close(): Promise<void>;
}

/** What a store over a database of another program is made of. */
export interface DshStoreOptions {
  /** The store owns it: closing the store closes it. */
  readonly database: ReadableDatabase;
  /** What it is called, for people. */
  readonly name: string;
  readonly runtime: Runtime;
}

const TRAITS: SessionStore["traits"] = {
  medium: "sqlite",
  sync: "none",
  names: "synced",
  publish: "transaction",
  lockScope: "host",
  persistence: "persistent",
};

/**
 * Opens a store over a database of schema 15. Every event comes as it is stored, in version 0; nothing can be written.
 *
 * @example
 * ```ts
 * import { openSqliteReader } from "../../adapters/sqlite_node/mod.ts";
 * import { openDshStore } from "./dsh_store.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const runtime = { clock, random: { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) } };
 * await using store = openDshStore({ database: openSqliteReader("/no/such.db"), name: "such.db", runtime });
 * if (await store.stat("a") !== null) throw new Error("unreachable");
 * ```
 */
export function openDshStore(options: DshStoreOptions): SessionStore {
  return new DshStore(options);
}

class DshStore implements SessionStore, DshContext {
  readonly traits = TRAITS;
  readonly runtime: Runtime;
  readonly #database: ReadableDatabase;
  readonly #name: string;
  readonly #open = new Set<LogReader>();
  #closing: Promise<void> | null = null;

  constructor({ database, name, runtime }: DshStoreOptions) {
    this.#database = database;
    this.#name = name;
    this.runtime = runtime;
  }

  async read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result> {
    if (this.#closing !== null) throw new SessionClosedError(`Cannot read database "${this.#name}": it is closed`);
    const found = await this.#database.read(async (transaction) => {
      await checkDshDatabase(transaction, this.#name);
      return { value: await act(transaction) };
    });
    if (found === null) throw new NotFoundError(`Cannot open database "${this.#name}": it is not there`);
    return found.value;
  }

  async headerOf(transaction: SqlTransaction, id: string): Promise<V0Header | null> {
    const [row] = await transaction.all(`SELECT ${V0_HEADER_COLUMNS} FROM sessions WHERE id = $1`, id);
    return row === undefined || !id.isWellFormed() ? null : v0HeaderOf(row);
  }

  create(header: SessionHeader): Promise<LogWriter> {
    return Promise.reject(this.#readOnly(`create session "${header.id}"`));
  }

  open(id: string, mode: "read", options?: OpenOptions): Promise<LogReader>;
  open(id: string, mode: "write", options?: OpenOptions): Promise<LogWriter>;
  async open(id: string, mode: "read" | "write", options: OpenOptions = {}): Promise<LogReader> {
    options.signal?.throwIfAborted();
    const reader = await V0LogReader.open(this, id, options, (closed) => this.#open.delete(closed));
    if (mode === "write") throw this.#readOnly(`open session "${id}" for writing`);
    this.#open.add(reader);
    return reader;
  }

  async *list(): AsyncIterable<SessionRow> {
    const rows = await this.#rows("SELECT id FROM sessions");
    const ids = rows.map((row) => row.id as string).sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
    for (const id of ids) {
      const row = await this.stat(id);
      if (row !== null) yield row;
    }
  }

  async stat(id: string): Promise<SessionRow | null> {
    try {
      return await this.read((transaction) => rowOf(transaction, id));
    } catch (error) {
      if (hasCode(error, "NOT_FOUND")) return null;
      throw error;
    }
  }

  async delete(id: string): Promise<void> {
    if (await this.stat(id) === null) {
      throw new NotFoundError(`Cannot delete session "${id}": there is no such session`);
    }
    throw this.#readOnly(`delete session "${id}"`);
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const log of [...this.#open]) await log.close();
    await this.#database.close();
  }

  async #rows(statement: string): Promise<readonly SqlRow[]> {
    try {
      return await this.read((transaction) => transaction.all(statement));
    } catch (error) {
      if (hasCode(error, "NOT_FOUND")) return [];
      throw error;
    }
  }

  #readOnly(what: string): UnsupportedFormatError {
    const found =
      `"${this.#name}" is a database of DeepSeek Harness, which is read and never written; copy the session out of it`;
    return new UnsupportedFormatError(`Cannot ${what}: ${found}`);
  }
}

async function rowOf(transaction: SqlTransaction, id: string): Promise<SessionRow | null> {
  const [row] = await transaction.all(`SELECT ${V0_HEADER_COLUMNS} FROM sessions WHERE id = $1`, id);
  if (row === undefined) return null;
  const [size] = await transaction.all(
    "SELECT coalesce(sum(length(data)), 0) AS size FROM events WHERE session_id = $1",
    id,
  );
  const sizeBytes = size!.size as number;
  const version = typeof row.version === "number" ? row.version : null;
  const kept = { id, name: id, sizeBytes, version, encoding: null, live: false };
  let header: V0Header;
  try {
    header = v0HeaderOf(row);
  } catch (error) {
    const isUnsupported = hasCode(error, "UNSUPPORTED_FORMAT");
    if (!isUnsupported && !hasCode(error, "CORRUPT_LOG")) throw error;
    const state = isUnsupported ? "unsupported" as const : "damaged" as const;
    return { ...kept, header: null, state, reason: `header: ${foundIn(error)}`, lastEventTime: null };
  }
  if (sizeBytes > LIST_BYTES_MAX) {
    const reason = `not wholly read: it has more than ${LIST_BYTES_MAX} bytes`;
    return { ...kept, header: header.header, state: "unchecked", reason, lastEventTime: null };
  }
  const scan = new V0Scan(id, header);
  let brackets: Brackets = bracketsFold.initial();
  let unresolved: Unresolved = unresolvedFold.initial();
  let lastEventTime: number | null = null;
  const visit = (event: SessionEvent) => {
    lastEventTime = event.time;
    brackets = bracketsFold.apply(brackets, asCurrent(event));
    unresolved = unresolvedFold.apply(unresolved, asCurrent(event));
  };
  await scan.advance(transaction, { visit });
  const { finding } = scan;
  if (finding !== null) {
    const state = finding.code === "UNSUPPORTED_FORMAT" ? "unsupported" as const : "damaged" as const;
    return { ...kept, header: header.header, state, reason: finding.message, lastEventTime };
  }
  const { turn } = brackets as Brackets;
  const state = turn === null ? "ok" as const : "open" as const;
  return { ...kept, header: header.header, state, reason: attentionText(turn, unresolved), lastEventTime };
}
