/**
 * Turns the parts that a model of the AI SDK yields into chunks.
 *
 * @see AI SDK, package `@ai-sdk/provider`: `LanguageModelV2StreamPart`, `V3`, `V4`
 * @module
 */
import type { FinishReason, JsonObject, JsonValue, LlmFailure, StreamChunk, Usage } from "../../event/mod.ts";
import { aiSdkFailure } from "./ai_sdk_failure.ts";
import { metadataOf, RECORD_SIZE_MAX, Recorder } from "./ai_sdk_record.ts";
import { type AiSdkVersion, type Fields, fields, itemsOf, textOf } from "./ai_sdk_shapes.ts";
import { callChunks } from "./chunks.ts";

/** Kept as they came: what the provider did by itself, what it asks, and what our log has no block for. */
const RECORDED: readonly unknown[] = [
  "tool-result",
  "tool-approval-request",
  "source",
  "file",
  "reasoning-file",
  "custom",
];

/** A block that has begun and not ended. */
interface OpenBlock {
  readonly kind: "text" | "reasoning" | "tool-call";
  /** Null until there is something to show. */
  index: number | null;
  readonly pieces: string[];
  metadata: JsonValue | undefined;
}

/**
 * Reads one part after the other.
 *
 * Text, reasoning and the calls for our tools become blocks. A call that the provider runs by itself never does: it is recorded
 * in the `replayState` of the last chunk, with its results and the approvals it asks for. A provider that begins a call as one
 * of ours and then says that it ran it, or begins one and never finishes it, fails the request.
 *
 * @example
 * ```ts
 * import { AiSdkStream } from "./ai_sdk_stream.ts";
 *
 * const stream = new AiSdkStream(4, new Set());
 * const chunks = [
 *   { type: "text-start", id: "1" },
 *   { type: "text-delta", id: "1", delta: "hi" },
 *   { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} },
 * ].flatMap((part) => [...stream.add(part)]);
 * if (chunks.length !== 4 || !stream.isOver) throw new Error("unreachable");
 * ```
 */
export class AiSdkStream {
  readonly #version: AiSdkVersion;
  /** The tools the model was told of. Any other name may be one that the provider runs. */
  readonly #toolNames: ReadonlySet<string>;
  /** By kind and the provider's id, which it may use again once the block has ended. */
  readonly #open = new Map<string, OpenBlock>();
  /** What became of each index: which of them are calls. */
  readonly #isCall: boolean[] = [];
  readonly #recorder = new Recorder();
  readonly #failureOf: (error: unknown) => FinishReason;
  #isOver = false;

  /**
   * A stream of which nothing was read.
   *
   * @param failureOf what an error in the stream means
   */
  constructor(
    version: AiSdkVersion,
    toolNames: ReadonlySet<string>,
    failureOf: (error: unknown) => FinishReason = aiSdkFailure,
  ) {
    this.#version = version;
    this.#toolNames = toolNames;
    this.#failureOf = failureOf;
  }

