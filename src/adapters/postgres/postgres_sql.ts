/**
 * The Sql port over PostgreSQL.
 *
 * @module
 */
import { SessionClosedError, StorageLostError } from "../../errors.ts";
import { CommitUnknownError } from "../../sql/commit_unknown.ts";
import { postgresDialect } from "../../sql/dialect_postgres.ts";
import { checkSchemaVersion } from "../../sql/schema.ts";
import type { SqlClaim, SqlPort, SqlTransaction } from "../../sql/sql_port.ts";
import { boundOf, pauses, type Sleep } from "./backoff.ts";
import { Claims } from "./claims.ts";
import { Connections, type ConnectionsOptions } from "./connections.ts";
import { failureKind, translated } from "./failure.ts";
import { LEASE_MS, Presence } from "./presence.ts";
import { type ServerFacts, serverFacts } from "./server_facts.ts";
import { foundVersion, makeTables } from "./tables.ts";

/** The schema everything is kept in unless another is named. */
export const SCHEMA_DEFAULT = "holdfast";

/** Where, and how. Time and randomness come from whoever opens it. */
export interface PostgresSqlOptions {
  /** `postgres://user:password@host:port/database`, of the server itself and not of a pooler. */
  readonly url: string;
  /** Default SCHEMA_DEFAULT. Lower-case letters, digits and `_`, at most 40. */
  readonly schema?: string;
  /** How long this process counts as alive when nothing is heard of it. Default LEASE_MS. */
  readonly leaseMs?: number;
  /** How many connections for statements. Default CONNECTIONS_MAX. */
  readonly connectionsMax?: number;
  /** Runs something later; returns what prevents it. */
  readonly schedule: (delayMs: number, wake: () => void) => () => void;
  /** Random bytes. */
  readonly bytes: (sizeBytes: number) => Uint8Array;
  /** Told what failed where nobody waits for it. */
  readonly report?: (error: unknown) => void;
}

/** What is heard on the channel. */
const EVENT_MARK = "e";
const COMMAND_MARK = "c";

/**
 * A PostgreSQL database.
 *
 * @example
 * ```ts
 * import type { PostgresSql } from "./postgres_sql.ts";
 *
 * async function sessions(sql: PostgresSql): Promise<number> {
 *   return (await sql.read((transaction) => transaction.all("SELECT id FROM session"))).length;
 * }
 * ```
 */
export class PostgresSql implements SqlPort {
  readonly dialect = postgresDialect;
  readonly name: string;
  /** What the server said about itself. */
  readonly facts: ServerFacts;
  readonly #schema: string;
  readonly #channel: string;
  readonly #connections: Connections;
  readonly #presence: Presence;
  readonly #claims: Claims;
  readonly #owner: string;
  readonly #listeners = new Set<(mark: string | null, key: string) => void>();
  /** Whether the tables are there, in the version of this build. Once they are they stay. */
  #isReady = false;
  #closing: Promise<void> | null = null;

  private constructor(parts: OpenParts) {
    this.name = parts.name;
    this.facts = parts.facts;
    this.#schema = parts.schema;
    this.#channel = parts.channel;
    this.#connections = parts.connections;
    this.#owner = parts.owner;
    this.#presence = parts.presence;
    this.#listeners = parts.listeners;
    this.#claims = parts.claims;
  }

  /**
   * Connects, and looks what the server promises. Nothing is written before the first write. A server that starts, ends or is away
   * meanwhile is asked again, for UNREACHABLE_MS_MAX.
   *
   * @throws {RangeError} a schema's name that is none
   * @throws {StorageLostError} when it cannot be reached
   * @throws {UnsupportedFormatError} when the server or the tables are of a version we do not know
   */
  static async open(options: PostgresSqlOptions): Promise<PostgresSql> {
    const { url, schema = SCHEMA_DEFAULT, leaseMs = LEASE_MS, schedule, report = () => {} } = options;
    if (!/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) {
      throw new RangeError(`Cannot open schema "${schema}": wanted lower-case letters, digits and _, at most 40`);
    }
    const name = nameOf(url);
    const sleep: Sleep = (ms) => new Promise((resolve) => void schedule(ms, resolve));
    // Shorter than the lease: whoever was stopped inside of a transaction holds a row, and the next owner waits for it.
    const idleInTransactionMs = Math.max(500, Math.floor(leaseMs / 2));
    const settings: ConnectionsOptions = { url, schema, sleep, schedule, idleInTransactionMs, ...pick(options) };
    const connections = new Connections(settings);
    const owner = [...options.bytes(12)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const channel = `holdfast_${schema}`;
    const listeners = new Set<(mark: string | null, key: string) => void>();
    const presence = new Presence({
      ...{ ...settings, owner, leaseMs, channel, report },
      lockKey: lockKeyOf(options.bytes(6)),
      onNotice(payload) {
        const [mark, key] = payload === null ? [null, ""] : [payload[0] ?? "", payload.slice(1)];
        for (const heard of [...listeners]) heard(mark, key);
      },
      onBeat: () => void claims.settle(),
    });
    const claims: Claims = new Claims({ connections, owner, own: () => tried(() => presence.own(), settings) });
    try {
      const { facts, version } = await connections.transaction("read", async (transaction) => ({
        facts: await serverFacts(transaction, name, idleInTransactionMs),
        version: await foundVersion(transaction, schema),
      }));
      if (version !== null) checkSchemaVersion(version, name);
      await tried(() => presence.start(), settings);
      const sql = new PostgresSql({ name, facts, schema, channel, connections, presence, claims, owner, listeners });
      sql.#isReady = version !== null;
      return sql;
    } catch (error) {
      await presence.end();
      await connections.close();
      throw error;
    }
  }

  get traits(): SqlPort["traits"] {
    return this.facts.traits;
  }

  async read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result> {
    this.#checkOpen();
    return await this.#connections.transaction("read", async (transaction) => {
      if (!this.#isReady) {
        const version = await foundVersion(transaction, this.#schema);
        if (version === null) return await act(EMPTY);
        checkSchemaVersion(version, this.name);
        this.#isReady = true;
      }
      return await act(transaction);
    });
  }

