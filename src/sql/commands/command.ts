/**
 * What anybody may ask of a session that another process writes.
 *
 * @module
 */
import type { JsonValue } from "../../event/mod.ts";

/** What is asked. */
export type CommandKind = "input" | "cancel" | "decision";

/**
 * How far it is. `pending`: nobody has claimed it. `done`: the owner claimed it, in the transaction that made its events durable.
 * `void`: the owner found that there was nothing to do, such as a cancel while no turn ran.
 */
export type CommandState = "pending" | "done" | "void";

/** A command as it is posted. */
export interface CommandDraft {
  /** Stands for one command of its session, whoever posts it and how often. Any text of at most KEY_LENGTH_MAX. */
  readonly key: string;
  readonly kind: CommandKind;
  /** What the owner needs to know; JSON. */
  readonly body: JsonValue;
}

/** A command as it is in the table. */
export interface Command extends CommandDraft {
  /** The session's id. */
  readonly sessionId: string;
  /** When it was posted, by the clock of whoever posted it, in milliseconds since the epoch. */
  readonly postedAt: number;
  readonly state: CommandState;
  /** Of the event it led to; `null` when it led to none, or not yet. */
  readonly seq: number | null;
  /** What else the owner has to say, such as why it is void. */
  readonly outcome: string | null;
}

/** The longest idempotency key, in UTF-16 units. */
export const KEY_LENGTH_MAX = 255;

/** The longest body, as JSON text in UTF-16 units. */
export const BODY_LENGTH_MAX = 1024 * 1024;
