import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { z } from "zod";
import { callTool, defineTool, RETRIES_MAX, TIMEOUT_MS_MAX, type ToolCall, ToolError } from "../../src/tool/mod.ts";
import { executionMode } from "../../src/tool/pipeline.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { callTypes, dataOf, newHooks, openStep, run, textOf, tool } from "./tool_support.ts";

const PAYMENT = {
  type: "object",
  properties: { to: { type: "string" }, amount: { type: "integer", minimum: 1 }, note: { type: "string" } },
  required: ["to", "amount"],
} as const;

Deno.test("exec/T10: arguments that violate the schema name each path, run nothing and ask nobody", async () => {
  const { session } = await openStep();
  const seen: unknown[] = [];
  const asked: string[] = [];
  const pay = tool({
    parameters: PAYMENT,
    permission: () => ({ decision: "ask" }),
    execute: (args) => (seen.push(args), "paid"),
  });
  const approvers = [() => (asked.push("asked"), "allowed-once" as const)];
  const bad = await run(session, [pay], { arguments: '{"amount":0}' }, { approvers });
  assertEquals(bad.outcome.error, { name: "ToolError", code: "INVALID_ARGS" });
  assertStringIncludes(textOf(bad.outcome), "/to: is missing");
  assertStringIncludes(textOf(bad.outcome), "/amount: ");
  assertEquals([seen, asked], [[], []]);
  assertEquals(await callTypes(session), ["tool/call", "tool/result"]);
  assertEquals((await run(session, [pay], { arguments: "{oops" })).outcome.error?.code, "INVALID_ARGS");

  const good = '{"to":"alice","amount":1,"more":true}';
  assertEquals((await run(session, [pay], { arguments: good }, { approvers })).outcome.isError, false);
  assertEquals(seen, [{ to: "alice", amount: 1, more: true }]);
});

Deno.test("a validator's schema gives body, effect and permission what it made; hooks and log keep what was given", async () => {
  const { session } = await openStep();
  const seen: unknown[] = [];
  const pay = defineTool({
    name: "act",
    description: "",
    parameters: z.object({ to: z.string(), currency: z.enum(["EUR", "USD"]).default("EUR") }),
    effect: (args) => (seen.push(["effect", args]), "idempotent"),
    permission: (args) => (seen.push(["permission", args]), { decision: "allow" }),
    execute: (args) => (seen.push(["body", args]), `${args.currency} to ${args.to}`),
  });
  const guard = (call: { arguments: unknown }) => void seen.push(["guard", call.arguments]);
  const end = await run(session, [pay], { arguments: '{"to":"alice"}' }, { guards: [guard] });
  assertEquals(textOf(end.outcome), "EUR to alice");
  const made = { to: "alice", currency: "EUR" };
  assertEquals(seen, [["effect", made], ["permission", made], ["guard", { to: "alice" }], ["body", made]]);
  assert(Object.isFrozen((seen[0] as unknown[])[1]));
  assertEquals((await dataOf(session, "tool/call"))[0]?.arguments, '{"to":"alice"}');
  // The model is told what it must send.
  assertEquals(pay.parameters.required, ["to"]);
});

Deno.test("exec/T11: a value that violates its schema or is no lossless JSON is INVALID_TOOL_OUTPUT", async () => {
  const { session } = await openStep();
  const count = (value: unknown, more = {}) =>
    defineTool({
      name: "act",
      description: "",
      parameters: {},
      effect: "none",
      output: {
        schema: { type: "object", properties: { rows: { type: "integer" } }, required: ["rows"] },
        render: (_args, value) => `${(value as { rows: number }).rows} rows`,
        ...more,
      },
      execute: () => value,
    });
  const violating = await run(session, [count({ rows: 1.5 })]);
  assertEquals(violating.outcome.error?.code, "INVALID_TOOL_OUTPUT");
  assertStringIncludes(textOf(violating.outcome), "/rows: ");
  for (const value of [undefined, { rows: -0 }, { rows: 1, more: undefined }, new Map(), () => 1]) {
    assertEquals((await run(session, [count(value)])).outcome.error?.code, "INVALID_TOOL_OUTPUT");
  }
  const broken = {
    render: () => {
      throw new Error("no ink");
    },
  };
  assertStringIncludes(textOf((await run(session, [count({ rows: 1 }, broken)])).outcome), "no ink");
  assertEquals(
    (await run(session, [count({ rows: 1 }, { render: () => 7 })])).outcome.error?.code,
    "INVALID_TOOL_OUTPUT",
  );

  const meta = { presentationMeta: (_args: unknown, value: unknown) => ({ value }) };
  const { outcome } = await run(session, [count({ rows: 3 }, meta)]);
  assertEquals([textOf(outcome), outcome.value], ["3 rows", { rows: 3 }]);
  const [logged] = (await dataOf(session, "tool/result")).slice(-1);
  assertEquals(logged?.meta, { value: { rows: 3 } });
  assertEquals(JSON.stringify(logged?.message).includes('"rows"'), false);
});

