/**
 * Makes a model of ours from any language model of the AI SDK, without importing the SDK.
 *
 * The loop of the SDK is not used: it would run tools by itself, past every barrier. One request of our loop is one `doStream`.
 *
 * @see AI SDK, package `@ai-sdk/provider`, Language Model specification 2, 3 and 4
 * @module
 */
import type { FinishReason, StreamChunk } from "../../event/mod.ts";
import type { Model, ModelRequest } from "../../model/model.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { untilAborted } from "../../writer/until_aborted.ts";
import { aiSdkFailure } from "./ai_sdk_failure.ts";
import { aiSdkCall, UnsupportedContent } from "./ai_sdk_prompt.ts";
import type { AiSdkCall, AiSdkModel, AiSdkVersion } from "./ai_sdk_shapes.ts";
import { AiSdkStream } from "./ai_sdk_stream.ts";
import { IDLE_TIMEOUT_MS } from "./openai_compatible.ts";
import { Silence } from "./silence.ts";

/** What an AI SDK model does not say about itself. */
export interface AiSdkOptions {
  /** Tokens of context, when known. */
  readonly contextWindow?: number;
  /** Makes a silent provider fail with `TIMEOUT`. Without it, only the caller's signal ends the waiting. */
  readonly clock?: Clock;
  /** Default IDLE_TIMEOUT_MS. */
  readonly idleTimeoutMs?: number;
  /** Sent with every request as it is, such as `{ openai: { store: false } }`. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const VERSIONS: Readonly<Record<string, AiSdkVersion>> = { v2: 2, v3: 3, v4: 4 };

/**
 * Makes a model that asks through a model of the AI SDK.
 *
 * Text, reasoning and calls of our tools become blocks, and only such calls are ever run. What the provider runs by itself, its
 * results, the approvals it asks for, sources, files it made and metadata it wants back are kept in `replayState` of the
 * message's source: `{response: {id, model, timestamp, finish, warnings, providerMetadata, parts}, blocks}`. All of it goes back
 * to the same model with the next request; an approval goes back refused. A request that is cancelled keeps no `replayState`.
 *
 * Failure codes: `RATE_LIMIT` (429), `SERVER` (5xx), `TIMEOUT` (408, or silence), `TRANSPORT` (no or broken connection),
 * `STREAM_CLOSED` (ended before the model said why; in version 2 also a reason it has no word for), `EMPTY_RESPONSE`,
 * `CONTENT_FILTER`, `UNSUPPORTED_CONTENT` (an image or a file that is only a reference; nothing was sent), `TOO_LARGE`,
 * `ABORTED` (by the provider), else `UNKNOWN`. The SDK's providers retry nothing by themselves at this level.
 *
 * @throws {TypeError} when the model follows another version of the specification
 *
 * @example
 * ```ts
 * import { fromAiSdk } from "./ai_sdk.ts";
 *
 * const parts = [
 *   { type: "text-start", id: "1" },
 *   { type: "text-delta", id: "1", delta: "hi" },
 *   { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} },
 * ];
 * const model = fromAiSdk({
 *   specificationVersion: "v4",
 *   provider: "mine",
 *   modelId: "small",
 *   doStream: () => Promise.resolve({ stream: ReadableStream.from(parts) }),
 * });
 * const request = { sessionId: "s", header: { config: { provider: "mine", model: "small" } }, messages: [] };
 * const chunks = await Array.fromAsync(model.stream(request, new AbortController().signal));
 * if (chunks.at(-1)?.type !== "finish") throw new Error("unreachable");
 * ```
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  const version = VERSIONS[model?.specificationVersion];
  if (version === undefined || typeof model.doStream !== "function") {
    const found = typeof model === "object" && model !== null ? `"${model.specificationVersion}"` : typeof model;
    throw new TypeError(
      `Cannot use a model of the AI SDK: found specification version ${found}, wanted a language model of "v2", "v3" or "v4"`,
    );
  }
  return {
    provider: model.provider,
    id: model.modelId,
    contextWindow: options.contextWindow,
    stream: (request, signal) => answer(request, signal, { model, version, ...options }),
  };
}

interface Context extends AiSdkOptions {
  readonly model: AiSdkModel;
  readonly version: AiSdkVersion;
}

async function* answer(request: ModelRequest, signal: AbortSignal, context: Context): AsyncGenerator<StreamChunk> {
  signal.throwIfAborted();
  const { model, version, clock, idleTimeoutMs = IDLE_TIMEOUT_MS } = context;
  const silence = clock === undefined ? null : new Silence(clock, idleTimeoutMs);
  const toolNames = new Set(request.header.tools?.map(({ name }) => name));
  const stream = new AiSdkStream(version, toolNames, (error) => reasonOf(error, silence, clock));
  try {
    const either = silence === null ? signal : AbortSignal.any([signal, silence.signal]);
    const call = aiSdkCall(request, { version, provider: model.provider, model: model.modelId });
    for await (const part of partsOf(model, withOptions(call, either, context), either)) {
      silence?.heard();
      if (signal.aborted) throw signal.reason;
      yield* stream.add(part);
      if (stream.isOver) return;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return yield stream.fail(error);
  } finally {
    silence?.end();
  }
  yield stream.close();
}

function reasonOf(error: unknown, silence: Silence | null, clock: Clock | undefined): FinishReason {
  const silent = silence?.failure() ?? null;
  if (silent !== null) return { kind: "error", failure: silent };
  if (!(error instanceof UnsupportedContent)) return aiSdkFailure(error, clock);
  return { kind: "error", failure: { message: error.message, code: "UNSUPPORTED_CONTENT" } };
}

function withOptions(call: AiSdkCall, abortSignal: AbortSignal, { providerOptions }: AiSdkOptions): AiSdkCall {
  const both = { ...providerOptions };
  for (const [provider, own] of Object.entries(call.providerOptions ?? {})) {
    both[provider] = { ...both[provider], ...own as Record<string, unknown> };
  }
  return { ...call, abortSignal, ...(Object.keys(both).length > 0 ? { providerOptions: both } : {}) };
}

/** What the model yields. A model that does not heed the signal is left behind, and what it still begins is cancelled. */
async function* partsOf(model: AiSdkModel, call: AiSdkCall, signal: AbortSignal): AsyncGenerator<unknown> {
  // In a function of its own, so that a throw before the first promise is a rejection too.
  const begun = (async () => await model.doStream(call))();
  begun.then(({ stream }) => signal.aborted && !stream.locked ? stream.cancel() : undefined).catch(() => {});
  const { stream } = await untilAborted(begun, signal);
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await untilAborted(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // A stream that already broke rejects here too; its reason was thrown by read().
    reader.cancel().catch(() => {});
  }
}
