/**
 * The message that stands for what was summarised.
 *
 * @see compaction §2, §4 "Frame", §7 issue 13
 * @module
 */
import { type Block, freezeJson, type Message } from "../event/mod.ts";
import type { NewestPrompt } from "../fold/mod.ts";

/** Stands before the summary. */
export const SUMMARY_OPEN = "<compacted-summary>";

/** Stands behind the summary. */
export const SUMMARY_CLOSE = "</compacted-summary>";

const LEAD =
  "The earlier part of this conversation was replaced by the summary below, which was made automatically. Take what it says as " +
  "established, and go on from the messages that follow it.";

const PENDING_LEAD =
  "For reference, word for word, the newest message of the person you work for. It is not said anew: you have been working on it " +
  "already, the summary says how far, and the messages that follow go on from there.";

const ENDED_LEAD =
  "For reference, word for word, the newest message of the person you work for. It is not said anew: the turn it began is over. " +
  "Do not begin it again unless asked to.";

const PROMPT_OPEN = "<newest-message>";
const PROMPT_CLOSE = "</newest-message>";

/** What a checkpoint is made of. */
export interface CheckpointParts {
  /** Of the message. */
  readonly id: string;
  readonly compactionId: string;
  readonly commandId: string | null;
  /** The summary, text blocks alone. */
  readonly summary: readonly Block[];
  /** What the person said last, when the checkpoint takes its place. */
  readonly carried: NewestPrompt | null;
  /** The turn that is open; a prompt of any other turn was worked on to its end. */
  readonly turn: number | null;
}

/**
 * Frames a summary.
 *
 * @example
 * ```ts
 * import { checkpointMessage, SUMMARY_OPEN } from "./checkpoint_message.ts";
 *
 * const summary = [{ type: "text" as const, text: "Nothing happened." }];
 * const message = checkpointMessage({ id: "m", compactionId: "k", commandId: null, summary, carried: null, turn: 1 });
 * if (!JSON.stringify(message.content[0]).includes(SUMMARY_OPEN)) throw new Error("unreachable");
 * ```
 */
export function checkpointMessage(parts: CheckpointParts): Message {
  const { id, compactionId, commandId, summary, carried, turn } = parts;
  return freezeJson<Message>({
    content: [
      text(`${LEAD}\n\n${SUMMARY_OPEN}`),
      ...summary,
      text(SUMMARY_CLOSE),
      ...(carried === null ? [] : copyOf(carried, turn)),
    ],
    source: {
      kind: "plugin",
      plugin: "compact",
      compactionId,
      ...(commandId === null ? {} : { sourceCommandId: commandId }),
    },
    role: "user",
    id,
  });
}

function copyOf({ message, turn: ownTurn }: NewestPrompt, turn: number | null): Block[] {
  const isPending = turn !== null && turn === ownTurn;
  return [text(`${isPending ? PENDING_LEAD : ENDED_LEAD}\n\n${PROMPT_OPEN}`), ...message.content, text(PROMPT_CLOSE)];
}

function text(value: string): Block {
  return { type: "text", text: value };
}
