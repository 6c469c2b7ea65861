/**
 * The promises of the model port, for every model that asks an endpoint of the chat-completions protocol, as plain data.
 *
 * The endpoint behaves like real ones do at their worst: it cuts the stream anywhere, leaves things out, breaks off, refuses and
 * falls silent. One request of the port is always one request to the endpoint.
 *
 * @module
 */
import type { Block, FinishReason, JsonObject, LlmFailure, StreamChunk, Usage } from "../event/mod.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import { check, checkEquals, type ContractCase } from "./check.ts";

/** What the endpoint does with one request. */
export interface EndpointAnswer {
  /** Default 200. */
  readonly status?: number;
  /** Default: the content type of an event stream. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Written one after the other, each as a write of its own. */
  readonly pieces?: readonly (string | Uint8Array)[];
  /** After the pieces: end well (default), break the connection, or say nothing more. */
  readonly then?: "end" | "break" | "hang";
}

/** A model, and the endpoint it asks. */
export interface ServedModel extends AsyncDisposable {
  /** Named "small" at the endpoint. */
  readonly model: Model;
  /** The bodies that arrived so far. */
  readonly requests: readonly JsonObject[];
  /** Resolves when somebody leaves before the answer is over. */
  readonly left: Promise<void>;
}

/** What a runner gives a case. */
export interface ModelContractContext {
  /** Starts an endpoint that gives these answers in turn, and the last one for ever. */
  readonly serve: (...answers: readonly EndpointAnswer[]) => Promise<ServedModel>;
}

const REQUEST: ModelRequest = {
  sessionId: "s1",
  header: { config: { provider: "contract", model: "small" } },
  messages: [{ id: "m1", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } }],
};

const DONE = "data: [DONE]\n\n";

