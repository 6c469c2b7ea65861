/**
 * How providers say that a request was too long for the model. There is no code for it that all of them use.
 *
 * @module
 */
import type { LlmFailure } from "../../event/mod.ts";

/** The code of a request that was too long. Compaction acts on it, and on nothing else. */
const CODE = "CONTEXT_WINDOW_EXCEEDED";

/** Their words, from their documentation and from answers of their servers; lower case. */
const WORDS = [
  "context_length_exceeded",
  "context length exceeded",
  "maximum context length",
  "context window",
  "prompt is too long",
  "input is too long",
  "input length and",
  "exceeds the maximum number of tokens",
  "exceed context limit",
  "exceeds the available context size",
  "too many tokens",
  "reduce the length of the messages",
];

/** Codes that may hide it. What is a limit of the rate also speaks of tokens. */
const UNSURE: ReadonlySet<string> = new Set(["UNKNOWN", "TOO_LARGE"]);

/** Statuses it comes with. 413 is what a gateway says. */
const STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * The same failure, with the code of a request that was too long when its words say so.
 *
 * @param word what the provider calls its error, where it does
 *
 * @example
 * ```ts
 * import { contextWindowFailure } from "./context_window.ts";
 *
 * const failure = { message: "HTTP 400: maximum context length is 8192 tokens", code: "UNKNOWN", status: 400 };
 * if (contextWindowFailure(failure).code !== "CONTEXT_WINDOW_EXCEEDED") throw new Error("unreachable");
 * ```
 */
export function contextWindowFailure(failure: LlmFailure, word: unknown = ""): LlmFailure {
  const { code, status, message } = failure;
  if (!UNSURE.has(code) || (status !== undefined && !STATUSES.has(status))) return failure;
  const said = `${String(word)} ${message}`.toLowerCase();
  return WORDS.some((words) => said.includes(words)) ? { ...failure, code: CODE } : failure;
}
