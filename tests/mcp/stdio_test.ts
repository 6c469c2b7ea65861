import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { hasCode } from "../../src/errors.ts";
import type { Block } from "../../src/event/mod.ts";
import { connectMcp, MCP_MESSAGE_SIZE_BYTES_MAX, type McpOptions, type McpServer } from "../../src/mcp/mod.ts";
import type { Tool, ToolCall } from "../../src/tool/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { bodyCall, dataOf, openStep, run, textOf } from "../tool/tool_support.ts";
import { processEndpoint, ServerLog } from "./mcp_support.ts";

/** A connected bank, and the log of what it was told. */
async function bank(list = "usual", options: Partial<McpOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const log = stack.use(await ServerLog.make());
  const server = stack.use(await connectMcp({ name: "bank", endpoint: processEndpoint(log, list), ...options }));
  return { log, server, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function toolOf(server: McpServer, name: string): Tool {
  const found = server.tools.find((tool) => tool.name === `bank__${name}`);
  assert(found !== undefined, `no tool ${name}`);
  return found;
}

/** Calls a body, bare. */
async function call(server: McpServer, name: string, args: unknown = {}, facts: Partial<ToolCall> = {}) {
  return await toolOf(server, name).execute(args as never, bodyCall(facts)) as { content: Block[]; meta: unknown };
}

async function codeOf(failing: Promise<unknown>): Promise<unknown> {
  try {
    await failing;
  } catch (error) {
    return (error as { code?: unknown }).code ?? (error as Error).name;
  }
  return "no failure";
}

Deno.test("mcp over a process: tools are named server__tool, ask whatever the server says, and are opaque", async () => {
  await using place = await bank();
  const names = place.server.tools.map(({ name }) => name);
  assertEquals(names.slice(0, 2), ["bank__pay", "bank__lie"]);
  assertEquals(place.server.refused, []);
  const pay = toolOf(place.server, "pay");
  assertEquals(pay.description, '[tool of the server "bank"] Pays somebody');
  assertEquals(pay.effectOf({ to: "alice" }), "opaque");
  const reason = 'call "pay" of the MCP server "bank"';
  assertEquals(await pay.permissionFor({ to: "alice" }, "opaque"), { decision: "ask", reason });
  assertEquals(pay.reconcile, null);
});

Deno.test("mcp over a process: what the caller declares counts, and what it does not declare still asks", async () => {
  const declarations = {
    pay: { effect: "keyed" as const, reconcile: () => ({ verdict: "undecidable" as const }) },
    fail: { effect: "none" as const },
    show: { effect: "none" as const, permission: () => ({ decision: "allow" as const }) },
  };
  await using place = await bank("usual", { declarations, only: ["pay", "fail", "show"] });
  const [pay, fail, show] = ["pay", "fail", "show"].map((name) => toolOf(place.server, name));
  assertEquals(place.server.tools.length, 3);
  assertEquals([pay!.effectOf({}), fail!.effectOf({}), show!.effectOf({})], ["keyed", "none", "none"]);
  assert(pay!.reconcile !== null);
  assertEquals((await fail!.permissionFor({}, "none")).decision, "ask");
  assertEquals((await show!.permissionFor({}, "none")).decision, "allow");
});

Deno.test("mcp over a process: a declaration of a tool that is not there is the caller's mistake", async () => {
  await using log = await ServerLog.make();
  const options = { name: "bank", endpoint: processEndpoint(log), declarations: { repay: {} } };
  await assertRejects(() => connectMcp(options), TypeError, 'Cannot use tool "repay"');
});

Deno.test("mcp over a process: a call goes through the pipeline, with call id and effect key in _meta", async () => {
  await using place = await bank();
  const { session } = await openStep();
  const context = { approvers: [() => "allowed-once" as const] };
  const call = { id: "c7", name: "bank__pay", arguments: '{"to":"alice"}' };
  const { outcome } = await run(session, place.server.tools, call, context);
  assertEquals([outcome.isError, textOf(outcome)], [false, "paid alice"]);
  const [marker] = await dataOf(session, "effect/dispatched");
  const meta = { "holdfast/callId": "c7", "holdfast/effectKey": marker!.effectKey };
  assertEquals(place.log.lines().map(({ call, arguments: args, meta }) => ({ call, args, meta })), [
    { call: "pay", args: { to: "alice" }, meta },
  ]);
  const [result] = await dataOf(session, "tool/result");
  assertEquals(result!.meta, { mcp: { server: "bank", tool: "pay", structuredContent: { amount: 10 } } });
  await session.close();
});

Deno.test("mcp over a process: wrong arguments never reach the server", async () => {
  await using place = await bank();
  const { session } = await openStep();
  const call = { name: "bank__pay", arguments: '{"to":7}' };
  const { outcome } = await run(session, place.server.tools, call, { approvers: [() => "allowed-once"] });
  assertEquals(outcome.error?.code, "INVALID_ARGS");
  assertEquals(place.log.lines(), []);
  await session.close();
});

Deno.test("mcp over a process: texts, images, sounds, resources and values are told; strange blocks are named", async () => {
  await using place = await bank();
  const content = [
    { type: "text", text: "one" },
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "audio", data: "BBBB", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "file:///a", text: "inside" } },
    { type: "resource", resource: { uri: "file:///b", blob: "CCCC", mimeType: "application/zip" } },
    { type: "resource_link", uri: "file:///c", name: "c" },
    { type: "image", data: 7 },
    { type: "tool-call", id: "x", name: "pay", arguments: "{}" },
    "text",
  ];
  const shown = await call(place.server, "show", { content, structured: { n: 1 } });
  assertEquals(shown.content, [
    { type: "text", text: "one" },
    { type: "image", attachment: { mediaType: "image/png", data: "AAAA" } },
    { type: "file", attachment: { mediaType: "audio/wav", data: "BBBB" } },
    { type: "text", text: '[resource "file:///a"]\ninside' },
    { type: "file", attachment: { mediaType: "application/zip", data: "CCCC", name: "file:///b" } },
    { type: "text", text: '[resource "file:///c" "c"]' },
    { type: "text", text: "[an image without content]" },
    { type: "text", text: '[a block of the kind "tool-call"]' },
    { type: "text", text: "[a block that is no object]" },
  ]);
  assertEquals(shown.meta, { mcp: { server: "bank", tool: "show", structuredContent: { n: 1 } } });
  const value = await call(place.server, "show", { content: [], structured: [1, null] });
  assertEquals(value.content, [{ type: "text", text: "[1,null]" }]);
  const nothing = await call(place.server, "show", { content: [] });
  assertEquals(textOf(nothing), "(the tool answered with no content)");
  const large = { all: "x".repeat(70_000) };
  const { content: whole, meta } = await call(place.server, "show", { content: [], structured: large });
  assertEquals([textOf({ content: whole }), meta], [JSON.stringify(large), { mcp: { server: "bank", tool: "show" } }]);
  const many = await call(place.server, "show", { content: Array(1001).fill({ type: "text", text: "t" }) });
  assertEquals([many.content.length, many.content.at(-1)], [1001, {
    type: "text",
    text: "[1 more blocks are not shown]",
  }]);
});