/** One event of the protocol. */
function event(delta: JsonObject, finish: string | null = null, more: JsonObject = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "answer-1", model: "small", choices, ...more })}\n\n`;
}

function call(index: number, rest: JsonObject): JsonObject {
  return { tool_calls: [{ index, type: "function", ...rest }] };
}

/** Asks once and checks what holds for every answer. */
async function ask(
  context: ModelContractContext,
  answer: EndpointAnswer,
  request: ModelRequest = REQUEST,
): Promise<StreamChunk[]> {
  const served = await context.serve(answer);
  try {
    const chunks = await Array.fromAsync(served.model.stream(request, new AbortController().signal));
    checkEquals(served.requests.length, 1, "one request of the port is one request to the endpoint");
    checkGrammar(chunks);
    return chunks;
  } finally {
    await served[Symbol.asyncDispose]();
  }
}

function answered(context: ModelContractContext, ...pieces: (string | Uint8Array)[]): Promise<StreamChunk[]> {
  return ask(context, { pieces });
}

/** A block begins before its deltas and ends after them, as what they add up to; one finish ends it all. */
function checkGrammar(chunks: readonly StreamChunk[]): void {
  const open = new Map<number, string[]>();
  let begun = 0;
  chunks.forEach((chunk, position) => {
    const isLast = position === chunks.length - 1;
    checkEquals(
      chunk.type === "finish",
      isLast,
      `chunk ${position} of ${chunks.length}: one finish, and it is the last`,
    );
    if (chunk.type === "block-start") {
      checkEquals(chunk.index, begun++, "blocks are numbered in the order they begin");
      open.set(chunk.index, []);
    } else if ("index" in chunk) {
      const pieces = open.get(chunk.index);
      check(pieces !== undefined, `chunk ${position} (${chunk.type}) belongs to an open block`);
      if (chunk.type === "block-end") {
        open.delete(chunk.index);
        checkEquals(said(chunk.block), pieces.join(""), "a block is what its deltas add up to");
      } else pieces.push(chunk.type === "tool-call-delta" ? chunk.argumentsDelta : chunk.text);
    }
  });
  const { kind } = finishOf(chunks);
  if (kind === "stop" || kind === "tool-calls") checkEquals(open.size, 0, "every block has ended");
}

function said(block: Block): string {
  return block.type === "tool-call" ? block.arguments : "text" in block ? block.text : "";
}

function blocks(chunks: readonly StreamChunk[]): Block[] {
  return chunks.flatMap((chunk) => chunk.type === "block-end" ? [chunk.block] : []);
}

function finishOf(chunks: readonly StreamChunk[]): FinishReason {
  const last = chunks.at(-1);
  check(last?.type === "finish", `the stream ends with a finish, found ${JSON.stringify(last)}`);
  return last.reason;
}

function failureOf(chunks: readonly StreamChunk[]): LlmFailure {
  const reason = finishOf(chunks);
  check(reason.kind === "error", `the request fails, found ${JSON.stringify(reason)}`);
  return reason.failure;
}

function usageOf(chunks: readonly StreamChunk[]): Usage | undefined {
  return chunks.flatMap((chunk) => chunk.type === "usage" ? [chunk.usage] : [])[0];
}

async function checkFailure(
  context: ModelContractContext,
  answer: EndpointAnswer,
  expected: { readonly code: string; readonly says?: string } & Partial<LlmFailure>,
): Promise<void> {
  const { message, ...facts } = failureOf(await ask(context, answer));
  const { says = "", ...rest } = expected;
  checkEquals<unknown>(facts, rest, "the facts of the failure");
  check(message.includes(says) && message !== "", `the message says "${says}", found "${message}"`);
}

/** An HTTP failure in the usual shape. */
function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): EndpointAnswer {
  const pieces = [JSON.stringify({ error: { message, type: "t", param: null, code: null } })];
  return { status, headers: { "content-type": "application/json", ...headers }, pieces };
}

/** The contract. Run each case with a fresh context. */
export const modelContract: readonly ContractCase<ModelContractContext>[] = [
  {
    name: "stream() gives a text in one block and stops, when the answer is plain",
    async run(context) {
      const chunks = await answered(
        context,
        event({ role: "assistant", content: "" }),
        event({ content: "hel" }),
        event({ content: "lo" }),
        event({}, "stop"),
        DONE,
      );
      checkEquals(blocks(chunks), [{ type: "text", text: "hello" }]);
      checkEquals(finishOf(chunks), { kind: "stop" });
      const deltas = chunks.flatMap((chunk) => chunk.type === "text-delta" ? [chunk.text] : []);
      checkEquals(deltas, ["hel", "lo"], "each delta is passed on");
    },
  },
  {
    name: "stream() reads the same answer, when every byte arrives alone, inside characters and inside JSON",
    async run(context) {
      const text = event({ reasoning_content: "hm…" }) + event({ content: "grün 🐳" }).replaceAll("\n", "\r\n") +
        event(call(0, { id: "c1", function: { name: "read", arguments: '{"path":"naïve"}' } })) +
        event({}, "tool_calls") + DONE;
      const bytes = new TextEncoder().encode(text);
      const chunks = await answered(context, ...Array.from(bytes, (byte) => Uint8Array.of(byte)));
      checkEquals(blocks(chunks), [
        { type: "reasoning", text: "hm…" },
        { type: "text", text: "grün 🐳" },
        { type: "tool-call", id: "c1", name: "read", arguments: '{"path":"naïve"}' },
      ]);
    },
  },
  {
    name: "stream() reads one answer from one write, with comments and several events in it",
    async run(context) {
      const text = `: hello\n\n${event({ content: "a" })}: still there\n\n${event({ content: "b" }, "stop")}${DONE}`;
      checkEquals(blocks(await answered(context, text)), [{ type: "text", text: "ab" }]);
    },
  },
  {
    name: "stream() gives the usage, when it comes after the finish",
    async run(context) {
      const usage = {
        prompt_tokens: 70,
        completion_tokens: 20,
        total_tokens: 90,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 5 },
      };
      const last = `data: ${JSON.stringify({ id: "answer-1", choices: [], usage })}\n\n`;
      const chunks = await answered(context, event({ content: "x" }, "stop"), last, DONE);
      const { totalTokens, ...found } = usageOf(chunks)!;
      checkEquals(found, { inputTokens: 70, outputTokens: 20, cacheReadTokens: 64, reasoningTokens: 5 });
      // Not every specification has a place for it.
      check(totalTokens === undefined || totalTokens === 90, `the total is 90 or not said, found ${totalTokens}`);
    },
  },
  {
    name: "stream() invents no usage, when there is none",
    async run(context) {
      checkEquals(usageOf(await answered(context, event({ content: "x" }, "stop"), DONE)), undefined);
    },
  },
  {
    name: "stream() gives reasoning in a block before the text",
    async run(context) {
      const chunks = await answered(
        context,
        event({ reasoning_content: "let me " }),
        event({ reasoning_content: "see" }),
        event({ content: "yes" }),
        event({}, "stop"),
        DONE,
      );
      checkEquals(blocks(chunks).toSorted((left, right) => left.type < right.type ? -1 : 1), [
        { type: "reasoning", text: "let me see" },
        { type: "text", text: "yes" },
      ]);
      const order = chunks.flatMap((chunk) => chunk.type === "block-start" ? [chunk.blockType] : []);
      checkEquals(order, ["reasoning", "text"]);
    },
  },
  {
    name: "stream() assembles calls in their order and keeps their raw arguments, when their deltas interleave",
    async run(context) {
      const chunks = await answered(
        context,
        event({ content: "calling" }),
        event(call(0, { id: "c1", function: { name: "read", arguments: "" } })),
        event(call(1, { id: "c2", function: { name: "list", arguments: '{ "di' } })),
        event(call(0, { function: { arguments: '{"path":' } })),
        event(call(1, { function: { arguments: 'r" : "." }' } })),
        event(call(0, { function: { arguments: '"a"}' } })),
        event({}, "tool_calls"),
        DONE,
      );
      checkEquals(blocks(chunks), [
        { type: "text", text: "calling" },
        { type: "tool-call", id: "c1", name: "read", arguments: '{"path":"a"}' },
        { type: "tool-call", id: "c2", name: "list", arguments: '{ "dir" : "." }' },
      ]);
      checkEquals(finishOf(chunks), { kind: "tool-calls" });
    },
  },
  {
    name: "stream() gives a call without arguments, and says tool-calls although the provider says stop",
    async run(context) {
      const chunks = await answered(
        context,
        event(call(0, { id: "c1", function: { name: "now", arguments: "" } })),
        event({}, "stop"),
        DONE,
      );
      const [found] = blocks(chunks);
      check(found?.type === "tool-call" && found.name === "now", `a call of now, found ${JSON.stringify(found)}`);
      check(found.arguments === "" || found.arguments === "{}", `no arguments, found ${found.arguments}`);
      checkEquals(finishOf(chunks), { kind: "tool-calls" });
    },
  },
  {
    name: "stream() gives arguments that are no JSON as they are",
    async run(context) {
      const chunks = await answered(
        context,
        event(call(0, { id: "c1", function: { name: "read", arguments: '{"path":' } })),
        event({}, "tool_calls"),
        DONE,
      );
      checkEquals(blocks(chunks), [{ type: "tool-call", id: "c1", name: "read", arguments: '{"path":' }]);
    },
  },
  {
    name: "stream() says max-tokens, when the answer was cut at the ceiling",
    async run(context) {
      const chunks = await answered(context, event({ content: "half" }), event({}, "length"), DONE);
      checkEquals(finishOf(chunks), { kind: "max-tokens" });
      const inCall = event(call(0, { id: "c1", function: { name: "read", arguments: '{"pa' } }));
      checkEquals(finishOf(await answered(context, inCall, event({}, "length"), DONE)), { kind: "max-tokens" });
    },
  },
  {
    name: "stream() fails with CONTENT_FILTER, when a filter ended the answer",
    run: (context) =>
      checkFailure(context, { pieces: [event({ content: "x" }), event({}, "content_filter"), DONE] }, {
        code: "CONTENT_FILTER",
      }),
  },
  {
    name: "stream() fails with RATE_LIMIT and says how long to wait, when the endpoint answers 429",
    async run(context) {
      const headers = { "retry-after": "7", "x-request-id": "r-1" };
      await checkFailure(context, refusal(429, "slow down", headers), {
        code: "RATE_LIMIT",
        status: 429,
        providerRetryAfterMs: 7000,
        requestId: "r-1",
        says: "slow down",
      });
      await checkFailure(context, refusal(429, "slow down"), { code: "RATE_LIMIT", status: 429 });
    },
  },
  {
    name: "stream() tells failures apart by their status",
    async run(context) {
      for (const [status, code] of [[500, "SERVER"], [503, "SERVER"], [408, "TIMEOUT"], [401, "UNKNOWN"]] as const) {
        await checkFailure(context, refusal(status, "no luck"), { code, status, says: "no luck" });
      }
    },
  },
  {
    name: "stream() fails with the status, when the endpoint refuses in no known shape",
    async run(context) {
      const headers = { "content-type": "text/html" };
      await checkFailure(context, { status: 502, headers, pieces: ["<h1>Bad gateway</h1>"] }, {
        code: "SERVER",
        status: 502,
      });
      await checkFailure(context, { status: 500, headers }, { code: "SERVER", status: 500 });
    },
  },
  {
    name: "stream() fails with TRANSPORT, when the connection breaks before or inside the answer",
    async run(context) {
      await checkFailure(context, { then: "break" }, { code: "TRANSPORT" });
      await checkFailure(context, { pieces: [event({ content: "half" })], then: "break" }, { code: "TRANSPORT" });
      const inCall = event(call(0, { id: "c1", function: { name: "pay", arguments: "{}" } }));
      await checkFailure(context, { pieces: [inCall], then: "break" }, { code: "TRANSPORT" });
      await checkFailure(context, { pieces: [inCall.slice(0, 40)], then: "break" }, { code: "TRANSPORT" });
    },
  },
  {
    name: "stream() fails with STREAM_CLOSED, when the answer ends and the model never said why",
    async run(context) {
      const inCall = event(call(0, { id: "c1", function: { name: "pay", arguments: "{}" } }));
      for (const pieces of [[event({ content: "half" })], [inCall], [inCall.slice(0, 40)], []]) {
        await checkFailure(context, { pieces }, { code: "STREAM_CLOSED" });
      }
    },
  },
  {
    name: "stream() fails with EMPTY_RESPONSE, when the model stops without having said anything",
    run: (context) =>
      checkFailure(context, { pieces: [event({ content: "" }), event({}, "stop"), DONE] }, { code: "EMPTY_RESPONSE" }),
  },
  {
    name: "stream() fails, when an error comes inside the stream, and yields nothing of what follows",
    async run(context) {
      const inside = `data: ${JSON.stringify({ error: { message: "overloaded", code: 503 } })}\n\n`;
      const after = event({ content: "never" }, "stop");
      const chunks = await answered(context, event({ content: "so far" }), inside, after, DONE);
      const { message, code, status } = failureOf(chunks);
      checkEquals([message, code, status], ["overloaded", "SERVER", 503]);
      check(!JSON.stringify(chunks).includes("never"), "nothing follows the failure");
    },
  },
  {
    name: "stream() fails with TRANSPORT, when an event is no JSON",
    run: (context) =>
      checkFailure(context, { pieces: [event({ content: "x" }), "data: {oops\n\n"] }, { code: "TRANSPORT" }),
  },
  {
    name: "stream() fails, when the answer is no event stream",
    async run(context) {
      const headers = { "content-type": "application/json" };
      failureOf(await ask(context, { headers, pieces: ['{"choices":[]}'] }));
    },
  },
  {
    name: "stream() reads a huge delta and very many small ones",
    async run(context) {
      const huge = "x🐳".repeat(500_000);
      checkEquals(blocks(await answered(context, event({ content: huge }, "stop"), DONE)), [{
        type: "text",
        text: huge,
      }]);
      const many = Array.from({ length: 5000 }, (_, index) => event({ content: `${index} ` })).join("");
      const chunks = await answered(context, many, event({}, "stop"), DONE);
      checkEquals(chunks.filter((chunk) => chunk.type === "text-delta").length, 5000);
    },
  },
  {
    name: "stream() asks nothing before the first pull, and once per stream",
    async run(context) {
      const served = await context.serve({ pieces: [event({ content: "x" }, "stop"), DONE] });
      try {
        const streams = [1, 2].map(() => served.model.stream(REQUEST, new AbortController().signal));
        checkEquals(served.requests.length, 0, "no request before the first pull");
        for (const stream of streams) await Array.fromAsync(stream);
        checkEquals(served.requests.length, 2, "one request for each stream");
      } finally {
        await served[Symbol.asyncDispose]();
      }
    },
  },
  {
    name: "stream() never retries by itself, when it could",
    async run(context) {
      const good = { pieces: [event({ content: "x" }, "stop"), DONE] };
      for (const bad of [refusal(503, "no"), refusal(429, "no", { "retry-after": "0" }), { then: "break" } as const]) {
        const served = await context.serve(bad, good);
        try {
          failureOf(await Array.fromAsync(served.model.stream(REQUEST, new AbortController().signal)));
          checkEquals(served.requests.length, 1, "one request");
          const again = await Array.fromAsync(served.model.stream(REQUEST, new AbortController().signal));
          checkEquals(finishOf(again), { kind: "stop" }, "the next stream is a new request");
        } finally {
          await served[Symbol.asyncDispose]();
        }
      }
    },
  },
  {
    name: "stream() throws the reason and asks nothing, when its signal is aborted before",
    async run(context) {
      const served = await context.serve({ pieces: [event({ content: "x" }, "stop"), DONE] });
      try {
        const reason = new Error("enough");
        const stream = served.model.stream(REQUEST, AbortSignal.abort(reason));
        const thrown = await Array.fromAsync(stream).then(() => null, (error) => error);
        check(thrown === reason, `the reason is thrown, found ${thrown}`);
        checkEquals(served.requests.length, 0, "no request");
      } finally {
        await served[Symbol.asyncDispose]();
      }
    },
  },
  {
    name: "stream() throws the reason and leaves the endpoint, when its signal aborts in the middle or in silence",
    async run(context) {
      for (const pieces of [[event({ content: "so" })], []]) {
        const served = await context.serve({ pieces, then: "hang" });
        try {
          const controller = new AbortController();
          const reason = new Error("enough");
          const iterator = served.model.stream(REQUEST, controller.signal)[Symbol.asyncIterator]();
          for (let next = await pull(iterator, pieces.length > 0); next !== null; next = await pull(iterator, true)) {
            if (next.type === "text-delta") break;
          }
          const waiting = iterator.next().then(() => null, (error) => error);
          while (served.requests.length === 0) await turn();
          controller.abort(reason);
          const thrown = await waiting;
          check(thrown === reason, `the reason is thrown, found ${thrown}`);
          await served.left;
        } finally {
          await served[Symbol.asyncDispose]();
        }
      }
    },
  },
  {
    name: "stream() leaves the endpoint, when the reader leaves",
    async run(context) {
      const served = await context.serve({ pieces: [event({ content: "so" })], then: "hang" });
      try {
        for await (const chunk of served.model.stream(REQUEST, new AbortController().signal)) {
          if (chunk.type === "text-delta") break;
        }
        await served.left;
      } finally {
        await served[Symbol.asyncDispose]();
      }
    },
  },
  {
    name: "stream() says the whole conversation in the protocol's words, and sends no reasoning of others",
    async run(context) {
      const served = await context.serve({ pieces: [event({ content: "x" }, "stop"), DONE] });
      try {
        await Array.fromAsync(served.model.stream(CONVERSATION, new AbortController().signal));
        const { messages, model, stream, temperature, max_tokens, stop, tools } = served.requests[0]!;
        checkEquals<unknown>({ model, stream, temperature, max_tokens, stop }, {
          model: "small",
          stream: true,
          temperature: 0.5,
          max_tokens: 9,
          stop: ["END"],
        });
        checkEquals<unknown>(tools, [
          { type: "function", function: { name: "read", description: "reads", parameters: { type: "object" } } },
        ]);
        checkEquals<unknown>(messages, [
          { role: "system", content: "be kind" },
          { role: "user", content: "hi" },
          {
            role: "assistant",
            content: "calling",
            tool_calls: [
              { id: "c1", type: "function", function: { name: "read", arguments: '{"path":"a"}' } },
              { id: "c2", type: "function", function: { name: "read", arguments: "{}" } },
            ],
          },
          { role: "tool", tool_call_id: "c1", content: "found\nmore" },
          { role: "tool", tool_call_id: "c2", content: "Error: gone" },
          { role: "user", content: "and?" },
        ]);
      } finally {
        await served[Symbol.asyncDispose]();
      }
    },
  },
];

const CONVERSATION: ModelRequest = {
  sessionId: "s1",
  header: {
    config: { provider: "contract", model: "small", temperature: 0.5, maxTokens: 9, stop: ["END"] },
    tools: [{ name: "read", description: "reads", parameters: { type: "object" } }],
  },
  messages: [
    { id: "m0", role: "system", content: [{ type: "text", text: "be kind" }], source: { kind: "plugin", plugin: "p" } },
    { id: "m1", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } },
    {
      id: "m2",
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "calling" },
        { type: "tool-call", id: "c1", name: "read", arguments: '{"path":"a"}' },
        { type: "tool-call", id: "c2", name: "read", arguments: "" },
      ],
      source: { kind: "model", provider: "another", model: "large" },
    },
    {
      id: "m3",
      role: "user",
      content: [{
        type: "tool-result",
        toolCallId: "c1",
        content: [{ type: "text", text: "found" }, { type: "text", text: "more" }],
      }],
      source: { kind: "tool", callId: "c1" },
    },
    {
      id: "m4",
      role: "user",
      content: [{
        type: "tool-result",
        toolCallId: "c2",
        content: [{ type: "text", text: "Error: gone" }],
        isError: true,
      }],
      source: { kind: "tool", callId: "c2" },
    },
    {
      id: "m5",
      role: "assistant",
      content: [{ type: "reasoning", text: "only" }],
      source: { kind: "model", provider: "another", model: "large" },
    },
    { id: "m6", role: "user", content: [{ type: "text", text: "and?" }], source: { kind: "user" } },
  ],
};

/** The next chunk, or null when there is none or none is wanted. */
async function pull(iterator: AsyncIterator<StreamChunk>, isWanted: boolean): Promise<StreamChunk | null> {
  if (!isWanted) return null;
  const { done, value } = await iterator.next();
  return done ? null : value;
}

/** One turn of the task queue, without a timer. */
function turn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
