import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openAiCompatible, type OpenAiCompatibleOptions } from "../../../src/agent/models/openai_compatible.ts";
import type { Block, LlmFailure, StreamChunk } from "../../../src/event/mod.ts";
import type { ModelRequest } from "../../../src/model/model.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { type Answer, DONE, event, serveAnswers, type SseServer } from "./sse_server.ts";

const REQUEST: ModelRequest = {
  sessionId: "s1",
  header: { config: { provider: "openai", model: "small" } },
  messages: [{ id: "m1", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } }],
};

function modelOf(server: SseServer, options: Partial<OpenAiCompatibleOptions> = {}) {
  return openAiCompatible({ model: "small", baseUrl: server.baseUrl, fetch, clock: new FakeClock(), ...options });
}

async function answerTo(answer: Answer, options: Partial<OpenAiCompatibleOptions> = {}): Promise<StreamChunk[]> {
  await using server = serveAnswers(answer);
  return await Array.fromAsync(modelOf(server, options).stream(REQUEST, new AbortController().signal));
}

function blocks(chunks: readonly StreamChunk[]): Block[] {
  return chunks.flatMap((chunk) => chunk.type === "block-end" ? [chunk.block] : []);
}

function failure(chunks: readonly StreamChunk[]): LlmFailure {
  const last = chunks.at(-1);
  assert(last?.type === "finish" && last.reason.kind === "error", `ended with ${JSON.stringify(last)}`);
  return last.reason.failure;
}