Deno.test("mcp over a process: a tool's own failure is its answer, and a broken promise of a value is told", async () => {
  await using place = await bank();
  const failed = await assertRejects(() => call(place.server, "fail"), Error, "no such account");
  assertEquals((failed as { code?: string }).code, "MCP_TOOL_FAILED");
  const lie = await assertRejects(() => call(place.server, "lie", { value: { amount: "much" } }), Error, "/amount");
  assertEquals((lie as { code?: string }).code, "INVALID_TOOL_OUTPUT");
  assertEquals(await codeOf(call(place.server, "lie", {})), "INVALID_TOOL_OUTPUT");
});

Deno.test("mcp over a process: nonsense for an answer leaves an effect unknown, and without effect only fails", async () => {
  await using place = await bank();
  for (const result of [{ content: "text" }, { content: [], toolResult: 1, structuredContent: undefined }]) {
    const code = await codeOf(call(place.server, "nonsense", { result }));
    assertEquals(code, result.content === "text" ? "TOOL_OUTCOME_UNKNOWN" : "no failure");
  }
  const error = await codeOf(call(place.server, "nonsense", { result: { content: 7 } }, { effect: "none" }));
  assertEquals(error, "Error");
});

Deno.test("mcp over a process: only errors that come before a tool say that it did not run", async () => {
  await using place = await bank();
  for (const code of [-32700, -32600, -32601]) {
    const failed = await assertRejects(() => call(place.server, "error", { code }), Error, "It did not run");
    assertEquals((failed as { code?: string }).code, "MCP_UNAVAILABLE", String(code));
  }
  // "Invalid params" among them: servers also say it of the result of a tool that has run.
  for (const code of [-32602, -32603, -32000, -32001, 5]) {
    const failed = await assertRejects(() => call(place.server, "error", { code }), Error, "no  luck");
    assertEquals((failed as { code?: string }).code, "TOOL_OUTCOME_UNKNOWN", String(code));
  }
});