  /** Whether the last chunk was yielded; nothing may follow. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The chunks of one part. Types that are not known here are passed over. */
  *add(value: unknown): Generator<StreamChunk> {
    const part = fields(value);
    switch (part.type) {
      case "stream-start":
        this.#recorder.warnings(itemsOf(part.warnings));
        break;
      case "response-metadata":
        this.#recorder.response(part);
        break;
      case "text-start":
      case "reasoning-start":
        yield* this.#begin(part.type === "text-start" ? "text" : "reasoning", part);
        break;
      case "text-delta":
      case "reasoning-delta":
        yield* this.#say(part.type === "text-delta" ? "text" : "reasoning", part);
        break;
      case "text-end":
      case "reasoning-end":
        yield* this.#end(part.type === "text-end" ? "text" : "reasoning", part);
        break;
      case "tool-input-start":
        yield* this.#beginCall(part);
        break;
      case "tool-input-delta":
        yield* this.#growCall(part);
        break;
      case "tool-call":
        yield* this.#call(part);
        break;
      case "error":
        yield this.#last(this.#failureOf(part.error));
        break;
      case "finish":
        yield* this.#finish(part);
        break;
      default:
        if (RECORDED.includes(part.type)) this.#recorder.part(part, this.#isCall.length);
    }
    if (this.#recorder.isTooLarge && !this.#isOver) {
      yield this.#failWith(
        "TOO_LARGE",
        `what the provider sent beside its answer is over ${RECORD_SIZE_MAX} characters`,
      );
    }
  }

  /** The chunk that ends a stream that ended without a finish. */
  close(): StreamChunk {
    return this.#failWith("STREAM_CLOSED", "the stream ended before the answer did");
  }

  /** The chunk that ends a stream that threw. What was recorded until then goes with it. */
  fail(error: unknown): StreamChunk {
    return this.#last(this.#failureOf(error));
  }

  #last(reason: FinishReason): StreamChunk {
    this.#isOver = true;
    return { type: "finish", reason, ...this.#replayState(reason) };
  }

  *#begin(kind: "text" | "reasoning", part: Fields): Generator<StreamChunk> {
    const key = `${kind} ${textOf(part.id)}`;
    const earlier = this.#open.get(key);
    if (earlier !== undefined) yield* this.#close(key, earlier);
    this.#open.set(key, { kind, index: null, pieces: [], metadata: metadataOf(part) });
  }

  *#say(kind: "text" | "reasoning", part: Fields): Generator<StreamChunk> {
    const key = `${kind} ${textOf(part.id)}`;
    if (!this.#open.has(key)) yield* this.#begin(kind, part);
    const block = this.#open.get(key)!;
    block.metadata = metadataOf(part) ?? block.metadata;
    const text = textOf(part.delta);
    if (text === "") return;
    const index = block.index ?? (yield* this.#place(block));
    block.pieces.push(text);
    yield { type: kind === "text" ? "text-delta" : "reasoning-delta", index, text };
  }

  *#end(kind: "text" | "reasoning", part: Fields): Generator<StreamChunk> {
    const key = `${kind} ${textOf(part.id)}`;
    const block = this.#open.get(key);
    if (block === undefined) return;
    block.metadata = metadataOf(part) ?? block.metadata;
    yield* this.#close(key, block);
  }

  /** Gives a block its index, and announces it. */
  *#place(block: OpenBlock): Generator<StreamChunk, number> {
    const index = this.#isCall.push(block.kind === "tool-call") - 1;
    block.index = index;
    yield { type: "block-start", index, blockType: block.kind };
    return index;
  }

  /** Ends a block of text or reasoning. One that said nothing is kept only when the provider wants something back with it. */
  *#close(key: string, block: OpenBlock): Generator<StreamChunk> {
    this.#open.delete(key);
    if (block.kind === "tool-call" || (block.index === null && block.metadata === undefined)) return;
    const index = block.index ?? (yield* this.#place(block));
    if (block.metadata !== undefined) this.#recorder.block(index, block.kind, block.metadata);
    yield { type: "block-end", index, block: { type: block.kind, text: block.pieces.join("") } };
  }

  /** Only a call that is surely ours is shown as it grows: what was shown as a call would be run as one. */
  *#beginCall(part: Fields): Generator<StreamChunk> {
    const [id, name] = [textOf(part.id), textOf(part.toolName)];
    if (part.providerExecuted === true || !this.#toolNames.has(name)) return;
    if (this.#open.has(`call ${id}`)) return yield this.#failWith("UNKNOWN", `the provider began call "${id}" twice`);
    const block: OpenBlock = { kind: "tool-call", index: null, pieces: [], metadata: undefined };
    this.#open.set(`call ${id}`, block);
    const index = yield* this.#place(block);
    yield { type: "tool-call-delta", index, id, name, argumentsDelta: "" };
  }

  *#growCall(part: Fields): Generator<StreamChunk> {
    const [id, argumentsDelta] = [textOf(part.id), textOf(part.delta)];
    const index = this.#open.get(`call ${id}`)?.index ?? null;
    if (index !== null && argumentsDelta !== "") yield { type: "tool-call-delta", index, id, argumentsDelta };
  }

  /** A call is complete. Its input is the provider's last word, whatever the deltas were. */
  *#call(part: Fields): Generator<StreamChunk> {
    const [id, name] = [textOf(part.toolCallId), textOf(part.toolName)];
    const begun = this.#open.get(`call ${id}`);
    if (part.providerExecuted === true) {
      this.#recorder.part(part, this.#isCall.length);
      if (begun === undefined) return;
      return yield this.#failWith(
        "UNKNOWN",
        `the provider began call "${id}" of ${name} as one of ours and then ran it itself`,
      );
    }
    const args = typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {});
    this.#open.delete(`call ${id}`);
    const index = begun?.index ?? this.#isCall.push(true) - 1;
    const metadata = metadataOf(part);
    if (metadata !== undefined) this.#recorder.block(index, "tool-call", metadata);
    if (begun === undefined) yield* callChunks(index, { id, name, args });
    else yield { type: "block-end", index, block: { type: "tool-call", id, name, arguments: args } };
  }

  *#finish(part: Fields): Generator<StreamChunk> {
    const { unified, raw } = typeof part.finishReason === "string"
      ? { unified: part.finishReason, raw: undefined }
      : fields(part.finishReason);
    this.#recorder.finish(raw, part);
    for (const [key, block] of this.#open) if (block.kind !== "tool-call") yield* this.#close(key, block);
    const usage = usageOf(fields(part.usage));
    if (usage !== null) yield { type: "usage", usage };
    const reason = this.#reason(textOf(unified), raw);
    const [unfinished] = this.#open.keys();
    if (unfinished !== undefined && (reason.kind === "stop" || reason.kind === "tool-calls")) {
      return yield this.#failWith("UNKNOWN", `the provider began ${unfinished} and never finished it`);
    }
    if (reason.kind === "stop" && this.#isCall.length === 0 && !this.#recorder.hasParts) {
      return yield this.#failWith("EMPTY_RESPONSE", "the provider answered nothing");
    }
    yield this.#last(reason);
  }

  #reason(unified: string, raw: unknown): FinishReason {
    if (unified === "length") return { kind: "max-tokens" };
    if (unified === "content-filter") return failed("CONTENT_FILTER", "the provider's content filter ended the answer");
    if (unified === "error") return failed("UNKNOWN", "the provider ended the answer with an error");
    // The words of the three versions for a stream that ended before the model said why. "other" with a word of the provider
    // is a reason that the specification has no word for.
    const isCutOff = unified === "" || unified === "interrupted" || unified === "unknown" ||
      (unified === "other" && raw === undefined && this.#version > 2);
    if (isCutOff) return failed("STREAM_CLOSED", "the stream ended before the answer did");
    // Some providers say "stop" although they propose calls.
    return { kind: this.#isCall.includes(true) ? "tool-calls" : "stop" };
  }

  #failWith(code: string, message: string): StreamChunk {
    return this.#last(failed(code, message));
  }

  #replayState(reason: FinishReason): { replayState?: JsonObject } {
    // An answer that was cut off proposes no calls: they are left out of its message.
    const isKept = (index: number) => !(reason.kind === "max-tokens" && this.#isCall[index] === true);
    const positions: number[] = [0];
    this.#isCall.forEach((_, index) => positions.push(positions[index]! + (isKept(index) ? 1 : 0)));
    const record = this.#recorder.record((index) => ({ position: positions[index] ?? 0, isKept: isKept(index) }));
    return record === null ? {} : { replayState: record };
  }
}

function failed(code: string, message: string): FinishReason & { readonly failure: LlmFailure } {
  return { kind: "error", failure: { message, code } };
}

/** Version 2 counts in numbers; from version 3 on, each count is an object with a total. */
function usageOf({ inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens }: Fields): Usage | null {
  const [input, output] = [fields(inputTokens), fields(outputTokens)];
  const [inputTotal, outputTotal] = [
    count(inputTokens) ?? count(input.total),
    count(outputTokens) ?? count(output.total),
  ];
  if (inputTotal === undefined || outputTotal === undefined) return null;
  const optional = {
    totalTokens: count(totalTokens),
    cacheReadTokens: count(cachedInputTokens) ?? count(input.cacheRead),
    cacheWriteTokens: count(input.cacheWrite),
    reasoningTokens: count(reasoningTokens) ?? count(output.reasoning),
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  return { inputTokens: inputTotal, outputTokens: outputTotal, ...Object.fromEntries(given) };
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? value as number : undefined;
}
