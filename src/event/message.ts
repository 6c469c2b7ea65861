/**
 * Messages: what the model reads and writes, as the session log keeps them (version 3).
 *
 * @see session-format §3.4
 * @module
 */
import type { JsonObject } from "./json.ts";

/** Text. */
export interface TextBlock {
  /** Tells the block apart. */
  readonly type: "text";
  /** What is said; may be empty. */
  readonly text: string;
}

/** Reasoning text. */
export interface ReasoningBlock {
  /** Tells the block apart. */
  readonly type: "reasoning";
  /** What the model thought, as far as the provider shows it; may be empty. */
  readonly text: string;
}

/** A call the model proposes. `arguments` is the model's raw JSON text, never parsed in the log. */
export interface ToolCallBlock {
  /** Tells the block apart. */
  readonly type: "tool-call";
  /** The call's id, which its result names. Ours when the provider's was empty or taken (`call/renamed`). */
  readonly id: string;
  /** The tool the model wants; there may be none of this name. */
  readonly name: string;
  /** The model's raw JSON text, which may not parse. */
  readonly arguments: string;
}

/** The answer to one call. */
export interface ToolResultBlock {
  /** Tells the block apart. */
  readonly type: "tool-result";
  /** The `id` of the {@linkcode ToolCallBlock} this answers. */
  readonly toolCallId: string;
  /** What the model reads as the answer. */
  readonly content: readonly Block[];
  /** Whether the call failed; absent means that it did not. */
  readonly isError?: boolean;
}

/** An image or a file, by reference. The attachment is kept as it came. */
export interface AttachmentBlock {
  /** Tells the block apart. */
  readonly type: "image" | "file";
  /** An id, a name or media type, and sizes; not looked into. */
  readonly attachment: JsonObject;
}

/** One piece of a message. */
export type Block = TextBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock | AttachmentBlock;

/** Where a message came from. Kinds this build does not know are kept as they are. */
export interface MessageSource {
  /** The producer: "user", "model", "tool", "plugin" or another. */
  readonly kind: string;
  /** What this kind adds: the `callId` of a tool, the `provider` and `model` of a model, the `plugin` of a plugin. */
  readonly [key: string]: unknown;
}

/** A message, verbatim as the model sees it. */
export interface Message {
  /** Never empty. A replacement of a tool result keeps it. */
  readonly id: string;
  /** Who speaks. A tool's result has the role `user`. */
  readonly role: "system" | "user" | "assistant";
  /** The blocks, in order. Empty in a system message: there is no system prompt. */
  readonly content: readonly Block[];
  /** Who produced the message; of a tool's result, for which call. */
  readonly source: MessageSource;
}

/** Token counts a provider reported. */
export interface Usage {
  /** Tokens of the request. */
  readonly inputTokens: number;
  /** Tokens of the answer. */
  readonly outputTokens: number;
  /** The provider's own total; absent when it gave none. */
  readonly totalTokens?: number;
  /** Tokens of the request that came from the provider's cache; absent when it did not say. */
  readonly cacheReadTokens?: number;
  /** Tokens of the request that went into the provider's cache; absent when it did not say. */
  readonly cacheWriteTokens?: number;
  /** Tokens spent on reasoning; absent when the provider did not say. */
  readonly reasoningTokens?: number;
}

/** A model failure, as facts. */
export interface LlmFailure {
  /** What happened, for people. */
  readonly message: string;
  /** A stable word: "RATE_LIMIT", "TRANSPORT", "UNKNOWN" and others, the codes of our own refusals among them. */
  readonly code: string;
  /** HTTP status, 100 to 599. */
  readonly status?: number;
  /** What the provider's Retry-After said, in milliseconds, above 0. */
  readonly providerRetryAfterMs?: number;
  /** The provider's id of the request, to quote to its support; absent when it gave none. */
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
