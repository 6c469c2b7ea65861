/**
 * Talks to any endpoint that speaks the chat-completions protocol with streaming, on `fetch` alone.
 *
 * One request of the loop is one HTTP request: nothing is retried here. Failures are facts in the stream's last chunk.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming
 * @module
 */
import type { LlmFailure, StreamChunk } from "../../event/mod.ts";
import type { Model, ModelRequest } from "../../model/model.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { ChatStream } from "./chat_stream.ts";
import { chatRequest } from "./chat_request.ts";
import { contextWindowFailure } from "./context_window.ts";
import { serverSentEvents } from "./server_sent_events.ts";
import { Silence } from "./silence.ts";

/** How long an endpoint may stay silent, in milliseconds, before the request fails with `TIMEOUT`. */
export const IDLE_TIMEOUT_MS = 300_000;
/** How many causes of a failure are told. */
const CAUSES_MAX = 5;
/** How much of an error response is read, in characters. */
const ERROR_BODY_SIZE_MAX = 4096;

/** Where and how to ask. */
export interface OpenAiCompatibleOptions {
  /** The model's name at the provider. */
  readonly model: string;
  /** Default "https://api.openai.com/v1". */
  readonly baseUrl?: string;
  /** Sent as a bearer token. Never part of a message, an error or the log. */
  readonly apiKey?: string;
  /** Sends the requests. It is called without a `this`. */
  readonly fetch: typeof globalThis.fetch;
  /** Times the endpoint's silence, and tells how far away a date in `Retry-After` is. */
  readonly clock: Clock;
  /** Default IDLE_TIMEOUT_MS. */
  readonly idleTimeoutMs?: number;
  /** Tokens of context, when known. Never sent to the endpoint. */
  readonly contextWindow?: number;
  /** The provider's name in the log. Default "openai". */
  readonly provider?: string;
}

/**
 * Makes a model that asks an OpenAI-compatible endpoint.
 *
 * Failure codes: `RATE_LIMIT` (429), `SERVER` (5xx), `TIMEOUT` (408, or silence), `TRANSPORT` (no or broken connection),
 * `STREAM_CLOSED` (ended before it was finished), `EMPTY_RESPONSE`, `CONTENT_FILTER`, else `UNKNOWN`.
 *
 * @example
 * ```ts
 * import { openAiCompatible } from "./openai_compatible.ts";
 *
 * const answer = 'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
 * const model = openAiCompatible({
 *   model: "small",
 *   fetch: () => Promise.resolve(new Response(answer, { headers: { "content-type": "text/event-stream" } })),
 *   clock: { now: () => 0, schedule: () => () => {} },
 * });
 * const request = { sessionId: "s", header: { config: { provider: "openai", model: "small" } }, messages: [] };
 * const chunks = await Array.fromAsync(model.stream(request, new AbortController().signal));
 * if (chunks.at(-1)?.type !== "finish") throw new Error("unreachable");
 * ```
 */
export function openAiCompatible(options: OpenAiCompatibleOptions): Model {
  return {
    provider: options.provider ?? "openai",
    id: options.model,
    contextWindow: options.contextWindow,
    stream: (request, signal) => answer(request, signal, options),
  };
}