  async write<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result> {
    this.#checkOpen();
    await this.#prepare();
    return await this.#connections.transaction("write", act);
  }

  async claim(key: string): Promise<SqlClaim> {
    this.#checkOpen();
    await this.#prepare();
    return await this.#claims.take(key);
  }

  async claimed(keys: readonly string[]): Promise<ReadonlySet<string>> {
    this.#checkOpen();
    return this.#isReady && keys.length > 0 ? await this.#claims.of(keys) : new Set();
  }

  /** Whether this store has the claim of a session. While the transaction lasts nobody can take it. */
  async ownsClaim(transaction: SqlTransaction, key: string): Promise<boolean> {
    const rows = await transaction.all("SELECT owner FROM claim WHERE session_id = $1 FOR SHARE", key);
    return rows[0]?.owner === this.#owner;
  }

  readonly listen = (heard: (key: string) => void): () => void => {
    return this.#hear((mark, key) => mark === EVENT_MARK && heard(key));
  };

  /** Hears of commands, and of gaps in which some may have been posted. */
  readonly listenToCommands = (heard: () => void): () => void => {
    return this.#hear((mark) => (mark === COMMAND_MARK || mark === null) && heard());
  };

  readonly announce = async (transaction: SqlTransaction, key: string): Promise<void> => {
    await transaction.all("SELECT pg_notify($1, $2)::text", this.#channel, `${EVENT_MARK}${key}`);
  };

  /** Tells others, as part of a transaction, that there is a command. */
  readonly announceCommand = async (transaction: SqlTransaction, key: string): Promise<void> => {
    await transaction.all("SELECT pg_notify($1, $2)::text", this.#channel, `${COMMAND_MARK}${key}`);
  };

  close(): Promise<void> {
    return this.#closing ??= (async () => {
      await this.#claims.settle();
      await this.#presence.end();
      await this.#connections.close();
    })();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #hear(heard: (mark: string | null, key: string) => void): () => void {
    this.#listeners.add(heard);
    return () => void this.#listeners.delete(heard);
  }

  #checkOpen(): void {
    if (this.#closing !== null) throw new SessionClosedError(`Cannot use database "${this.name}": it is closed`);
  }

  async #prepare(): Promise<void> {
    while (!this.#isReady) {
      try {
        const version = await this.#connections.transaction("write", (tx) => makeTables(tx, this.#schema));
        checkSchemaVersion(version, this.name);
        this.#isReady = true;
      } catch (error) {
        // What is there now says whether it was done.
        if (!(error instanceof CommitUnknownError)) throw error;
      }
    }
  }
}

interface OpenParts {
  readonly name: string;
  readonly facts: ServerFacts;
  readonly schema: string;
  readonly channel: string;
  readonly connections: Connections;
  readonly presence: Presence;
  readonly claims: Claims;
  readonly owner: string;
  readonly listeners: Set<(mark: string | null, key: string) => void>;
}

/** A database without tables, as reads see it. */
const EMPTY: SqlTransaction = { run: () => Promise.resolve(0), all: () => Promise.resolve([]) };

/** Does something to the database until it succeeds, the database refuses it, or the bound is over. */
async function tried(
  work: () => Promise<void>,
  { sleep, schedule }: Pick<ConnectionsOptions, "sleep" | "schedule">,
): Promise<void> {
  const bound = boundOf(schedule);
  try {
    for (const pauseMs of [...pauses(), null]) {
      try {
        return await work();
      } catch (error) {
        const isLast = pauseMs === null || bound.isOver;
        if (isLast || failureKind(error) === "refused") throw translated(error, "connect to");
        await sleep(pauseMs);
      }
    }
  } finally {
    bound.cancel();
  }
}

/** 48 random bits: a safe integer, and nobody else's. */
function lockKeyOf(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

/** Where it is, without user and password. */
function nameOf(url: string): string {
  if (!URL.canParse(url)) throw new StorageLostError("Cannot open the database: its address is no postgres:// URL");
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function pick({ connectionsMax }: PostgresSqlOptions): Pick<ConnectionsOptions, "connectionsMax"> {
  return connectionsMax === undefined ? {} : { connectionsMax };
}
