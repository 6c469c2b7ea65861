/**
 * Claims: who may try to write a session. They say when a takeover is tried; the epoch in the session's row says whose words count.
 *
 * A claim ends with its release, with the connection of its owner, or with its owner's lease, by the clock of the database.
 *
 * @module
 */
import { LockHeldError } from "../../errors.ts";
import { CommitUnknownError } from "../../sql/commit_unknown.ts";
import type { SqlClaim, SqlRow } from "../../sql/sql_port.ts";
import type { Connections } from "./connections.ts";
import { failureKind } from "./failure.ts";

/**
 * How long a claim waits for the connection of an owner to end, in milliseconds. When a process was killed the database needs a
 * moment to see it; without this, whoever comes at once would be told that it lives.
 */
export const LAST_BREATH_MS = 150;

/** How often a claim is tried when others claim at the same time. */
export const CLAIM_TRIES_MAX = 5;

/** How long a statement of a claim waits for a row that another one changes, in milliseconds. */
export const CLAIM_ROW_MS = 2_000;

/**
 * Whether an owner lives: its lease goes on, and its lock is held. When the database has been started anew since the lease was
 * renewed, nobody's lock is there and nobody could renew: then the lease alone counts, from that start on.
 */
const STATE = `SELECT c.session_id, c.owner, h.lock_key,
  COALESCE(GREATEST(h.renewed_at, pg_postmaster_start_time()) + h.lease_ms * interval '1 millisecond' > clock_timestamp(), false)::int AS in_lease,
  COALESCE(h.server_start = pg_postmaster_start_time(), false)::int AS same_server,
  EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.mode = 'ExclusiveLock'
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND ((l.classid::bigint << 32) | l.objid::bigint) = h.lock_key
  )::int AS is_connected
FROM claim c LEFT JOIN holder h ON h.id = c.owner`;

/** What {@linkcode Claims} are made from. */
export interface ClaimsOptions {
  readonly connections: Connections;
  /** Of this store. */
  readonly owner: string;
  /** Makes it seen that this store lives. Called before the first claim. */
  readonly own: () => Promise<void>;
}

/**
 * The claims of one store.
 *
 * @example
 * ```ts
 * import type { Claims } from "./claims.ts";
 *
 * async function whileClaimed(claims: Claims, key: string, work: () => Promise<void>): Promise<void> {
 *   const claim = await claims.take(key);
 *   await work();
 *   await claim.release();
 * }
 * ```
 */
export class Claims {
  readonly #connections: Connections;
  readonly #owner: string;
  readonly #own: () => Promise<void>;
  /** Of this store, those that are being taken or given back included. */
  readonly #held = new Set<string>();
  /** Given back here, and the database does not know yet. */
  readonly #owed = new Set<string>();

  constructor({ connections, owner, own }: ClaimsOptions) {
    this.#connections = connections;
    this.#owner = owner;
    this.#own = own;
  }

  /** @throws {LockHeldError} when somebody else has it and lives, or somebody of this store */
  async take(key: string): Promise<SqlClaim> {
    if (this.#held.has(key) && !this.#owed.has(key)) throw held(key, "this process writes it");
    this.#held.add(key);
    this.#owed.delete(key);
    try {
      await this.#own();
      await this.#take(key);
    } catch (error) {
      this.#held.delete(key);
      throw error;
    }
    let isReleased = false;
    return {
      isHeld: () => !isReleased,
      release: async () => {
        if (isReleased) return;
        isReleased = true;
        await this.#release(key);
      },
    };
  }

  /** Which of these keys somebody who lives has claimed. */
  async of(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#connections.transaction(
      "read",
      (transaction) =>
        transaction.all(
          `${STATE} WHERE c.session_id IN (SELECT jsonb_array_elements_text($1::text::jsonb))`,
          JSON.stringify(keys),
        ),
    );
    return new Set(rows.filter(isAlive).map((row) => String(row.session_id)));
  }

  /** Gives back what could not be given back before. */
  async settle(): Promise<void> {
    for (const key of [...this.#owed]) await this.#release(key);
  }

  async #take(key: string): Promise<void> {
    for (let tries = 0; tries < CLAIM_TRIES_MAX; tries++) {
      const found = await this.#try(key);
      if (found === "mine") return;
      if (found === "again") continue;
      if (!found.isConnected || !await this.#hasGone(found.lockKey)) throw held(key, "another process writes it");
    }
    throw held(key, "others claim it at the same time");
  }

  async #try(key: string): Promise<"mine" | "again" | { readonly lockKey: number; readonly isConnected: boolean }> {
    try {
      return await this.#connections.transaction("write", async (transaction) => {
        await transaction.run(`SET LOCAL lock_timeout = ${CLAIM_ROW_MS}`);
        const insert = "INSERT INTO claim (session_id, owner) VALUES ($1, $2) ON CONFLICT (session_id) DO NOTHING";
        if (await transaction.run(insert, key, this.#owner) === 1) return "mine";
        const [row] = await transaction.all(`${STATE} WHERE c.session_id = $1`, key);
        if (row === undefined) return "again";
        if (row.owner === this.#owner) return "mine";
        if (isAlive(row)) return { lockKey: Number(row.lock_key), isConnected: row.is_connected === 1 };
        const update = "UPDATE claim SET owner = $2 WHERE session_id = $1 AND owner = $3";
        return await transaction.run(update, key, this.#owner, row.owner!) === 1 ? "mine" : "again";
      });
    } catch (error) {
      // Looked at again: an owner of ours is then found as ours.
      if (error instanceof CommitUnknownError) return "again";
      if (isLocked(error)) return "again";
      throw error;
    }
  }

  /** Waits for the owner's lock, a moment. */
  async #hasGone(lockKey: number): Promise<boolean> {
    try {
      await this.#connections.transaction("read", async (transaction) => {
        await transaction.run(`SET LOCAL lock_timeout = ${LAST_BREATH_MS}`);
        await transaction.all("SELECT pg_advisory_xact_lock_shared($1::bigint)::text", lockKey);
      });
      return true;
    } catch (error) {
      if (isLocked(error)) return false;
      throw error;
    }
  }

  async #release(key: string): Promise<void> {
    try {
      await this.#connections.transaction(
        "write",
        (transaction) => transaction.run("DELETE FROM claim WHERE session_id = $1 AND owner = $2", key, this.#owner),
      );
      this.#held.delete(key);
      this.#owed.delete(key);
    } catch {
      // Others are kept out as long as this process lives, so it is tried again.
      this.#owed.add(key);
    }
  }
}

function isAlive(row: SqlRow): boolean {
  return row.in_lease === 1 && (row.is_connected === 1 || row.same_server === 0);
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && failureKind(error.cause) === "locked";
}

function held(key: string, found: string): LockHeldError {
  return new LockHeldError(`Cannot claim session "${key}": ${found}`);
}
