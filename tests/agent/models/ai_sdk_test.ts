import { assert, assertEquals, AssertionError, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { fromAiSdk } from "../../../src/agent/models/ai_sdk.ts";
import { RECORD_SIZE_MAX } from "../../../src/agent/models/ai_sdk_record.ts";
import type { AiSdkModel } from "../../../src/agent/models/ai_sdk_shapes.ts";
import type { FinishReason, LlmFailure, StreamChunk } from "../../../src/event/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { assembled, call, chunksOf, finish, modelOf, type Part, requestOf, text, VERSIONS } from "./ai_sdk_support.ts";

function finishOf(chunks: readonly StreamChunk[]): FinishReason {
  const last = chunks.at(-1);
  if (last?.type !== "finish") throw new AssertionError(`ended with ${JSON.stringify(last)}`);
  return last.reason;
}

function failureOf(chunks: readonly StreamChunk[]): LlmFailure {
  const reason = finishOf(chunks);
  if (reason.kind !== "error") throw new AssertionError(`ended with ${JSON.stringify(reason)}`);
  return reason.failure;
}

Deno.test("fromAiSdk() refuses, when the model follows no version it knows", () => {
  for (const version of ["v1", "v5", ""]) {
    assertThrows(() => fromAiSdk(modelOf(version, [])), TypeError, `"${version}"`);
  }
  assertThrows(
    () => fromAiSdk("openai/small" as unknown as AiSdkModel),
    TypeError,
    "found specification version string",
  );
  assertThrows(() => fromAiSdk(null as unknown as AiSdkModel), TypeError, "wanted a language model");
  const image = { specificationVersion: "v4", provider: "p", modelId: "m" };
  assertThrows(() => fromAiSdk(image as unknown as AiSdkModel), TypeError, "wanted a language model");
});

Deno.test("fromAiSdk() takes its name from the model", () => {
  const { provider, id, contextWindow } = fromAiSdk(modelOf("v4", []), { contextWindow: 9 });
  assertEquals([provider, id, contextWindow], ["mine.chat", "small", 9]);
});

Deno.test("stream() gives the same chunks, whatever the version", async () => {
  const common: Part[] = [
    { type: "stream-start", warnings: [] },
    { type: "raw", rawValue: {} },
    { type: "reasoning-start", id: "0" },
    { type: "reasoning-delta", id: "0", delta: "hm" },
    { type: "reasoning-end", id: "0" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "" },
    { type: "text-delta", id: "0", delta: "so" },
    { type: "tool-input-start", id: "c1", toolName: "read" },
    { type: "tool-input-delta", id: "c1", delta: '{"a"' },
    { type: "tool-input-delta", id: "c1", delta: ":1}" },
    { type: "tool-input-end", id: "c1" },
    call("c1", "read", '{"a":1}'),
    call("c2", "other", "{}"),
    { type: "text-end", id: "0" },
    { type: "ping" },
    { type: "unheard-of" },
  ];
  const usages = {
    v2: { inputTokens: 7, outputTokens: 3, totalTokens: undefined, cachedInputTokens: 5, reasoningTokens: 1 },
    v3: {
      inputTokens: { total: 7, noCache: 2, cacheRead: 5, cacheWrite: undefined },
      outputTokens: { total: 3, text: 2, reasoning: 1 },
    },
  };
  for (const version of VERSIONS) {
    const usage = version === "v2" ? usages.v2 : usages.v3;
    const chunks = await chunksOf(version, [...common, { ...finish(version, "tool-calls"), usage }]);
    const last = chunks.pop();
    assertEquals(last?.type === "finish" && last.reason, { kind: "tool-calls" });
    assertEquals(chunks, [
      { type: "block-start", index: 0, blockType: "reasoning" },
      { type: "reasoning-delta", index: 0, text: "hm" },
      { type: "block-end", index: 0, block: { type: "reasoning", text: "hm" } },
      { type: "block-start", index: 1, blockType: "text" },
      { type: "text-delta", index: 1, text: "so" },
      { type: "block-start", index: 2, blockType: "tool-call" },
      { type: "tool-call-delta", index: 2, id: "c1", name: "read", argumentsDelta: "" },
      { type: "tool-call-delta", index: 2, id: "c1", argumentsDelta: '{"a"' },
      { type: "tool-call-delta", index: 2, id: "c1", argumentsDelta: ":1}" },
      { type: "block-end", index: 2, block: { type: "tool-call", id: "c1", name: "read", arguments: '{"a":1}' } },
      { type: "block-start", index: 3, blockType: "tool-call" },
      { type: "tool-call-delta", index: 3, id: "c2", name: "other", argumentsDelta: "{}" },
      { type: "block-end", index: 3, block: { type: "tool-call", id: "c2", name: "other", arguments: "{}" } },
      { type: "block-end", index: 1, block: { type: "text", text: "so" } },
      {
        type: "usage",
        usage: { inputTokens: 7, outputTokens: 3, cacheReadTokens: 5, reasoningTokens: 1 },
      },
    ]);
  }
});

Deno.test("stream() starts a new block, when the provider uses an id again or forgets to start or end one", async () => {
  const chunks = await chunksOf("v4", [
    ...text("1", "a"),
    ...text("1", "b"),
    { type: "text-start", id: "2" },
    { type: "text-delta", id: "2", delta: "c" },
    { type: "text-start", id: "2" },
    { type: "text-delta", id: "2", delta: "d" },
    { type: "reasoning-delta", id: "3", delta: "e" },
    { type: "text-end", id: "never begun" },
    { type: "text-start", id: "empty" },
    { type: "text-end", id: "empty" },
    finish("v4", "stop"),
  ]);
  assertEquals(assembled(chunks).content, [
    { type: "text", text: "a" },
    { type: "text", text: "b" },
    { type: "text", text: "c" },
    { type: "text", text: "d" },
    { type: "reasoning", text: "e" },
  ]);
});

Deno.test("stream() takes the provider's last word for the arguments, text or not", async () => {
  const chunks = await chunksOf("v2", [
    { type: "tool-input-start", id: "c1", toolName: "read" },
    { type: "tool-input-delta", id: "c1", delta: '{"a"' },
    call("c1", "read", '{"b":2}'),
    { type: "tool-call", toolCallId: "c2", toolName: "read", input: { c: 3 } },
    { type: "tool-call", toolCallId: "c3", toolName: "read" },
    finish("v2", "tool-calls"),
  ]);
  const calls = assembled(chunks).content.map((block) => block.type === "tool-call" && block.arguments);
  assertEquals(calls, ['{"b":2}', '{"c":3}', "{}"]);
});

Deno.test("stream() makes no block of what the provider runs by itself, and keeps it as it came", async () => {
  const executed = call("p1", "web_search", '{"q":"x"}', { providerExecuted: true });
  const sameName = call("p2", "read", "{}", { providerExecuted: true, dynamic: true });
  const asked: Part = { type: "tool-approval-request", approvalId: "a1", toolCallId: "p2" };
  const result = { type: "tool-result", toolCallId: "p1", toolName: "web_search", result: { hits: 1 } };
  const source = { type: "source", sourceType: "url", id: "s", url: "http://x" };
  for (const version of VERSIONS) {
    const chunks = await chunksOf(version, [
      ...text("0", "a"),
      { type: "tool-input-start", id: "p1", toolName: "web_search", providerExecuted: true },
      { type: "tool-input-delta", id: "p1", delta: '{"q":"x"}' },
      { type: "tool-input-end", id: "p1" },
      executed,
      { ...result, result: { hits: 0 }, preliminary: true },
      { ...result, result: { hits: 7 }, preliminary: true },
      result,
      source,
      ...text("1", "b"),
      sameName,
      asked,
      finish(version, "tool-calls"),
    ]);
    const { content, replayState, finish: reason } = assembled(chunks);
    assertEquals(content, [{ type: "text", text: "a" }, { type: "text", text: "b" }]);
    // Nothing for us to run.
    assertEquals(reason, { kind: "stop" });
    assertEquals((replayState?.response as Part).parts, [
      { before: 1, part: executed },
      { before: 1, part: result },
      { before: 1, part: source },
      { before: 2, part: sameName },
      { before: 2, part: asked },
    ]);
  }
});

Deno.test("stream() ends well, when the provider did something and the model said nothing", async () => {
  const chunks = await chunksOf("v4", [call("p1", "search", "{}", { providerExecuted: true }), finish("v4", "stop")]);
  assertEquals(finishOf(chunks), { kind: "stop" });
  assertEquals(assembled(chunks).content, []);
});

Deno.test("stream() fails and keeps the record, when a call is begun as ours and the provider then ran it", async () => {
  const executed = call("c1", "read", "{}", { providerExecuted: true });
  const chunks = await chunksOf("v4", [
    { type: "tool-input-start", id: "c1", toolName: "read" },
    executed,
    ...text("0", "never"),
    finish("v4", "stop"),
  ]);
  assertEquals(failureOf(chunks).code, "UNKNOWN");
  assertMatch(failureOf(chunks).message, /began call "c1" of read as one of ours and then ran it itself/);
  const { replayState } = assembled(chunks);
  assertEquals((replayState?.response as Part).parts, [{ before: 1, part: executed }]);
});

Deno.test("stream() fails, when a call of ours is begun and not finished, or begun twice", async () => {
  const begun = { type: "tool-input-start", id: "c1", toolName: "read" };
  const open = await chunksOf("v3", [begun, ...text("0", "x"), finish("v3", "tool-calls")]);
  assertMatch(failureOf(open).message, /began call c1 and never finished it/);
  assertMatch(failureOf(await chunksOf("v3", [begun, begun])).message, /began call "c1" twice/);
  // A call that the ceiling cut is not proposed at all.
  assertEquals(finishOf(await chunksOf("v3", [begun, finish("v3", "length")])), { kind: "max-tokens" });
  // A tool that we have not may be the provider's; it is ours once the call says so.
  const foreign = { type: "tool-input-start", id: "c1", toolName: "elsewhere" };
  assertEquals(finishOf(await chunksOf("v3", [foreign, ...text("0", "x"), finish("v3", "stop")])), { kind: "stop" });
});

Deno.test("stream() normalises the reason, whatever the version calls it", async () => {
  const table: readonly [string, string, string | undefined, string][] = [
    ["v2", "stop", undefined, "stop"],
    ["v2", "other", undefined, "stop"],
    ["v2", "unknown", undefined, "STREAM_CLOSED"],
    ["v2", "length", undefined, "max-tokens"],
    ["v2", "content-filter", undefined, "CONTENT_FILTER"],
    ["v2", "error", undefined, "UNKNOWN"],
    ["v3", "stop", "end_turn", "stop"],
    ["v3", "tool-calls", "tool_use", "stop"],
    ["v3", "other", "eos", "stop"],
    ["v3", "length", "max", "max-tokens"],
    ["v4", "interrupted", undefined, "STREAM_CLOSED"],
    ["v4", "content-filter", "safety", "CONTENT_FILTER"],
    ["v4", "error", "bad", "UNKNOWN"],
    ["v4", "stop", undefined, "stop"],
  ];
  for (const [version, unified, raw, expected] of table) {
    const reason = finishOf(await chunksOf(version, [...text("0", "x"), finish(version, unified, raw)]));
    assertEquals(reason.kind === "error" ? reason.failure.code : reason.kind, expected, `${version} ${unified} ${raw}`);
  }
  const cutOff = { ...finish("v3", ""), finishReason: { unified: "other", raw: undefined } };
  assertEquals(failureOf(await chunksOf("v3", [...text("0", "x"), cutOff])).code, "STREAM_CLOSED");
  assertEquals(failureOf(await chunksOf("v4", text("0", "x"))).code, "STREAM_CLOSED");
  assertEquals(failureOf(await chunksOf("v4", [finish("v4", "stop")])).code, "EMPTY_RESPONSE");
});

Deno.test("stream() keeps who answered, warnings, the reason's own word and metadata", async () => {
  const chunks = await chunksOf("v4", [
    { type: "stream-start", warnings: [{ type: "unsupported", feature: "topK" }] },
    { type: "response-metadata", id: "r1", timestamp: new Date(0), modelId: "small-2" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "x", providerMetadata: { mine: { sign: "s" }, empty: {} } },
    { type: "text-end", id: "0" },
    { ...finish("v4", "stop", "end_turn"), providerMetadata: { mine: { cost: 1 }, more: {} } },
  ]);
  assertEquals(assembled(chunks).replayState, {
    response: {
      id: "r1",
      model: "small-2",
      timestamp: "1970-01-01T00:00:00.000Z",
      finish: "end_turn",
      warnings: [{ type: "unsupported", feature: "topK" }],
      providerMetadata: { mine: { cost: 1 } },
    },
    blocks: [{ position: 0, type: "text", providerMetadata: { mine: { sign: "s" } } }],
  });
  // Nothing to keep, nothing kept.
  assertEquals(assembled(await chunksOf("v2", [...text("0", "x"), finish("v2", "stop")])).replayState, null);
});

Deno.test("stream() keeps files that the provider made, and fails with TOO_LARGE before they are too much", async () => {
  const file = (data: unknown) => ({ type: "file", mediaType: "image/png", data });
  const bytes = new Uint8Array([104, 105]);
  const chunks = await chunksOf("v3", [file(bytes), file("aGk="), ...text("0", "x"), finish("v3", "stop")]);
  const kept = { before: 0, part: file("aGk=") };
  assertEquals((assembled(chunks).replayState?.response as Part).parts, [kept, kept]);
  const large = await chunksOf("v3", [file("x".repeat(RECORD_SIZE_MAX)), ...text("0", "never"), finish("v3", "stop")]);
  assertEquals(failureOf(large).code, "TOO_LARGE");
  assertEquals(large.length, 1);
});

Deno.test("stream() fails with facts and yields nothing more, when an error comes in the stream", async () => {
  const error = Object.assign(new Error("slow down"), {
    name: "AI_APICallError",
    statusCode: 429,
    responseHeaders: {},
  });
  const chunks = await chunksOf("v4", [
    ...text("0", "x"),
    { type: "error", error },
    ...text("1", "y"),
    finish("v4", "stop"),
  ]);
  assertEquals(failureOf(chunks), { message: "HTTP 429: slow down", code: "RATE_LIMIT", status: 429 });
  assertEquals(assembled(chunks).content, [{ type: "text", text: "x" }]);
});

Deno.test("stream() fails with facts, when the model throws instead of answering", async () => {
  const error = Object.assign(new Error("no key"), { name: "AI_LoadAPIKeyError" });
  assertEquals(failureOf(await chunksOf("v4", error)), { message: "no key", code: "UNKNOWN" });
});

Deno.test("stream() fails with TIMEOUT and leaves the stream, when the provider falls silent", async () => {
  const clock = new FakeClock();
  let isCancelled = false;
  const stream = new ReadableStream<Part>({
    start: (controller) => text("0", "so").forEach((part) => controller.enqueue(part)),
    cancel: () => void (isCancelled = true),
  });
  const model = { ...modelOf("v4", []), doStream: () => Promise.resolve({ stream }) };
  const chunks: StreamChunk[] = [];
  const reading = (async () => {
    const signal = new AbortController().signal;
    const stream = fromAiSdk(model, { clock, idleTimeoutMs: 1000 }).stream(requestOf(), signal);
    for await (const chunk of stream) chunks.push(chunk);
  })();
  await clock.advance(1000);
  await reading;
  assertEquals(failureOf(chunks), { message: "the provider was silent for 1000 ms", code: "TIMEOUT" });
  assertEquals([isCancelled, clock.pendingTimers], [true, 0]);
});

Deno.test("stream() leaves a model that does not heed its signal, and cancels what it begins later", async () => {
  const begun = Promise.withResolvers<{ stream: ReadableStream<Part> }>();
  const model = { ...modelOf("v4", []), doStream: () => begun.promise };
  const clock = new FakeClock();
  const controller = new AbortController();
  const next = fromAiSdk(model, { clock }).stream(requestOf(), controller.signal)[Symbol.asyncIterator]().next();
  await settle();
  controller.abort(new Error("enough"));
  await assertRejects(() => next, Error, "enough");
  let isCancelled = false;
  begun.resolve({ stream: new ReadableStream({ cancel: () => void (isCancelled = true) }) });
  await settle();
  assertEquals([isCancelled, clock.pendingTimers], [true, 0]);
});

Deno.test("stream() passes its signal and the caller's options on, and keeps the model's this", async () => {
  class Strange {
    readonly specificationVersion = "v3";
    readonly provider = "mine.chat";
    readonly modelId = "small";
    readonly #parts = [...text("0", "x"), finish("v3", "stop")];
    call: Parameters<AiSdkModel["doStream"]>[0] | undefined;
    doStream(call: Parameters<AiSdkModel["doStream"]>[0]) {
      this.call = call;
      return Promise.resolve({ stream: ReadableStream.from<Part>(this.#parts) });
    }
  }
  const model = new Strange();
  const { signal } = new AbortController();
  const providerOptions = { mine: { store: false }, other: { x: 1 } };
  const request = requestOf([], { reasoningEffort: "low" });
  await Array.fromAsync(fromAiSdk(model, { providerOptions }).stream(request, signal));
  assert(model.call?.abortSignal === signal);
  assertEquals(model.call?.providerOptions, { mine: { store: false, reasoningEffort: "low" }, other: { x: 1 } });
});
