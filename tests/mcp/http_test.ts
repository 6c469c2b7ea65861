import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  connectMcp,
  MCP_MESSAGE_SIZE_BYTES_MAX,
  MCP_RECONNECT_DELAY_MS_MIN,
  type McpOptions,
  type McpServer,
} from "../../src/mcp/mod.ts";
import { boundedFetch } from "../../src/mcp/bounded_fetch.ts";
import type { ToolCall } from "../../src/tool/mod.ts";
import { bodyCall, textOf } from "../tool/tool_support.ts";
import type { Message } from "./bank_server.ts";
import { type HttpBehaviour, HttpServer } from "./mcp_support.ts";

async function bank(behaviour: HttpBehaviour = {}, options: Partial<McpOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const http = stack.use(new HttpServer(behaviour));
  const server = stack.use(await connectMcp({ name: "bank", endpoint: http.endpoint, ...options }));
  return { http, server, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function call(server: McpServer, name: string, args: unknown = {}, facts: Partial<ToolCall> = {}) {
  const tool = server.tools.find((tool) => tool.name === `bank__${name}`)!;
  return textOf(await tool.execute(args as never, bodyCall(facts)) as never);
}

async function codeOf(failing: Promise<unknown>): Promise<unknown> {
  return await failing.then(() => "no failure", (error) => error.code ?? error.name);
}

for (const as of ["json", "events"] as const) {
  Deno.test(`mcp over http, ${as}: tools are listed and called, with headers and _meta`, async () => {
    await using place = await bank({ as });
    assertEquals(await call(place.server, "pay", { to: "alice" }, { callId: "c3" }), "paid alice");
    const [{ meta }] = place.http.notes;
    assertEquals(meta, { "holdfast/callId": "c3", "holdfast/effectKey": "0123456789abcdef0123456789abcdef" });
    assertEquals(new Set(place.http.requests.map(({ method }) => method)), new Set(["POST"]));
    const headers = place.http.requests.map(({ headers }) => headers.get("authorization"));
    assertEquals(new Set(headers), new Set(["Bearer secret"]));
  });

  Deno.test(`mcp over http, ${as}: an answer that breaks off leaves an effect unknown, at once`, async () => {
    await using place = await bank({ as });
    assertEquals(await codeOf(call(place.server, "die")), "TOOL_OUTCOME_UNKNOWN");
    assertEquals(place.http.calls(), ["die"]);
    assertEquals(await codeOf(call(place.server, "die", {}, { effect: "none" })), "Error");
    assertEquals(await call(place.server, "pay", { to: "bob" }), "paid bob");
  });

  Deno.test(`mcp over http, ${as}: an answer over its bound leaves an effect unknown`, async () => {
    await using place = await bank({ as });
    const args = { size: MCP_MESSAGE_SIZE_BYTES_MAX };
    assertEquals(await codeOf(call(place.server, "big", args)), "TOOL_OUTCOME_UNKNOWN");
    assertEquals((await call(place.server, "big", { size: 500_000 })).length, 500_000);
  });
}

Deno.test("mcp over http: a session that the server forgot ran nothing, and the next call makes a new one", async () => {
  await using place = await bank();
  place.http.forgetSessions();
  const error = await assertRejects(() => call(place.server, "pay", { to: "alice" }), Error, "It did not run");
  assertEquals((error as { code?: string }).code, "MCP_UNAVAILABLE");
  assertEquals(place.http.calls(), []);
  assertEquals(await call(place.server, "pay", { to: "alice" }), "paid alice");
  assertEquals(place.http.calls(), ["pay"]);
});

Deno.test("mcp over http: a server that is gone ran nothing; one that fails with 5xx may have", async () => {
  let status = 503;
  await using place = await bank({
    before: (_, message) => message?.method === "tools/call" ? new Response("busy", { status }) : undefined,
  });
  assertEquals(await codeOf(call(place.server, "pay", { to: "a" })), "TOOL_OUTCOME_UNKNOWN");
  for (status of [401, 403, 429]) assertEquals(await codeOf(call(place.server, "pay", { to: "a" })), "MCP_UNAVAILABLE");
  for (status of [400, 408, 409, 500]) {
    assertEquals(await codeOf(call(place.server, "pay", { to: "a" })), "TOOL_OUTCOME_UNKNOWN");
  }

  const gone = new HttpServer();
  const server = await connectMcp({ name: "bank", endpoint: gone.endpoint });
  await gone[Symbol.asyncDispose]();
  assertEquals(await codeOf(call(server, "pay", { to: "a" })), "MCP_UNAVAILABLE");
  await server.close();
});

Deno.test("mcp over http: a redirect is not followed, and no header goes to another place", async () => {
  await using other = new HttpServer();
  const { url } = other.endpoint as { url: string };
  let isMoved = false;
  await using place = await bank({
    before: () => isMoved ? new Response(null, { status: 307, headers: { location: url } }) : undefined,
  });
  isMoved = true;
  assertEquals(await codeOf(call(place.server, "pay", { to: "a" })), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(other.requests, []);
});

Deno.test("mcp over http: a cancel ends the waiting, and the call is unknown", async () => {
  const called = Promise.withResolvers<void>();
  await using place = await bank({
    as: "events",
    before: (_, message) => {
      if (message?.method === "tools/call") called.resolve();
      return undefined;
    },
  });
  const controller = new AbortController();
  const failing = codeOf(call(place.server, "hang", {}, { signal: controller.signal }));
  await called.promise;
  controller.abort(new DOMException("enough", "AbortError"));
  assertEquals(await failing, "TOOL_OUTCOME_UNKNOWN");
});

/** A clock on which waiting for a stream's rest takes no time, and nothing else ever comes due. */
function impatientClock() {
  const delaysMs: number[] = [];
  const schedule = (delayMs: number, wake: () => void) => {
    delaysMs.push(delayMs);
    let isStopped = delayMs !== MCP_RECONNECT_DELAY_MS_MIN;
    queueMicrotask(() => isStopped || wake());
    return () => void (isStopped = true);
  };
  return { delaysMs, now: () => 0, schedule };
}

/** A stream that says "come back for the rest, at once" and ends, or has the rest. */
function eventStream(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

Deno.test("mcp over http: the rest of a stream that the server let go of is asked for, and the call is not sent again", async () => {
  const clock = impatientClock();
  let asked: Message | null = null;
  const before = (request: Request, message: Message | null) => {
    if (message?.method === "tools/call") {
      asked = message;
      return eventStream("id: 7\nretry: 0\ndata:\n\n");
    }
    if (request.method !== "GET") return undefined;
    assertEquals(request.headers.get("last-event-id"), "7");
    const result = { content: [{ type: "text", text: "late" }] };
    return eventStream(`id: 8\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: asked!.id, result })}\n\n`);
  };
  await using place = await bank({ before }, { clock });
  assertEquals(await call(place.server, "show"), "late");
  const methods = place.http.requests.map(({ method }) => method);
  assertEquals(methods, ["POST", "POST", "POST", "POST", "GET"]);
  assert(clock.delaysMs.includes(MCP_RECONNECT_DELAY_MS_MIN));
});

Deno.test("mcp over http: a server that lets go of a stream again and again is left alone after a cancel", async () => {
  const thrice = Promise.withResolvers<void>();
  let gets = 0;
  const before = (request: Request, message: Message | null) => {
    if (request.method === "GET" && ++gets === 3) thrice.resolve();
    const isHeldOff = request.method === "GET" || (message?.method === "tools/call" && message.params.name === "hang");
    return isHeldOff ? eventStream("id: 7\nretry: 0\ndata:\n\n") : undefined;
  };
  await using place = await bank({ before }, { clock: impatientClock() });
  const controller = new AbortController();
  const failing = codeOf(call(place.server, "hang", {}, { signal: controller.signal }));
  await thrice.promise;
  controller.abort(new DOMException("enough", "AbortError"));
  assertEquals(await failing, "TOOL_OUTCOME_UNKNOWN");
  // The cancel is a request of its own, and the next call comes after it.
  assertEquals(await call(place.server, "pay", { to: "bob" }), "paid bob");
  const before_ = gets;
  assertEquals(await call(place.server, "pay", { to: "bob" }), "paid bob");
  assertEquals(gets, before_);
});

Deno.test("mcp over http: closing tells the server that the session is over", async () => {
  await using http = new HttpServer();
  const server = await connectMcp({ name: "bank", endpoint: http.endpoint });
  assertEquals(http.sessionCount, 1);
  await server.close();
  assertEquals(http.sessionCount, 0);
});

Deno.test("mcp over http: an address that is none is the caller's mistake; one without a server is MCP_UNAVAILABLE", async () => {
  const connect = (url: string) => connectMcp({ name: "bank", endpoint: { url } });
  for (const url of ["file:///etc/passwd", "no address"]) assertEquals(await codeOf(connect(url)), "TypeError");
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  assertEquals(await codeOf(connect(`http://127.0.0.1:${port}/`)), "MCP_UNAVAILABLE");
});

Deno.test("boundedFetch() counts one message at a time in a stream of events, whatever ends its lines", async () => {
  const read = async (body: string, type: string) => {
    const fetch = boundedFetch(
      () => Promise.resolve(new Response(body, { headers: { "content-type": type } })),
      20,
    );
    return await (await fetch("http://127.0.0.1/")).text().then((text) => text.length, () => "too large");
  };
  for (const end of ["\n", "\r\n", "\r"]) {
    const message = `data: 0123456${end}${end}`;
    assertEquals(await read(message.repeat(10), "text/event-stream"), message.length * 10);
    assertEquals(await read(`data: 0123${end}`.repeat(10), "text/event-stream"), "too large");
  }
  assertEquals(await read("\n\n".repeat(11), "application/json"), "too large");
  assert(await read("x".repeat(20), "application/json") === 20);
});