Deno.test("mcp over a process: a server that dies in a call leaves it unknown; the next call starts it again", async () => {
  await using place = await bank();
  assertEquals(await codeOf(call(place.server, "die")), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(place.server.isConnected, false);
  assertEquals(textOf(await call(place.server, "pay", { to: "bob" })), "paid bob");
  assertEquals(place.log.calls(), ["die", "pay"]);
  assertEquals(await codeOf(call(place.server, "die", {}, { effect: "none" })), "Error");
});

Deno.test("mcp over a process: a closed connection sends nothing and says so", async () => {
  await using place = await bank();
  await place.server.close();
  assertEquals(await codeOf(call(place.server, "pay", { to: "eve" })), "MCP_UNAVAILABLE");
  assertEquals(place.log.lines(), []);
});

Deno.test("mcp over a process: a cancel reaches the server, and the call is unknown", async () => {
  await using place = await bank();
  const controller = new AbortController();
  const failing = codeOf(call(place.server, "hang", {}, { signal: controller.signal }));
  await place.log.until((line) => line.call === "hang");
  controller.abort(new DOMException("enough", "AbortError"));
  assertEquals(await failing, "TOOL_OUTCOME_UNKNOWN");
  const { id } = place.log.lines()[0];
  await place.log.until((line) => line.cancelled === id);
});

Deno.test("mcp over a process: a call that takes too long is TOOL_TIMEOUT, and says that the outcome is unknown", async () => {
  await using place = await bank("usual", { callTimeoutMs: 50 });
  const clock = new FakeClock();
  const { session } = await openStep({ clock });
  const running = run(session, place.server.tools, { name: "bank__hang" }, { approvers: [() => "allowed-once"] });
  await place.log.until((line) => line.call === "hang");
  await clock.advance(60);
  const { outcome } = await running;
  assertEquals(outcome.error?.code, "TOOL_TIMEOUT");
  assertStringIncludes(textOf(outcome), "Whether it took effect is unknown");
  assertEquals(session.folds.unresolved.effects.length, 1);
  await session.close();
});

Deno.test("mcp over a process: a message over its bound ends the connection, and the call is unknown", async () => {
  await using place = await bank();
  assertEquals(await codeOf(call(place.server, "big", { size: MCP_MESSAGE_SIZE_BYTES_MAX })), "TOOL_OUTCOME_UNKNOWN");
  const fine = await call(place.server, "big", { size: 100_000 });
  assertEquals(textOf(fine).length, 100_000);
});

Deno.test("mcp over a process: a server cannot ask a model through us", async () => {
  await using place = await bank();
  assertEquals(textOf(await call(place.server, "sample")), "refused with -32601");
});

Deno.test("mcp over a process: it gets the environment it is given and nothing else", async () => {
  await using log = await ServerLog.make();
  const args = ["-c", 'exec /usr/bin/env > "$LOG"'];
  const endpoint = { command: "/bin/sh", args, env: { LOG: log.path, ONLY: "this" } };
  assertEquals(await codeOf(connectMcp({ name: "bank", endpoint })), "MCP_UNAVAILABLE");
  const names = Deno.readTextFileSync(log.path).trim().split("\n").map((line) => line.split("=")[0]);
  // The shell sets some of its own.
  assertEquals(names.filter((name) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name!)).sort(), ["LOG", "ONLY"]);
});

