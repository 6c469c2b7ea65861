/**
 * How the automatic compactions of a log went, and the newest thing a person said: what decides whether another one is tried,
 * and what no compaction takes from the model.
 *
 * It is a fold, so that neither a restart nor a supervisor that restarts for ever begins to count anew.
 *
 * @see compaction §7 W1, W3, issues 5 to 8; §7b (1), (3)
 * @module
 */
import { isEvent, type Message, type SessionEvent } from "../event/mod.ts";
import { priceOfMessage } from "./estimate.ts";
import type { Fold } from "./fold.ts";

/** A compaction that frees a smaller part than this of what it shadows was of no use. */
export const USEFUL_SHARE_MIN = 0.1;

/** How the error of a compaction begins that somebody cancelled: nothing failed. */
export const CANCELLED_TEXT = "cancelled";

/** The newest message of a person, which may have left the surface. */
export interface NewestPrompt {
  /** seq of its `user/message`. */
  readonly seq: number;
  /** The turn it was told in; `null` for one between turns. */
  readonly turn: number | null;
  /** The message, as it was told. */
  readonly message: Message;
}

/** What is known about compactions. */
export interface Compactions {
  /** Automatic ones, since the last that was useful, that failed or freed next to nothing. */
  readonly failures: number;
  /** When the last of these ended, milliseconds since the epoch; `null` when there is none. */
  readonly lastFailureTime: number | null;
  /** How many replacements by a checkpoint the log holds. */
  readonly checkpoints: number;
  /** `null` before a person said anything. */
  readonly newestPrompt: NewestPrompt | null;
  /** The open turn. */
  readonly turn: number | null;
  /** The compaction that runs, and how much of what it shadows it frees: `null` until its replacement came. */
  readonly running: {
    readonly isAutomatic: boolean;
    readonly shadowedTokens: number;
    readonly freedTokens: number | null;
  } | null;
}

/**
 * Counts what automatic compactions came to. One is automatic when it belongs to a turn. One that a person asked for counts only
 * when it was of use: then whatever kept the others from it is over.
 */
export const compactionsFold: Fold<Compactions> = {
  name: "compactions",
  version: 1,

  initial: () => ({
    failures: 0,
    lastFailureTime: null,
    checkpoints: 0,
    newestPrompt: null,
    turn: null,
    running: null,
  }),

  apply(state: Compactions, event: SessionEvent): Compactions {
    if (isEvent(event, "turn/start")) return { ...state, turn: event.data.turn };
    if (isEvent(event, "turn/end")) return { ...state, turn: null };
    if (isEvent(event, "user/message")) return withMessage(state, event.seq, event.data, event.surfaceOp !== "append");
    if (isEvent(event, "session/end-seed")) return state.running === null ? state : { ...state, running: null };
    if (isEvent(event, "compaction/start")) {
      return { ...state, running: { isAutomatic: event.data.turn !== null, shadowedTokens: 0, freedTokens: null } };
    }
    if (isEvent(event, "compaction/summary") && state.running !== null) {
      const { shadowedTokenCount: shadowedTokens } = event.data;
      return { ...state, running: { ...state.running, shadowedTokens, freedTokens: null } };
    }
    if (isEvent(event, "compaction/end")) return ended(state, event.time, event.data.error);
    return state;
  },
};

function withMessage(state: Compactions, seq: number, message: Message, isReplacement: boolean): Compactions {
  const { source } = message;
  if (source.kind === "user" && !isReplacement) return { ...state, newestPrompt: { seq, turn: state.turn, message } };
  if (!isReplacement || !isCheckpoint(message)) return state;
  const { running, checkpoints } = state;
  const freedTokens = running === null ? null : running.shadowedTokens - priceOfMessage(message);
  return { ...state, checkpoints: checkpoints + 1, running: running === null ? null : { ...running, freedTokens } };
}

function ended(state: Compactions, time: number, error: string | undefined): Compactions {
  const { running } = state;
  if (running === null) return state;
  const next = { ...state, running: null };
  const { isAutomatic, freedTokens, shadowedTokens } = running;
  const isUseful = error === undefined && freedTokens !== null && freedTokens >= shadowedTokens * USEFUL_SHARE_MIN;
  if (isUseful) return { ...next, failures: 0, lastFailureTime: null };
  const isCancelled = error?.startsWith(`${CANCELLED_TEXT}: `) === true;
  return isAutomatic && !isCancelled ? { ...next, failures: state.failures + 1, lastFailureTime: time } : next;
}

/**
 * Whether a message stands for messages that were summarised.
 *
 * @example
 * ```ts
 * import { isCheckpoint } from "./compactions.ts";
 *
 * if (!isCheckpoint({ source: { kind: "plugin", plugin: "compact" } })) throw new Error("unreachable");
 * ```
 */
export function isCheckpoint({ source }: Pick<Message, "source">): boolean {
  return source.kind === "plugin" && source.plugin === "compact";
}