Deno.test("defineTool() refuses broken schemas and times out of range", () => {
  const definition = { name: "act", description: "", parameters: {}, execute: () => "" };
  assertThrows(() => defineTool({ ...definition, parameters: { type: "strnig" } }), TypeError, 'tool "act"');
  const output = { schema: { type: "x" }, render: () => "" };
  assertThrows(() => defineTool({ ...definition, output }), TypeError, "output of tool");
  for (const timeoutMs of [0, -1, NaN, Infinity, TIMEOUT_MS_MAX + 1]) {
    assertThrows(() => defineTool({ ...definition, timeoutMs }), RangeError, "timeoutMs");
  }
  assertEquals(defineTool({ ...definition, timeoutMs: 0.5 }).timeoutMs, 1);
  for (const retries of [-1, 0.5, NaN, RETRIES_MAX + 1]) {
    assertThrows(() => defineTool({ ...definition, retries }), RangeError, "retries");
  }
});

Deno.test("exec/T32: only a classifier that answers exactly true makes a call parallel", () => {
  const classified = (isConcurrencySafe?: (args: unknown) => unknown) =>
    executionMode(tool({ isConcurrencySafe: isConcurrencySafe as never }), { n: 1 });
  const throwing = () => {
    throw new Error("?");
  };
  for (const classifier of [undefined, throwing, () => 1, () => false, () => "true", () => Promise.resolve(true)]) {
    assertEquals(classified(classifier), "exclusive");
  }
  assertEquals(executionMode(undefined, {}), "exclusive");
  assertEquals(classified(() => true), "parallel");
  assertEquals(classified((args) => (args as { n: number }).n === 1), "parallel");
});

Deno.test("a body without effect that fails without a code is run again, everything else is not", async () => {
  const clock = new FakeClock();
  const { session } = await openStep({ clock });
  let runs = 0;
  const failing = (thrown: () => unknown, more = {}) =>
    tool({
      effect: "none",
      retries: 2,
      execute: () => {
        runs++;
        throw thrown();
      },
      ...more,
    });
  const count = async (act: ReturnType<typeof failing>, context = {}) => {
    runs = 0;
    const done = run(session, [act], {}, context);
    await clock.advance(5000);
    await done;
    return runs;
  };
  const lost = () => new Error("connection lost");
  assertEquals(await count(failing(lost)), 3);
  assertEquals(await count(failing(() => new ToolError("LIMIT", "no more"))), 1);
  assertEquals(await count(failing(lost, { effect: "idempotent" })), 1);
  assertEquals(await count(failing(lost, { retries: 0 })), 1);

  let flaky = 0;
  const healing = tool({ effect: "none", retries: 2, execute: () => flaky++ === 0 ? Promise.reject(lost()) : "read" });
  const done = run(session, [healing]);
  await clock.advance(249);
  assertEquals(flaky, 1);
  await clock.advance(1);
  assertEquals(textOf((await done).outcome), "read");

  // A cancel ends the pause.
  const controller = new AbortController();
  runs = 0;
  const cancelled = run(session, [failing(lost)], {}, { signal: controller.signal });
  await settle();
  controller.abort(new Error("enough"));
  assertEquals([textOf((await cancelled).outcome), runs], ["Error: connection lost", 1]);
  // What a body called itself is not repeated with it.
  const inner = tool({ name: "inner", effect: "none" });
  const composite = failing(lost, {
    execute: async (_: unknown, call: ToolCall) => {
      runs++;
      await call.dispatch("inner", {});
      throw lost();
    },
  });
  runs = 0;
  await run(session, [composite, inner]);
  assertEquals(runs, 1);
});

Deno.test("exec/T06: outside of a session nobody is asked: what would ask is denied, and no listener hears of it", async () => {
  const { runtime } = new FakeStore();
  const hooks = newHooks();
  const asked: string[] = [];
  hooks.on("approval/request", () => (asked.push("asked"), "allowed-once"));
  let runs = 0;
  const act = tool({ permission: () => ({ decision: "ask" }), execute: () => (runs++, "done") });
  const outcome = await callTool(act, {}, { ...runtime, hooks });
  assertStringIncludes(textOf(outcome), "outside of a session nobody is asked");
  assertEquals([asked, runs], [[], 0]);
});

Deno.test("callTool() runs checks, hooks, guards and nested calls, and logs nothing", async () => {
  const { runtime } = new FakeStore();
  const inner = tool({ name: "inner", execute: (_, call) => `${call.callId} under ${call.rootCallId}` });
  const outer = tool({
    name: "outer",
    parameters: PAYMENT,
    execute: async (_, call) => textOf(await call.dispatch("inner", {})),
  });
  const payment = { to: "alice", amount: 2 };
  const outcome = await callTool(outer, payment, { ...runtime, tools: [inner] });
  assertEquals(textOf(outcome), "direct-outer:ptc:1 under direct-outer");
  assertEquals((await callTool(outer, {}, runtime)).error?.code, "INVALID_ARGS");
  assertEquals((await callTool(outer, { n: NaN }, runtime)).error?.code, "INVALID_ARGS");
  const guards = [() => "not today"];
  assertEquals(textOf(await callTool(outer, payment, { ...runtime, guards })), "Error: not today");
  const signal = AbortSignal.abort();
  assertEquals((await callTool(outer, payment, { ...runtime, signal })).error?.code, "ABORTED_BEFORE_DISPATCH");
});
