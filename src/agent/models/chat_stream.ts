/**
 * Turns the events of a chat-completions stream into chunks.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming
 * @module
 */
import type { Block, FinishReason, LlmFailure, StreamChunk, Usage } from "../../event/mod.ts";
import { contextWindowFailure } from "./context_window.ts";

type OpenBlock =
  | { readonly kind: "text" | "reasoning"; readonly index: number; text: string[] }
  | {
    readonly kind: "call";
    readonly index: number;
    readonly position: number;
    id: string;
    name: string;
    args: string[];
  };

/**
 * Reads the data of one event after the other. Text and reasoning blocks end where the other begins; calls stay open until
 * the end, because providers interleave them.
 *
 * @example
 * ```ts
 * import { ChatStream } from "./chat_stream.ts";
 *
 * const stream = new ChatStream();
 * const chunks = [...stream.add('{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}'), ...stream.end()];
 * if (chunks.length !== 4) throw new Error("unreachable");
 * ```
 */
export class ChatStream {
  /** Whether the provider closed the stream in words. */
  sawDone = false;
  /** In the order they began. */
  readonly #open: OpenBlock[] = [];
  #nextIndex = 0;
  #finish: string | null = null;
  #usage: Usage | null = null;
  #hasFailed = false;

  /** Whether the model said why it stopped. */
  get isFinished(): boolean {
    return this.#finish !== null || this.sawDone;
  }

  /** Whether a failure ended the stream; its chunk was yielded, and nothing may follow. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** The chunks of one event's data. */
  *add(data: string): Generator<StreamChunk> {
    const event = parse(data);
    if (event === null) return yield this.#fail({ message: `not JSON: ${data.slice(0, 200)}`, code: "TRANSPORT" });
    const error = event.error;
    if (error !== undefined && error !== null) return yield this.#fail(failureOf(error));
    this.#usage = usageOf(event.usage) ?? this.#usage;
    const choice = object(list(event.choices).find((choice) => (object(choice).index ?? 0) === 0));
    const delta = object(choice.delta);
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (typeof reasoning === "string" && reasoning !== "") yield* this.#say("reasoning", reasoning);
    if (typeof delta.content === "string" && delta.content !== "") yield* this.#say("text", delta.content);
    for (const call of list(delta.tool_calls)) yield* this.#call(object(call));
    if (typeof choice.finish_reason === "string") this.#finish = choice.finish_reason;
  }

