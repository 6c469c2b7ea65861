/**
 * What a session began with: the beginning of the first thing a person said, which names the session for people.
 *
 * The surface cannot say it: a compaction takes the first messages away from the model, and the session keeps its name.
 *
 * @module
 */
import { isEvent, type SessionEvent } from "../event/mod.ts";
import type { Fold } from "./fold.ts";

/** How much of it is kept, in UTF-16 units. */
export const FIRST_PROMPT_LENGTH_MAX = 200;

/** Its first line that is not empty; `null` before somebody said something. */
export interface FirstPrompt {
  readonly line: string | null;
}

/** Keeps the first line of the first `user/message` of a person. */
export const firstPromptFold: Fold<FirstPrompt> = {
  name: "first_prompt",
  version: 1,

  initial: () => ({ line: null }),

  apply(state: FirstPrompt, event: SessionEvent): FirstPrompt {
    if (state.line !== null || !isEvent(event, "user/message") || event.data.source.kind !== "user") return state;
    const text = event.data.content.map((block) => block.type === "text" ? block.text : "").join(" ").trim();
    const line = text.slice(0, FIRST_PROMPT_LENGTH_MAX).split("\n")[0]!.trim();
    // A cut may leave half of a character at the end.
    return line === "" ? state : { line: line.replace(/[\ud800-\udbff]$/, "") };
  },
};
