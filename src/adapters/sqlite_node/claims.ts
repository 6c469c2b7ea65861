/**
 * Who writes which session: an exclusive lock on an empty SQLite file of its own, in a folder beside the database.
 *
 * SQLite takes it from the kernel, so it ends with the process that holds it, however that ends, and no living process can lose it
 * to another. It needs no other program, in Deno and in Node alike. The file stays empty, and is removed with its lock.
 *
 * @see https://www.sqlite.org/lockingv3.html
 * @module
 */
import { createHash } from "node:crypto";
import { mkdirSync, unlinkSync } from "node:fs";
import { LockHeldError } from "../../errors.ts";
import type { SqlClaim } from "../../sql/sql_port.ts";
import { Connection } from "./connection.ts";
import { createPrivately, factsOf } from "./database_file.ts";
import { failureOf, isBusy } from "./failure.ts";

/** How long a claim waits for somebody who only looks whether there is one, in milliseconds. */
const CLAIM_BUSY_MS = 20;

/** How often a claim begins anew because the file was removed by its last owner meanwhile. */
const CLAIM_TRIES_MAX = 10;

/** The claims on one database. */
export class Claims {
  readonly #folder: string;
  readonly #held = new Set<Claim>();

  constructor(databasePath: string) {
    this.#folder = `${databasePath}.locks`;
  }

  /** Takes a claim. Throws {@link LockHeldError} when another one lives. */
  take(key: string): SqlClaim {
    const path = this.#pathOf(key);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      for (let tries = 1; tries <= CLAIM_TRIES_MAX; tries++) {
        const connection = lockFile(path);
        if (connection === null) continue;
        const claim: Claim = new Claim(path, connection, () => this.#held.delete(claim));
        this.#held.add(claim);
        return claim;
      }
    } catch (error) {
      if (!isBusy(error)) throw failureOf(error, `lock "${path}"`);
    }
    throw new LockHeldError(`Cannot lock session "${key}": another process holds "${path}"`);
  }

  /** Whether somebody holds this claim now. Makes nothing. */
  isTaken(key: string): boolean {
    const path = this.#pathOf(key);
    if (factsOf(path) === null) return false;
    try {
      const connection = new Connection(path, { readOnly: true, busyMs: 0 });
      try {
        connection.all("SELECT 1 FROM sqlite_schema");
        return false;
      } finally {
        connection.close();
      }
    } catch (error) {
      if (isBusy(error)) return true;
      if (factsOf(path) === null) return false;
      throw failureOf(error, `look at "${path}"`);
    }
  }

  /** Gives everything back. */
  async releaseAll(): Promise<void> {
    for (const claim of [...this.#held]) await claim.release();
  }

  #pathOf(key: string): string {
    return `${this.#folder}/${createHash("sha256").update(key).digest("hex")}`;
  }
}

class Claim implements SqlClaim {
  readonly #path: string;
  readonly #connection: Connection;
  readonly #onRelease: () => void;
  #isReleased = false;

  constructor(path: string, connection: Connection, onRelease: () => void) {
    this.#path = path;
    this.#connection = connection;
    this.#onRelease = onRelease;
  }

  isHeld(): boolean {
    return !this.#isReleased;
  }

  release(): Promise<void> {
    if (this.#isReleased) return Promise.resolve();
    this.#isReleased = true;
    this.#onRelease();
    try {
      // While the lock is held: whoever has opened this file and waits for it finds that its name is another's, and begins anew.
      unlinkSync(this.#path);
    } catch {
      // The lock is what counts. Windows does not remove an open file, and a stale empty one is nobody's claim.
    }
    this.#connection.close();
    return Promise.resolve();
  }
}

/** Locks the file at a path; `null` when it turned out to be another one than what is there. Throws when it is locked. */
function lockFile(path: string): Connection | null {
  createPrivately(path);
  const before = factsOf(path);
  if (before === null) return null;
  const connection = new Connection(path, { busyMs: CLAIM_BUSY_MS });
  try {
    connection.pragma("journal_mode = MEMORY"); // Nothing is ever written, so nothing needs a journal beside it.
    connection.run("BEGIN EXCLUSIVE");
    if (factsOf(path)?.identity === before.identity) return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
  connection.close();
  return null;
}
