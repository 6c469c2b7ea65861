/**
 * One connection to the server, from its first statement to its end.
 *
 * The driver connects anew when a connection broke, and then sends what it had not sent on the old one, or waits for ever. So a
 * connection is used by a client of its own, which is thrown away with it.
 *
 * @module
 */
import postgres from "postgres";
import type { SqlRow, SqlValue } from "../../sql/sql_port.ts";
import { failureKind } from "./failure.ts";
import { connectedSocket, type SocketTarget } from "./socket.ts";

/** How long the server may take for one statement, in milliseconds. Then the connection counts as broken: nobody may be there. */
export const ANSWER_MS_MAX = 60_000;

/** How long an end may wait for what runs, in seconds. */
const END_SECONDS_MAX = 2;

/** Where, and how. */
export interface LineOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** The schema that statements without one mean. */
  readonly schema: string;
  /** How long a transaction may wait for its next statement before the database ends it, in milliseconds. */
  readonly idleInTransactionMs: number;
  /** Runs something later; returns what prevents it. */
  readonly schedule: (delayMs: number, wake: () => void) => () => void;
}

/** What is told about a connection. */
export interface LineListener {
  /** Each notice. */
  readonly onNotice?: (payload: string) => void;
  /** Once, when it broke or ended. */
  readonly onBroken?: () => void;
}

/**
 * A connection. It connects with the first statement.
 *
 * @example
 * ```ts
 * import { Line } from "./line.ts";
 *
 * const line = new Line({ url: "postgres://u@localhost/d", schema: "holdfast", idleInTransactionMs: 1000, schedule: () => () => {} });
 * await line.end(); // it never connected
 * ```
 */
export class Line {
  readonly #client: ReturnType<typeof postgres>;
  readonly #schedule: LineOptions["schedule"];
  /** Of the statement that runs: whoever waits for its answer. */
  #waiting: ((error: unknown) => void) | null = null;
  #isBroken = false;
  #isSpent = false;

  constructor({ url, schema, idleInTransactionMs, schedule }: LineOptions, { onNotice, onBroken }: LineListener = {}) {
    this.#schedule = schedule;
    const options = {
      max: 1,
      socket: (target: SocketTarget) => connectedSocket(target, schedule),
      // It ends when we say so: a connection that ends for its age would be a lost lock.
      idle_timeout: 0,
      max_lifetime: null,
      // Asked for types it would need one more statement, and we use none but those of the protocol.
      fetch_types: false,
      backoff: () => 0,
      onnotice: () => {},
      // Seqs, epochs and times are safe integers.
      types: { int8: { to: 20, from: [20], serialize: String, parse: Number } },
      connection: {
        application_name: "holdfast",
        search_path: `"${schema}"`,
        idle_in_transaction_session_timeout: idleInTransactionMs,
      },
      // Called before anybody who waits for an answer hears of it.
      onclose: () => {
        this.#isBroken = true;
        // The driver forgets a statement that came between the failure of a socket and its end.
        this.#waiting?.(closed());
        onBroken?.();
      },
      onnotify: (_channel: string, payload: string) => onNotice?.(payload),
    };
    this.#client = postgres(url, options as never);
  }

  /** Whether there is no connection any more. It does not come back. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Whether it is in a state nobody knows. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** It is not to be used again. */
  spend(): void {
    this.#isSpent = true;
  }

  /** Runs a statement, and says what the server called it. @throws what the driver says */
  async ask(
    statement: string,
    values: readonly SqlValue[],
  ): Promise<{ readonly rows: readonly SqlRow[]; readonly count: number; readonly command: string }> {
    if (this.#isBroken) throw closed();
    const { promise: lost, reject } = Promise.withResolvers<never>();
    lost.catch(() => {});
    this.#waiting = reject;
    const cancelWait = this.#schedule(ANSWER_MS_MAX, () => {
      this.#isBroken = true;
      reject(closed());
      void this.end();
    });
    const asked = this.#client.unsafe<Record<string, unknown>[]>(statement, values as never[], { prepare: true });
    let answer;
    try {
      answer = await Promise.race([asked, lost]);
    } catch (error) {
      // Also one that never came about.
      if (failureKind(error) === "broken") this.#isBroken = true;
      throw error;
    } finally {
      this.#waiting = null;
      cancelWait();
    }
    return { rows: answer.map(plain), count: answer.count, command: answer.command };
  }

  /** Ends it. Never rejects. */
  async end(): Promise<void> {
    this.#isSpent = true;
    await this.#client.end({ timeout: END_SECONDS_MAX }).catch(() => {});
  }
}

function closed(): Error {
  return Object.assign(new Error("the connection broke"), { code: "CONNECTION_CLOSED" });
}

/** A row of our own: bytes without the driver's class. */
function plain(row: Record<string, unknown>): SqlRow {
  const copy: Record<string, SqlValue> = {};
  for (const [name, value] of Object.entries(row)) {
    copy[name] = value instanceof Uint8Array ? new Uint8Array(value) : value as SqlValue;
  }
  return copy;
}
