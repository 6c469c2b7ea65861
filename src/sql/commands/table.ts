/**
 * Commands in a table: posted by any process, claimed by the one that writes the session.
 *
 * A command that leads to events is claimed in the transaction that appends them: {@linkcode CommandTable.inAppend} is the store's
 * `inAppend`. So after a crash it is either pending and nothing of it is in the log, or done and all of it is.
 *
 * @module
 */
import { FencedError, NotFoundError } from "../../errors.ts";
import { canonicalJson, type JsonValue, type SessionEvent } from "../../event/mod.ts";
import { writeRepeatable } from "../commit_unknown.ts";
import type { SqlPort, SqlRow, SqlTransaction } from "../sql_port.ts";
import type { AppendedBatch } from "../sql_store.ts";
import { packText, unpackText } from "../text_column.ts";
import {
  BODY_LENGTH_MAX,
  type Command,
  type CommandDraft,
  type CommandKind,
  type CommandState,
  KEY_LENGTH_MAX,
} from "./command.ts";
import { ExpectedEvents } from "./expected_events.ts";

/** How many pending commands are looked at in one round. */
export const PENDING_COMMANDS_MAX = 1000;

/** What a {@linkcode CommandTable} is made from. */
export interface CommandTableOptions {
  readonly sql: SqlPort;
  /**
   * Whether this store has the claim of a session, asked inside a transaction: as long as it lasts nobody can take it away. Guards what
   * is settled without an event, where no epoch is checked.
   */
  readonly ownsClaim: (transaction: SqlTransaction, key: string) => Promise<boolean>;
  /** Tells others, as part of the transaction, that there is a command. */
  readonly announce?: (transaction: SqlTransaction, key: string) => Promise<void>;
}

/** What became of a post. */
export interface Posted {
  readonly command: Command;
  /** Whether the key was there already. */
  readonly isRepeated: boolean;
  /** Whether what was there is what was posted now. A key stands for one command. */
  readonly isSame: boolean;
}

/**
 * The commands of a database.
 *
 * @example
 * ```ts
 * import type { CommandTable } from "./table.ts";
 *
 * async function say(commands: CommandTable, id: string, text: string): Promise<string> {
 *   const { command } = await commands.post(id, { key: "k1", kind: "input", body: { text } }, 0);
 *   return command.state;
 * }
 * ```
 */
export class CommandTable {
  readonly #sql: SqlPort;
  readonly #options: CommandTableOptions;
  readonly #expected = new ExpectedEvents();

  constructor(options: CommandTableOptions) {
    this.#sql = options.sql;
    this.#options = options;
  }