async function* answer(
  request: ModelRequest,
  signal: AbortSignal,
  options: OpenAiCompatibleOptions,
): AsyncGenerator<StreamChunk> {
  const silence = new Silence(options.clock, options.idleTimeoutMs ?? IDLE_TIMEOUT_MS);
  const stream = new ChatStream();
  try {
    const response = await send(request, AbortSignal.any([signal, silence.signal]), options);
    if (!response.ok) return yield failed(await httpFailure(response, options));
    if (response.body === null || !isEventStream(response)) return yield failed(await notAStream(response, options));
    for await (const data of serverSentEvents(response.body)) {
      silence.heard();
      if (data === "[DONE]") {
        stream.sawDone = true;
        break;
      }
      yield* stream.add(data);
      if (stream.hasFailed) return;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // A connection that breaks after the model said why it stopped took nothing from the answer.
    if (!stream.isFinished) return yield failed(silence.failure() ?? transport(error, options));
  } finally {
    silence.end();
  }
  yield* stream.end();
}

function send(request: ModelRequest, signal: AbortSignal, options: OpenAiCompatibleOptions): Promise<Response> {
  const url = `${baseUrlOf(options)}/chat/completions`;
  const headers: Record<string, string> = { "content-type": "application/json", accept: "text/event-stream" };
  if (options.apiKey !== undefined) headers.authorization = `Bearer ${options.apiKey}`;
  // Detached on purpose: a browser's fetch refuses to be called as a method of something else.
  const { fetch: post } = options;
  return post(url, { method: "POST", headers, body: JSON.stringify(chatRequest(request)), signal });
}

function baseUrlOf({ baseUrl = "https://api.openai.com/v1" }: OpenAiCompatibleOptions): string {
  return baseUrl.replace(/\/+$/, "");
}

function failed(failure: LlmFailure): StreamChunk {
  return { type: "finish", reason: { kind: "error", failure } };
}

function isEventStream(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").toLowerCase().includes("text/event-stream");
}

function transport(error: unknown, options: OpenAiCompatibleOptions): LlmFailure {
  // "fetch failed" says nothing; its causes do.
  const found = [error, ...causesOf(error)].map((each) => each instanceof Error ? each.message : String(each));
  const text = [...new Set(found)].join(": ");
  return { message: withoutKey(`no answer from ${baseUrlOf(options)}: ${text}`, options), code: "TRANSPORT" };
}

/** What an error was caused by, nearest first; at most CAUSES_MAX. */
function* causesOf(error: unknown): Generator<unknown, void, undefined> {
  for (let depth = 0; depth < CAUSES_MAX && error instanceof Error && error.cause !== undefined; depth++) {
    yield error = error.cause;
  }
}

async function notAStream(response: Response, options: OpenAiCompatibleOptions): Promise<LlmFailure> {
  const type = response.headers.get("content-type") ?? "no content type";
  const text = await errorText(response);
  return {
    message: withoutKey(`the provider answered ${type} instead of an event stream: ${text}`, options),
    code: "UNKNOWN",
    status: response.status,
    ...requestId(response),
  };
}

async function httpFailure(response: Response, options: OpenAiCompatibleOptions): Promise<LlmFailure> {
  const { status } = response;
  const text = await errorText(response);
  return contextWindowFailure({
    message: withoutKey(`HTTP ${status}: ${text}`, options),
    code: status === 429 ? "RATE_LIMIT" : status === 408 ? "TIMEOUT" : status >= 500 ? "SERVER" : "UNKNOWN",
    ...(status >= 100 && status <= 599 ? { status } : {}),
    ...retryAfter(response, options.clock),
    ...requestId(response),
  });
}

/** The provider's own words, when it used the usual shape; else the start of the body. */
async function errorText(response: Response): Promise<string> {
  let text = "";
  try {
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    while (reader !== undefined && text.length < ERROR_BODY_SIZE_MAX) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    reader?.cancel().catch(() => {});
  } catch {
    // What was read so far says more than the broken connection does.
  }
  try {
    const parsed = JSON.parse(text) as { error?: { message?: unknown } | string } | null;
    const found = typeof parsed?.error === "string" ? parsed.error : parsed?.error?.message;
    if (typeof found === "string") return found.slice(0, ERROR_BODY_SIZE_MAX);
  } catch {
    // Not JSON: the text itself is the message.
  }
  return text.slice(0, ERROR_BODY_SIZE_MAX).trim() || "no further text";
}

/** @see RFC 9110 §10.2.3: seconds, or a date. */
function retryAfter(response: Response, clock: Clock): { providerRetryAfterMs?: number } {
  const value = response.headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return {};
  const delayMs = /^\d+(\.\d+)?$/.test(value) ? Math.ceil(Number(value) * 1000) : Date.parse(value) - clock.now();
  return Number.isSafeInteger(delayMs) && delayMs > 0 ? { providerRetryAfterMs: delayMs } : {};
}

function requestId(response: Response): { requestId?: string } {
  const id = response.headers.get("x-request-id");
  return id === null || id === "" ? {} : { requestId: id };
}

function withoutKey(text: string, options: OpenAiCompatibleOptions): string {
  return options.apiKey ? text.replaceAll(options.apiKey, "***") : text;
}
