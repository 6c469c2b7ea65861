/**
 * That a store lives, told to everybody on the database, and the notices it hears.
 *
 * One connection of its own holds an advisory lock for as long as the process lives: it ends with the process, also by SIGKILL, and the
 * database sees that at once. A process that is stopped keeps its connection, so there is a lease besides, by the database's
 * clock. Both say only *when* somebody may try to take a session over; that nothing of the old owner counts afterwards is the epoch's work.
 *
 * The same connection listens. A notice is a wake-up and nothing else: whoever hears it reads the log, and after a gap
 * everybody is woken. It needs a connection to the server itself: a pooler that hands out connections by transaction would
 * lose the lock and the notices.
 *
 * @module
 */
import type { SqlValue } from "../../sql/sql_port.ts";
import { PAUSE_MS_MAX, PAUSE_MS_MIN } from "./backoff.ts";
import { translated } from "./failure.ts";
import { Line, type LineOptions } from "./line.ts";

/** How long an owner that says nothing counts as alive, in milliseconds. */
export const LEASE_MS = 10_000;

/** A lease is renewed this often within its time. */
export const RENEWALS_PER_LEASE = 4;

/** What a {@linkcode Presence} is made from. */
export interface PresenceOptions extends LineOptions {
  /** Of this store, new each time. */
  readonly owner: string;
  /** Of this store: the advisory lock, a safe integer. */
  readonly lockKey: number;
  readonly leaseMs: number;
  /** What is listened to. */
  readonly channel: string;
  /** Told each notice; `null` after a gap in which some may have been lost. */
  readonly onNotice: (payload: string | null) => void;
  /** Called while the database answers, a few times for each lease. */
  readonly onBeat: () => void;
  /** Told what failed where nobody waits for it. */
  readonly report: (error: unknown) => void;
}

/**
 * Says that a store lives.
 *
 * @example
 * ```ts
 * import type { Presence } from "./presence.ts";
 *
 * async function during(presence: Presence, work: () => Promise<void>): Promise<void> {
 *   await presence.start();
 *   await work();
 *   await presence.end();
 * }
 * ```
 */
export class Presence {
  readonly #options: PresenceOptions;
  /** The connection, from its first statement until it broke; `null` between two. */
  #line: Line | null = null;
  #isEnded = false;
  /** Listens, and holds the lock when somebody asked for it. */
  #isConnected = false;
  /** Whether it is to be seen that this store lives: from its first claim on. */
  #isOwner = false;
  #cancelTimer: () => void = () => {};
  #failures = 0;
  /** What runs, one after the other. Never rejects. */
  #working: Promise<void> = Promise.resolve();

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  /** Listens. @throws what the driver says when it cannot */
  async start(): Promise<void> {
    await this.#inTurn(() => this.#establish());
    this.#renewLater();
  }

  /** Makes it seen that this store lives; resolves when it is. @throws what the driver says when it cannot be now */
  async own(): Promise<void> {
    if (this.#isOwner) return;
    await this.#inTurn(async () => {
      if (this.#isOwner) return;
      await this.#take();
      this.#isOwner = true;
    });
  }

  /** Takes it all back. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#cancelTimer();
    await this.#working;
    const { owner } = this.#options;
    if (this.#isConnected && this.#isOwner) {
      await this.#line?.ask("DELETE FROM holder WHERE id = $1", [owner]).catch(() => {});
    }
    await this.#line?.end();
    this.#isConnected = false;
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#working.then(work);
    this.#working = done.catch(() => {});
    await done;
  }

  async #establish(): Promise<void> {
    if (this.#line === null || this.#line.isBroken) {
      const line: Line = new Line(this.#options, {
        onNotice: this.#options.onNotice,
        onBroken: () => this.#line === line && this.#lost(),
      });
      this.#line = line;
    }
    await this.#line.ask(`LISTEN "${this.#options.channel}"`, []);
    if (this.#isOwner) await this.#take();
    this.#isConnected = true;
    this.#failures = 0;
  }

  /** The order matters: whoever sees the lease looks for the lock. */
  async #take(): Promise<void> {
    const { owner, lockKey, leaseMs } = this.#options;
    const { rows: [taken] } = await this.#ask(
      "SELECT pg_advisory_unlock_all()::text, pg_try_advisory_lock($1::bigint)::int AS taken",
      [lockKey],
    );
    if (taken?.taken !== 1) {
      const found = "Cannot show that this process lives: its last connection is not gone yet";
      throw Object.assign(new Error(found), { code: LOCK_NOT_AVAILABLE });
    }
    await this.#ask(
      "INSERT INTO holder (id, lock_key, lease_ms, renewed_at, server_start) " +
        "VALUES ($1, $2::bigint, $3::bigint, clock_timestamp(), pg_postmaster_start_time()) " +
        "ON CONFLICT (id) DO UPDATE SET renewed_at = excluded.renewed_at, server_start = excluded.server_start",
      [owner, lockKey, leaseMs],
    );
  }

  #ask(statement: string, values: readonly SqlValue[]): ReturnType<Line["ask"]> {
    if (this.#line === null) throw Object.assign(new Error("not connected"), { code: "CONNECTION_CLOSED" });
    return this.#line.ask(statement, values);
  }

  #lost(): void {
    const wasConnected = this.#isConnected;
    this.#isConnected = false;
    if (wasConnected && !this.#isEnded) this.#later(PAUSE_MS_MIN);
  }

  #renewLater(): void {
    if (!this.#isEnded) this.#later(this.#options.leaseMs / RENEWALS_PER_LEASE);
  }

  #later(delayMs: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.schedule(delayMs, () => void this.#inTurn(() => this.#beat()));
  }

  /** Never rejects. */
  async #beat(): Promise<void> {
    if (this.#isEnded) return;
    try {
      if (this.#isConnected && this.#isOwner) await this.#renew();
      if (!this.#isConnected) {
        await this.#establish();
        // What was said meanwhile was not heard.
        this.#options.onNotice(null);
      }
      this.#options.onBeat();
      this.#renewLater();
    } catch (error) {
      this.#isConnected = false;
      // In a state nobody knows, so another one comes in its place.
      void this.#line?.end();
      this.#line = null;
      this.#failures += 1;
      if (this.#failures === REPORT_AT_FAILURE) this.#options.report(translated(error, "connect to"));
      this.#later(Math.min(PAUSE_MS_MIN * 2 ** this.#failures, PAUSE_MS_MAX));
    }
  }

  async #renew(): Promise<void> {
    const { owner } = this.#options;
    const statement = "UPDATE holder SET renewed_at = clock_timestamp() WHERE id = $1";
    const { count } = await this.#ask(statement, [owner]);
    // Somebody swept it away while this process was stopped.
    if (count === 0) await this.#take();
  }
}

/** As the database itself says that a lock is not free now. */
const LOCK_NOT_AVAILABLE = "55P03";

/** A short absence is nobody's business; a longer one is told, once. */
const REPORT_AT_FAILURE = 8;