Deno.test("stream() gives text, usage and a finish, when the answer is plain", async () => {
  const usage = {
    prompt_tokens: 7,
    completion_tokens: 2,
    total_tokens: 9,
    prompt_tokens_details: { cached_tokens: 3 },
  };
  const chunks = await answerTo({
    pieces: [
      event({ role: "assistant", content: "" }),
      event({ content: "hel" }),
      event({ content: "lo" }),
      event({}, "stop"),
      `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
      DONE,
    ],
  });
  assertEquals(chunks, [
    { type: "block-start", index: 0, blockType: "text" },
    { type: "text-delta", index: 0, text: "hel" },
    { type: "text-delta", index: 0, text: "lo" },
    { type: "block-end", index: 0, block: { type: "text", text: "hello" } },
    { type: "usage", usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9, cacheReadTokens: 3 } },
    { type: "finish", reason: { kind: "stop" } },
  ]);
});

Deno.test("stream() reads the same answer, when the network cuts it at any byte", async () => {
  const bytes = new TextEncoder().encode(
    `: comment\r\n\r\n${event({ content: "grün 🐳" }).replaceAll("\n", "\r\n")}${
      event({ content: "!" }, "stop")
    }${DONE}`,
  );
  for (let cut = 1; cut < bytes.length; cut++) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.subarray(0, cut));
        controller.enqueue(bytes.subarray(cut));
        controller.close();
      },
    });
    const model = openAiCompatible({
      model: "small",
      clock: new FakeClock(),
      fetch: () => Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } })),
    });
    const chunks = await Array.fromAsync(model.stream(REQUEST, new AbortController().signal));
    assertEquals(blocks(chunks), [{ type: "text", text: "grün 🐳!" }], `cut at ${cut}`);
  }
});

Deno.test("stream() joins pieces that end inside a character and inside JSON, when a server sends them so", async () => {
  const bytes = new TextEncoder().encode(event({ content: "grün 🐳" }) + event({}, "stop") + DONE);
  const inside = bytes.indexOf(0x9f); // the second byte of the whale
  const chunks = await answerTo({ pieces: [bytes.subarray(0, inside), bytes.subarray(inside)] });
  assertEquals(blocks(chunks), [{ type: "text", text: "grün 🐳" }]);
});

Deno.test("stream() assembles calls from deltas, when two of them interleave", async () => {
  const call = (index: number, rest: Record<string, unknown>) => ({ tool_calls: [{ index, ...rest }] });
  const chunks = await answerTo({
    pieces: [
      event({ content: "calling" }),
      event(call(0, { id: "c1", type: "function", function: { name: "read", arguments: "" } })),
      event(call(1, { id: "c2", function: { name: "list", arguments: '{"di' } })),
      event(call(0, { function: { arguments: '{"path":"a"}' } })),
      event(call(1, { function: { arguments: 'r":"."}' } })),
      event({}, "tool_calls"),
      DONE,
    ],
  });
  assertEquals(blocks(chunks), [
    { type: "text", text: "calling" },
    { type: "tool-call", id: "c1", name: "read", arguments: '{"path":"a"}' },
    { type: "tool-call", id: "c2", name: "list", arguments: '{"dir":"."}' },
  ]);
  assertEquals(chunks.at(-1), { type: "finish", reason: { kind: "tool-calls" } });
  // The name comes once, and every delta carries the id, as the log keeps them.
  const deltas = chunks.filter((chunk) => chunk.type === "tool-call-delta" && chunk.index === 2);
  assertEquals(deltas, [
    { type: "tool-call-delta", index: 2, id: "c2", name: "list", argumentsDelta: '{"di' },
    { type: "tool-call-delta", index: 2, id: "c2", argumentsDelta: 'r":"."}' },
  ]);
});

Deno.test("stream() keeps calls apart, when the provider leaves ids or positions out or says stop", async () => {
  const withoutPosition = await answerTo({
    pieces: [
      event({ tool_calls: [{ id: "a", function: { name: "x", arguments: "{" } }] }),
      event({ tool_calls: [{ id: "a", function: { arguments: "}" } }] }),
      event({ tool_calls: [{ id: "b", function: { name: "y", arguments: { k: 1 } } }] }, "stop"),
      DONE,
    ],
  });
  assertEquals(blocks(withoutPosition), [
    { type: "tool-call", id: "a", name: "x", arguments: "{}" },
    { type: "tool-call", id: "b", name: "y", arguments: '{"k":1}' },
  ]);
  assertEquals(withoutPosition.at(-1), { type: "finish", reason: { kind: "tool-calls" } });
  const withoutId = await answerTo({
    pieces: [event({ tool_calls: [{ index: 0, function: { name: "x", arguments: "{}" } }] }, "tool_calls"), DONE],
  });
  assertEquals(blocks(withoutId), [{ type: "tool-call", id: "", name: "x", arguments: "{}" }]);
});

Deno.test("stream() gives reasoning its own block, when the provider sends reasoning_content", async () => {
  const chunks = await answerTo({
    pieces: [
      event({ reasoning_content: "let me " }),
      event({ reasoning_content: "think" }),
      event({ content: "four" }, "stop"),
      DONE,
    ],
  });
  assertEquals(blocks(chunks), [{ type: "reasoning", text: "let me think" }, { type: "text", text: "four" }]);
  assertEquals(chunks.filter((chunk) => chunk.type === "reasoning-delta").length, 2);
});

Deno.test("stream() says max-tokens, when the provider says length", async () => {
  const chunks = await answerTo({ pieces: [event({ content: "and so" }, "length"), DONE] });
  assertEquals(chunks.at(-1), { type: "finish", reason: { kind: "max-tokens" } });
});

Deno.test("stream() fails with RATE_LIMIT and the wait, when it gets 429 with Retry-After", async () => {
  const body = JSON.stringify({ error: { message: "slow down, sk-secret", type: "rate" } });
  const headers = { "content-type": "application/json", "retry-after": "2", "x-request-id": "r-9" };
  const found = failure(await answerTo({ status: 429, headers, pieces: [body] }, { apiKey: "sk-secret" }));
  assertEquals(found, {
    message: "HTTP 429: slow down, ***",
    code: "RATE_LIMIT",
    status: 429,
    providerRetryAfterMs: 2000,
    requestId: "r-9",
  });
  const clock = new FakeClock(Date.parse("Wed, 21 Oct 2015 07:28:00 GMT"));
  const date = { "content-type": "text/plain", "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT" };
  assertEquals(failure(await answerTo({ status: 429, headers: date }, { clock })).providerRetryAfterMs, 30_000);
  const past = { "content-type": "text/plain", "retry-after": "Wed, 21 Oct 2015 07:27:30 GMT" };
  assertEquals(failure(await answerTo({ status: 429, headers: past }, { clock })).providerRetryAfterMs, undefined);
});

Deno.test("stream() fails with SERVER, TIMEOUT or UNKNOWN and the provider's words, when it gets another status", async () => {
  const text = { "content-type": "text/html" };
  assertEquals(failure(await answerTo({ status: 503, headers: text, pieces: ["<h1>down</h1>"] })), {
    message: "HTTP 503: <h1>down</h1>",
    code: "SERVER",
    status: 503,
  });
  assertEquals(failure(await answerTo({ status: 408, headers: text })).code, "TIMEOUT");
  const unauthorised = failure(await answerTo({ status: 401, headers: text, pieces: ["x".repeat(10_000)] }));
  assertEquals(unauthorised.code, "UNKNOWN");
  assert(unauthorised.message.length < 5000);
});

Deno.test("stream() fails, when a failure comes inside the stream", async () => {
  const inside = `data: ${JSON.stringify({ error: { message: "overloaded", code: 503 } })}\n\n`;
  const found = await answerTo({ pieces: [event({ content: "so far" }), inside, event({ content: "never" })] });
  assertEquals(failure(found), { message: "overloaded", code: "SERVER", status: 503 });
  assertEquals(failure(await answerTo({ pieces: ["data: {broken\n\n"] })).code, "TRANSPORT");
});

Deno.test("stream() fails with TRANSPORT, when the connection breaks in the middle", async () => {
  const found = await answerTo({ pieces: [event({ content: "half" })], then: "break" });
  assertEquals(failure(found).code, "TRANSPORT");
  assertEquals(blocks(found), []);
});

Deno.test("stream() keeps the answer, when the connection breaks after the model finished", async () => {
  const found = await answerTo({ pieces: [event({ content: "whole" }, "stop")], then: "break" });
  assertEquals(found.at(-1), { type: "finish", reason: { kind: "stop" } });
  assertEquals(blocks(found), [{ type: "text", text: "whole" }]);
});

Deno.test("stream() fails with STREAM_CLOSED and closes no block, when the stream ends without a finish", async () => {
  const found = await answerTo({
    pieces: [event({ tool_calls: [{ index: 0, id: "c1", function: { name: "pay" } }] })],
  });
  assertEquals(failure(found).code, "STREAM_CLOSED");
  assertEquals(blocks(found), []);
});

Deno.test("stream() fails with EMPTY_RESPONSE, when the provider answers nothing", async () => {
  assertEquals(failure(await answerTo({ pieces: [event({ content: "" }, "stop"), DONE] })).code, "EMPTY_RESPONSE");
  assertEquals(failure(await answerTo({ pieces: [DONE] })).code, "EMPTY_RESPONSE");
});

Deno.test("stream() refuses, when the answer is no event stream or the filter ended it", async () => {
  const json = await answerTo({ headers: { "content-type": "application/json" }, pieces: ['{"choices":[]}'] });
  assertStringIncludes(failure(json).message, "application/json instead of an event stream");
  assertEquals(failure(await answerTo({ pieces: [event({}, "content_filter"), DONE] })).code, "CONTENT_FILTER");
});

Deno.test("stream() fails with TRANSPORT, when nobody listens", async () => {
  await using server = serveAnswers({});
  const model = modelOf(server);
  await server[Symbol.asyncDispose]();
  assertEquals(failure(await Array.fromAsync(model.stream(REQUEST, new AbortController().signal))).code, "TRANSPORT");
});

Deno.test("stream() fails with TIMEOUT, when the provider falls silent", async () => {
  await using server = serveAnswers({ pieces: [event({ content: "so" })], then: "hang" });
  const clock = new FakeClock();
  const stream = modelOf(server, { clock, idleTimeoutMs: 1000 }).stream(REQUEST, new AbortController().signal);
  const chunks: StreamChunk[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    if (chunk.type === "text-delta") void clock.advance(1000);
  }
  assertEquals(failure(chunks), { message: "the provider was silent for 1000 ms", code: "TIMEOUT" });
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("stream() throws the reason and leaves no timer, when its signal aborts", async () => {
  await using server = serveAnswers({ pieces: [event({ content: "so" })], then: "hang" });
  const clock = new FakeClock();
  const controller = new AbortController();
  const reason = new Error("enough");
  await assertRejects(
    async () => {
      for await (const chunk of modelOf(server, { clock }).stream(REQUEST, controller.signal)) {
        if (chunk.type === "text-delta") controller.abort(reason);
      }
    },
    Error,
    "enough",
  );
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("stream() asks nothing, before the first pull", async () => {
  await using server = serveAnswers({ pieces: [event({ content: "x" }, "stop"), DONE] });
  const stream = modelOf(server).stream(REQUEST, new AbortController().signal);
  assertEquals(server.bodies.length, 0);
  await Array.fromAsync(stream);
  assertEquals(server.bodies.length, 1);
});

Deno.test("stream() sends the conversation in the protocol's words, with the key in the header only", async () => {
  await using server = serveAnswers({ pieces: [event({ content: "x" }, "stop"), DONE] });
  const request: ModelRequest = {
    sessionId: "s1",
    header: {
      config: { provider: "openai", model: "small", temperature: 0.5, maxTokens: 9, stop: ["END"] },
      tools: [{ name: "read", description: "reads", parameters: { type: "object" } }],
    },
    messages: [
      { id: "m0", role: "system", content: [{ type: "text", text: "be kind" }], source: { kind: "plugin" } },
      { id: "m1", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } },
      {
        id: "m2",
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm" },
          { type: "text", text: "calling" },
          { type: "tool-call", id: "c1", name: "read", arguments: "" },
        ],
        source: { kind: "model" },
      },
      {
        id: "m3",
        role: "user",
        content: [{
          type: "tool-result",
          toolCallId: "c1",
          content: [{ type: "text", text: "found" }],
          isError: false,
        }],
        source: { kind: "tool", callId: "c1" },
      },
      { id: "m4", role: "assistant", content: [{ type: "reasoning", text: "only" }], source: { kind: "model" } },
    ],
  };
  await Array.fromAsync(modelOf(server, { apiKey: "sk-1" }).stream(request, new AbortController().signal));
  assertEquals(server.headers[0]?.get("authorization"), "Bearer sk-1");
  assertEquals(server.bodies[0], {
    model: "small",
    messages: [
      { role: "system", content: "be kind" },
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: "calling",
        tool_calls: [{ id: "c1", type: "function", function: { name: "read", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "found" },
    ],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.5,
    max_tokens: 9,
    stop: ["END"],
    tools: [{ type: "function", function: { name: "read", description: "reads", parameters: { type: "object" } } }],
  });
});

Deno.test("stream() reads a huge delta, when the provider sends one", async () => {
  const huge = "x".repeat(2_000_000);
  const chunks = await answerTo({ pieces: [event({ content: huge }, "stop"), DONE] });
  assertEquals((blocks(chunks)[0] as { text: string }).text.length, huge.length);
});