Deno.test("mcp over a process: its standard error goes to whoever listens", async () => {
  await using log = await ServerLog.make();
  const { promise, resolve } = Promise.withResolvers<string>();
  const endpoint = processEndpoint(log, "usual", { onStderr: resolve });
  await using _server = await connectMcp({ name: "bank", endpoint });
  assertMatch(await promise, /^ready/);
});

Deno.test("mcp over a process: a list in pages is one list", async () => {
  await using place = await bank("pages");
  assertEquals(place.server.tools.length, 10);
});

Deno.test("mcp over a process: odd tools are refused one by one with a code, and harm no other", async () => {
  await using place = await bank("odd");
  assertEquals(place.server.tools.map(({ name }) => name), ["bank__fine", "bank__validator"]);
  const { description } = place.server.tools[0]!;
  assert(!description.includes("\u001b") && description.length < 8300, description.slice(0, 100));
  assertEquals(place.server.refused.map(({ remoteName, code }) => [remoteName.slice(0, 10), code]), [
    ["get.user", "NAME_COLLISION"],
    ["get/user", "NAME_COLLISION"],
    ["yyyyyyyyyy", "NAME_TOO_LONG"],
    ["no_schema", "INVALID_TOOL"],
    ["loop", "INVALID_TOOL"],
    ["", "INVALID_TOOL"],
    ["", "INVALID_TOOL"],
  ]);
});

for (const [list, found] of [["endless", "over 64 pages"], ["many", "over 512 tools"], ["none", "no list"]] as const) {
  Deno.test(`mcp over a process: a list that is ${list} is refused as a whole`, async () => {
    await using log = await ServerLog.make();
    const error = await assertRejects(
      () => connectMcp({ name: "bank", endpoint: processEndpoint(log, list) }),
      Error,
      found,
    );
    assert(hasCode(error, "MCP_UNAVAILABLE"));
  });
}

Deno.test("mcp over a process: a program that is not there, says nothing, or ends at once is MCP_UNAVAILABLE", async () => {
  const connect = (command: string, args: string[], more: Partial<McpOptions> = {}) =>
    connectMcp({ name: "bank", endpoint: { command, args }, ...more });
  assertEquals(await codeOf(connect("/no/such/program", [])), "MCP_UNAVAILABLE");
  assertEquals(await codeOf(connect("/bin/sh", ["-c", "exit 3"])), "MCP_UNAVAILABLE");
  assertEquals(
    await codeOf(connect("/bin/sh", ["-c", "echo no json; exec cat >/dev/null"], { connectTimeoutMs: 200 })),
    "MCP_UNAVAILABLE",
  );
  const controller = new AbortController();
  const connecting = assertRejects(() => connect("/bin/cat", [], { signal: controller.signal }), Error, "enough");
  controller.abort(new Error("enough"));
  await connecting;
  const signal = AbortSignal.abort(new Error("not now"));
  await assertRejects(() => connect("/bin/cat", [], { signal }), Error, "not now");
});

Deno.test("mcp: a server's name leaves room for its tools and can be read in one way only", async () => {
  for (const name of ["", "a__b", "a_", "ä", "x".repeat(33), "a b"]) {
    await assertRejects(() => connectMcp({ name, endpoint: { command: "/bin/true" } }), TypeError, "Cannot name");
  }
});
