/**
 * Messages: what the model reads and writes, as the session log keeps them (version 3).
 *
 * @see session-format §3.4
 * @module
 */
import type { JsonObject } from "./json.ts";

/** Text. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

/** Reasoning text. */
export interface ReasoningBlock {
  readonly type: "reasoning";
  readonly text: string;
}

/** A call the model proposes. `arguments` is the model's raw JSON text, never parsed in the log. */
export interface ToolCallBlock {
  readonly type: "tool-call";
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** The answer to one call. */
export interface ToolResultBlock {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly content: readonly Block[];
  readonly isError?: boolean;
}

/** An image or a file, by reference. The attachment is kept as it came. */
export interface AttachmentBlock {
  readonly type: "image" | "file";
  readonly attachment: JsonObject;
}

/** One piece of a message. */
export type Block = TextBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock | AttachmentBlock;

/** Where a message came from. Kinds this build does not know are kept as they are. */
export interface MessageSource {
  readonly kind: string;
  readonly [key: string]: unknown;
}

/** A message, verbatim as the model sees it. */
export interface Message {
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  readonly content: readonly Block[];
  readonly source: MessageSource;
}

/** Token counts a provider reported. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

/** A model failure, as facts. */
export interface LlmFailure {
  readonly message: string;
  readonly code: string;
  /** HTTP status, 100 to 599. */
  readonly status?: number;
  /** What the provider's Retry-After said, in milliseconds, above 0. */
  readonly providerRetryAfterMs?: number;
  readonly requestId?: string;
}

/** Why a model stream ended. */
export type FinishReason =
  | { readonly kind: "stop" }
  | { readonly kind: "tool-calls" }
  | { readonly kind: "max-tokens" }
  | { readonly kind: "aborted"; readonly failure: LlmFailure }
  | { readonly kind: "error"; readonly failure: LlmFailure };

/** One chunk of a model stream. `index` is the block's position in the message being built. */
export type StreamChunk =
  | { readonly type: "block-start"; readonly index: number; readonly blockType: string }
  | { readonly type: "text-delta"; readonly index: number; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly index: number; readonly text: string }
  | {
    readonly type: "tool-call-delta";
    readonly index: number;
    readonly id: string;
    readonly name?: string;
    readonly argumentsDelta: string;
  }
  | { readonly type: "block-end"; readonly index: number; readonly block: Block }
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "finish"; readonly reason: FinishReason; readonly replayState?: JsonObject };

/** One record of the stream embedded in `assistant/message` and `assistant/attempt` (session-format §3.5). */
export type StreamRecord =
  | {
    readonly type: "text-chunks" | "reasoning-chunks";
    readonly time0: number;
    readonly index: number;
    /** Milliseconds between neighbours: one fewer than `texts`, each a safe integer, may be negative. */
    readonly dt: readonly number[];
    readonly texts: readonly string[];
  }
  | {
    readonly type: "tool-call-chunks";
    readonly time0: number;
    readonly index: number;
    readonly dt: readonly number[];
    readonly id: string;
    readonly name?: string;
    readonly args: readonly string[];
  }
  | { readonly type: "chunk"; readonly time: number; readonly chunk: StreamChunk };
