/**
 * What a summariser answered, and whether it may take the place of a conversation.
 *
 * @see compaction §4 "Rejected", §7 issues 20, 29
 * @module
 */
import type { Block, FinishReason, LlmFailure, TextBlock, Usage } from "../event/mod.ts";

/** The code of a request that was too long for the model. */
export const CONTEXT_WINDOW_EXCEEDED = "CONTEXT_WINDOW_EXCEEDED";

/** What came back. */
export interface SummaryAnswer {
  readonly content: readonly Block[];
  /** `null` when the stream had none, which counts as "stop". */
  readonly finish: FinishReason | null;
  readonly usage: Usage | null;
}

/** A summariser's answer that is no summary. */
export class SummaryRejected extends Error {
  /** What went wrong: the provider's code, or one of ours. */
  readonly code: string;

  constructor({ code, message }: LlmFailure) {
    super(`${code}: ${message}`);
    this.name = "SummaryRejected";
    this.code = code;
  }
}

/**
 * The text of a summary. Reasoning and calls are no part of it.
 *
 * @throws {SummaryRejected} when the model failed, was cut off, wrote nothing, or put an image into it
 *
 * @example
 * ```ts
 * import { summaryText } from "./summary_answer.ts";
 *
 * const content = [{ type: "reasoning" as const, text: "hm" }, { type: "text" as const, text: "Paid." }];
 * if (summaryText({ content, finish: { kind: "stop" }, usage: null })[0]?.text !== "Paid.") throw new Error("unreachable");
 * ```
 */
export function summaryText({ content, finish }: SummaryAnswer): TextBlock[] {
  if (finish?.kind === "error" || finish?.kind === "aborted") throw new SummaryRejected(finish.failure);
  if (finish?.kind === "max-tokens") throw rejected("MAX_TOKENS", "the summary was cut off");
  if (content.some(hasImage)) throw rejected("UNSUPPORTED_CONTENT", "the summary holds an image");
  const texts = content.filter((block) => block.type === "text");
  if (!texts.some(({ text }) => text.trim() !== "")) throw rejected("EMPTY_RESPONSE", "the summary has no text");
  return texts;
}

function hasImage(block: Block): boolean {
  return block.type === "image" || (block.type === "tool-result" && block.content.some(hasImage));
}

function rejected(code: string, message: string): SummaryRejected {
  return new SummaryRejected({ code, message });
}