  /**
   * Posts a command, durable when it resolves. A key that is there already adds nothing.
   *
   * @param now milliseconds since the epoch
   * @throws {NotFoundError} when there is no such session
   * @throws {RangeError} when key or body is too long
   */
  async post(sessionId: string, draft: CommandDraft, now: number): Promise<Posted> {
    const { kind } = draft;
    const body = canonicalJson(draft.body);
    if (draft.key === "" || draft.key.length > KEY_LENGTH_MAX) {
      throw new RangeError(`Cannot post a command to session "${sessionId}": its key is empty or too long`);
    }
    if (body.length > BODY_LENGTH_MAX) {
      throw new RangeError(`Cannot post a command to session "${sessionId}": its body has ${body.length} characters`);
    }
    const [key, commandKey] = [packText(sessionId), packText(draft.key)];
    return await writeRepeatable(this.#sql, async (transaction) => {
      // The session's row is not touched: whoever appends to it does not wait.
      const insert = "INSERT INTO command (session_id, idempotency_key, kind, body, posted_at, state) " +
        "SELECT id, $2, $3, $4, $5, 'pending' FROM session WHERE id = $1 " +
        "ON CONFLICT (session_id, idempotency_key) DO NOTHING";
      const added = await transaction.run(insert, key, commandKey, kind, body, now);
      const [row] = await transaction.all(`${SELECT} WHERE session_id = $1 AND idempotency_key = $2`, key, commandKey);
      if (row === undefined) {
        throw new NotFoundError(`Cannot post a command to session "${sessionId}": there is no such session`);
      }
      if (added > 0) await this.#options.announce?.(transaction, key);
      const command = commandOf(row);
      return { command, isRepeated: added === 0, isSame: row.kind === kind && row.body === body };
    });
  }

  /** One command; `null` when there is none. */
  async get(sessionId: string, key: string): Promise<Command | null> {
    const [row] = await this.#sql.read((transaction) =>
      transaction.all(
        `${SELECT} WHERE session_id = $1 AND idempotency_key = $2`,
        packText(sessionId),
        packText(key),
      )
    );
    return row === undefined ? null : commandOf(row);
  }

  /** What nobody has claimed, oldest first, at most PENDING_COMMANDS_MAX. */
  async pending(): Promise<readonly Command[]> {
    const rows = await this.#sql.read((transaction) =>
      transaction.all(
        `${SELECT} WHERE state = 'pending' ORDER BY posted_at, idempotency_key LIMIT $1`,
        PENDING_COMMANDS_MAX,
      )
    );
    return rows.map(commandOf);
  }

  /**
   * Says which event a command leads to, before or in the same breath in which it is appended. The batch that makes the event durable
   * then settles the command. When the batch is refused, both are not there.
   */
  expect({ sessionId, key }: Command, isResult: (event: SessionEvent) => boolean): void {
    this.#expected.add(sessionId, key, isResult);
  }

  /** Whether the owner here has taken it in hand: it is not to be handled again. */
  isInHand({ sessionId, key }: Command): boolean {
    return this.#expected.has(sessionId, key);
  }

  /** Forgets what was in hand, when a session is closed here. What is still pending is the next owner's. */
  forget(sessionId: string): void {
    this.#expected.forget(sessionId);
  }

  /**
   * Settles a command that leads to no new event.
   *
   * @param outcome what else there is to say
   * @returns whether it was pending, and this process had the claim of its session
   */
  async settle(
    { sessionId, key }: Command,
    { state, seq = null, outcome = null }: Pick<Command, "state"> & Partial<Pick<Command, "seq" | "outcome">>,
  ): Promise<boolean> {
    const id = packText(sessionId);
    // No batch is to find it in another state than it expects.
    this.#expected.settle(sessionId, key);
    return await writeRepeatable(this.#sql, async (transaction) => {
      if (!await this.#options.ownsClaim(transaction, id)) return false;
      const text = outcome === null ? null : packText(outcome);
      const changed = await transaction.run(
        `${SETTLE}, outcome = $5 WHERE session_id = $1 AND idempotency_key = $2 AND state = 'pending'`,
        ...[id, packText(key), state, seq, text],
      );
      return changed === 1;
    });
  }

  /** The store's `inAppend`: settles what the events of the batch are the result of. Nothing in memory changes: it may be repeated. */
  readonly inAppend = async (transaction: SqlTransaction, batch: AppendedBatch): Promise<void> => {
    for (const { key, seq } of this.#expected.resultsIn(batch.id, batch.events)) {
      const changed = await transaction.run(
        `${SETTLE} WHERE session_id = $1 AND idempotency_key = $2 AND state = 'pending'`,
        ...[batch.key, packText(key), "done", seq],
      );
      if (changed === 1) continue;
      // The epoch was right a moment ago, so nobody else could claim it: somebody changes the table by hand.
      throw new FencedError(
        `Cannot append to session "${batch.id}": its command "${key}" was settled by somebody else`,
      );
    }
  };
}

const SELECT = "SELECT session_id, idempotency_key, kind, body, posted_at, state, seq, outcome FROM command";
const SETTLE = "UPDATE command SET state = $3, seq = $4";

function commandOf(row: SqlRow): Command {
  return {
    sessionId: unpackText(String(row.session_id)),
    key: unpackText(String(row.idempotency_key)),
    kind: row.kind as CommandKind,
    body: JSON.parse(String(row.body)) as JsonValue,
    postedAt: Number(row.posted_at),
    state: row.state as CommandState,
    seq: row.seq === null ? null : Number(row.seq),
    outcome: row.outcome === null ? null : unpackText(String(row.outcome)),
  };
}