  /** The chunks that close the stream. */
  *end(): Generator<StreamChunk> {
    if (!this.isFinished) {
      return yield this.#fail({ message: "the stream ended before the answer did", code: "STREAM_CLOSED" });
    }
    const isEmpty = this.#nextIndex === 0;
    const hasCalls = this.#open.some((block) => block.kind === "call");
    for (const block of this.#open.splice(0)) yield blockEnd(block);
    if (this.#usage !== null) yield { type: "usage", usage: this.#usage };
    const reason = finishReason(this.#finish, hasCalls);
    if (isEmpty && reason.kind === "stop") {
      return yield this.#fail({ message: "the provider answered nothing", code: "EMPTY_RESPONSE" });
    }
    yield { type: "finish", reason };
  }

  *#say(kind: "text" | "reasoning", text: string): Generator<StreamChunk> {
    const last = this.#open.find((block) => block.kind !== "call");
    if (last !== undefined && last.kind !== kind) yield* this.#close(last);
    let block = this.#open.find((block) => block.kind === kind);
    if (block === undefined || block.kind === "call") {
      block = { kind, index: this.#nextIndex++, text: [] };
      this.#open.push(block);
      yield { type: "block-start", index: block.index, blockType: kind };
    }
    block.text.push(text);
    yield { type: kind === "text" ? "text-delta" : "reasoning-delta", index: block.index, text };
  }

  *#call(call: Record<string, unknown>): Generator<StreamChunk> {
    const given = object(call.function);
    const id = typeof call.id === "string" ? call.id : "";
    const name = typeof given.name === "string" ? given.name : "";
    const args = typeof given.arguments === "string"
      ? given.arguments
      : given.arguments === undefined || given.arguments === null
      ? ""
      : JSON.stringify(given.arguments);
    const calls = this.#open.filter((block) => block.kind === "call");
    // Some providers leave the position out: then a new id starts a new call.
    const position = typeof call.index === "number"
      ? call.index
      : id !== "" && calls.every((block) => block.id !== id)
      ? calls.length
      : calls.find((block) => block.id === id)?.position ?? Math.max(0, calls.length - 1);
    let block = calls.find((block) => block.position === position);
    if (block === undefined) {
      const said = this.#open.find((block) => block.kind !== "call");
      if (said !== undefined) yield* this.#close(said);
      block = { kind: "call", index: this.#nextIndex++, position, id, name: "", args: [] };
      this.#open.push(block);
      yield { type: "block-start", index: block.index, blockType: "tool-call" };
    }
    if (block.id === "") block.id = id;
    // A provider that repeats the name with every piece means the same call.
    const isNewName = block.name === "" && name !== "";
    if (isNewName) block.name = name;
    block.args.push(args);
    yield {
      type: "tool-call-delta",
      index: block.index,
      id: block.id,
      ...(isNewName ? { name } : {}),
      argumentsDelta: args,
    };
  }

  *#close(block: OpenBlock): Generator<StreamChunk> {
    this.#open.splice(this.#open.indexOf(block), 1);
    yield blockEnd(block);
  }

  #fail(failure: LlmFailure): StreamChunk {
    this.#hasFailed = true;
    return { type: "finish", reason: { kind: "error", failure } };
  }
}

function blockEnd(block: OpenBlock): StreamChunk {
  const { index } = block;
  const finished: Block = block.kind === "call"
    ? { type: "tool-call", id: block.id, name: block.name, arguments: block.args.join("") }
    : { type: block.kind, text: block.text.join("") };
  return { type: "block-end", index, block: finished };
}

function finishReason(finish: string | null, hasCalls: boolean): FinishReason {
  if (finish === "length") return { kind: "max-tokens" };
  if (finish === "content_filter") {
    const failure = { message: "the provider's content filter ended the answer", code: "CONTENT_FILTER" };
    return { kind: "error", failure };
  }
  // Some providers say "stop" although they propose calls.
  return { kind: hasCalls ? "tool-calls" : "stop" };
}

function failureOf(error: unknown): LlmFailure {
  const { message, code, status } = object(error);
  const http = [code, status].find((value) => typeof value === "number" && value >= 100 && value <= 599);
  const failure: LlmFailure = {
    message: typeof message === "string" && message !== "" ? message : `the provider reported ${JSON.stringify(error)}`,
    code: http === 429 || code === "rate_limit_exceeded" ? "RATE_LIMIT" : Number(http) >= 500 ? "SERVER" : "UNKNOWN",
    ...(typeof http === "number" && Number.isSafeInteger(http) ? { status: http } : {}),
  };
  return contextWindowFailure(failure, code);
}

function usageOf(value: unknown): Usage | null {
  const usage = object(value);
  const [inputTokens, outputTokens] = [count(usage.prompt_tokens), count(usage.completion_tokens)];
  if (inputTokens === undefined || outputTokens === undefined) return null;
  const totalTokens = count(usage.total_tokens);
  const cacheReadTokens = count(object(usage.prompt_tokens_details).cached_tokens) ??
    count(usage.prompt_cache_hit_tokens);
  const reasoningTokens = count(object(usage.completion_tokens_details).reasoning_tokens);
  return {
    inputTokens,
    outputTokens,
    ...(totalTokens === undefined ? {} : { totalTokens }),
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
  };
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? value as number : undefined;
}

function parse(data: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : null;
  } catch {
    return null;
  }
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
