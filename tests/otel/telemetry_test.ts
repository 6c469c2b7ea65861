import { context, trace, type TracerProvider } from "@opentelemetry/api";
import { assert, assertEquals } from "@std/assert";
import {
  createAgent,
  defineTool,
  type JsonValue,
  type Model,
  scripted,
  type StreamChunk,
  type Tool,
} from "../../mod.ts";
import { MemoryStorage, openMemoryStore } from "../../src/entry/memory.ts";
import { instrumentAgent, METRIC_NAMES } from "../../src/otel/mod.ts";
import { FollowingContext, SeenMeter, type SeenSpan, SeenTracer } from "./telemetry_support.ts";

const SECRET = "the password is 1234";

const pay = defineTool({
  name: "pay",
  description: "Pays",
  parameters: { type: "object" },
  execute: async (_args, call) => {
    await call.dispatch("look", { at: SECRET });
    return SECRET;
  },
});
const look = defineTool({
  name: "look",
  description: "Looks",
  parameters: { type: "object" },
  effect: "none",
  execute: () => SECRET,
});
const fail = defineTool({
  name: "fail",
  description: "Fails",
  parameters: { type: "object" },
  effect: "none",
  execute: () => Promise.reject(new RangeError(SECRET)),
});

/** An agent under a tracer and a meter that remember. */
function telemetered(steps: Parameters<typeof scripted>[0], options: { tools?: Tool[]; model?: Model } = {}) {
  const storage = new MemoryStorage({ simulate: "disk" });
  const store = openMemoryStore({ storage });
  const agent = createAgent({
    store,
    model: options.model ?? scripted(steps),
    tools: options.tools ?? [pay, look, fail],
    approvers: [() => "allowed-once"],
  });
  const tracer = new SeenTracer();
  const meter = new SeenMeter();
  let nowMs = 0;
  const stop = instrumentAgent(agent, { tracerProvider: tracer, meterProvider: meter, nowMs: () => nowMs += 5 });
  return { agent, tracer, meter, stop, storage, store };
}

const call = (name: string, args: JsonValue = { to: SECRET }) => ({ call: { name, arguments: args } });

function facts(span: SeenSpan, ...names: string[]): unknown[] {
  return names.map((name) => span.attributes[name]);
}

Deno.test("otel: a turn holds its steps, and they their requests, calls and barriers; a body's call is below it", async () => {
  const { agent, tracer } = telemetered([[call("pay")], [{ text: "Paid." }]]);
  const session = await agent.create({ id: "s1" });
  await session.send(SECRET);
  await session.close();
  assertEquals(tracer.spans.map(({ path }) => path), [
    "turn",
    "turn > barrier",
    "turn > step",
    "turn > step > barrier",
    "turn > step > request",
    "turn > step > call",
    "turn > step > barrier",
    "turn > step > barrier",
    "turn > step > call > barrier",
    "turn > step > call > call",
    "turn > barrier",
    "turn > step",
    "turn > step > barrier",
    "turn > step > request",
  ]);
  assertEquals(tracer.spans.map(({ ends }) => ends), tracer.spans.map(() => 1));
  assertEquals(tracer.spans.filter(({ isError }) => isError), []);
  const barriers = tracer.named("barrier").map(({ attributes }) => attributes["holdfast.barrier"]);
  assertEquals(barriers, ["pre-step", "model", "question", "question", "tool", "pre-step", "model"]);
  const [outer, inner] = tracer.named("call");
  const names = ["gen_ai.tool.name", "holdfast.effect", "holdfast.session.id"];
  assertEquals(facts(outer!, ...names), ["pay", "opaque", "s1"]);
  assertEquals(facts(inner!, ...names), ["look", "none", "s1"]);
  assertEquals(outer!.events.map(({ name }) => name), ["holdfast.approval.asked"]);
  const [request] = tracer.named("request");
  const asked = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"];
  assertEquals(facts(request!, ...asked), ["chat", "scripted", "scripted"]);
  assertEquals(request!.attributes["gen_ai.response.finish_reasons"], ["tool-calls"]);
  assertEquals(facts(tracer.named("turn")[0]!, "holdfast.turn", "holdfast.turn.reason"), [1, "completed"]);
});

Deno.test("otel: no attribute, no event and no status holds what anybody wrote", async () => {
  const odd = "pay the password is 1234";
  const { agent, tracer, meter } = telemetered([
    [call("pay"), call("fail"), call(odd), { text: SECRET }],
    [{ error: { message: SECRET, code: SECRET } }],
  ]);
  const session = await agent.create();
  await session.send(SECRET);
  await session.close();
  const told = tracer.spans.map(({ name, attributes, events, message }) => ({ name, attributes, events, message }));
  assertEquals(JSON.stringify(told).includes("1234"), false);
  assertEquals(JSON.stringify([...meter.values]).includes("1234"), false);
  const errors = tracer.spans.filter(({ isError }) => isError).map((
    span,
  ) => [span.path, span.attributes["error.type"]]);
  assertEquals(errors, [
    ["turn", "other"],
    ["turn > step > call", "TOOL_FAILED"],
    ["turn > step > call", "UNKNOWN_TOOL"],
    ["turn > step > request", "other"],
  ]);
  const calls = tracer.named("call").filter(({ parent }) => parent?.name === "holdfast.step");
  assertEquals(calls.map(({ attributes }) => attributes["gen_ai.tool.name"]), ["pay", "fail", undefined]);
});

Deno.test("otel: what a model and a tool do is below their spans, and a turn is below what is current outside", async () => {
  const manager = new FollowingContext();
  assert(context.setGlobalContextManager(manager));
  try {
    const seen: (string | undefined)[] = [];
    const path = () => (trace.getActiveSpan() as SeenSpan | undefined)?.path;
    const note = defineTool({
      name: "note",
      description: "",
      parameters: {},
      effect: "none",
      async execute() {
        await Promise.resolve();
        seen.push(path());
        return "";
      },
    });
    const inner = scripted([[call("note")], [{ text: "hi" }]]);
    const model: Model = {
      ...inner,
      provider: inner.provider,
      id: inner.id,
      async *stream(...args): AsyncGenerator<StreamChunk> {
        for await (const chunk of inner.stream(...args)) {
          if (chunk.type === "finish") seen.push(path());
          yield chunk;
        }
      },
    };
    const { agent, tracer } = telemetered([], { model, tools: [note] });
    const session = await agent.create();
    const outside = tracer.getTracer().startSpan("outside");
    await context.with(trace.setSpan(context.active(), outside), () => session.send("go"));
    await session.close();
    const [request, body] = ["outside > turn > step > request", "outside > turn > step > call"];
    assertEquals(seen, [request, body, request]);
  } finally {
    context.disable();
  }
});

Deno.test("otel: flushes and barriers are timed, batches counted, and what is at risk is told until it is durable", async () => {
  const { agent, meter, storage } = telemetered([[{ text: "hi" }]]);
  const session = await agent.create();
  const risk = () => [meter.read(METRIC_NAMES.atRiskEvents), meter.read(METRIC_NAMES.atRiskSize)];
  assertEquals(risk(), [[0], [0]]);
  session.inject("later");
  const pending = session.session.pendingEvents;
  assert(pending > 0 && session.session.pendingSize > 0);
  assertEquals(risk(), [[pending], [session.session.pendingSize]]);
  await session.session.flush();
  assertEquals(risk(), [[0], [0]]);
  assertEquals(meter.of(METRIC_NAMES.batchEvents).map(({ value }) => value), [pending]);
  const [size] = meter.of(METRIC_NAMES.batchSize);
  assert(size!.value > 100);
  assertEquals(meter.of(METRIC_NAMES.flushDuration), [{ value: 0.005, attributes: {} }]);

  await session.send("hello");
  const barriers = meter.of(METRIC_NAMES.barrierDuration);
  assertEquals(barriers.map(({ attributes }) => attributes), [
    { "holdfast.barrier": "pre-step" },
    { "holdfast.barrier": "model" },
  ]);
  assert(barriers.every(({ value }) => value > 0));

  storage.failAt({ operation: "append", kind: "enospc", times: Infinity });
  session.inject("too late");
  const before = meter.of(METRIC_NAMES.flushDuration).length;
  await session.session.flush().catch(() => {});
  const failed = meter.of(METRIC_NAMES.flushDuration).slice(before);
  assertEquals(failed.map(({ attributes }) => attributes["error.type"]), ["STORAGE_FULL"]);
  storage.heal();
  await session.close();
  assertEquals(risk(), [[0], [0]]);
});

Deno.test("otel: a barrier that is refused ends its span with the code", async () => {
  const { agent, tracer, storage } = telemetered([[{ text: "hi" }]]);
  const session = await agent.create();
  storage.failAt({ operation: "stageAppend", kind: "enospc" });
  await session.send("hello");
  const [barrier] = tracer.named("barrier");
  assertEquals([barrier!.isError, barrier!.attributes["error.type"]], [true, "CHECKPOINT_FAILED"]);
  assertEquals(tracer.named("turn")[0]!.attributes["error.type"], "CHECKPOINT_FAILED");
  await session.close();
});

Deno.test("otel: closing a session or stopping ends what is open, once, and stopping leaves no listener", async () => {
  const hanging = Promise.withResolvers<string>();
  const running = Promise.withResolvers<void>();
  const hang = defineTool({
    name: "hang",
    description: "",
    parameters: {},
    effect: "none",
    execute() {
      running.resolve();
      return hanging.promise;
    },
  });
  const { agent, tracer, stop, meter } = telemetered([[call("hang")], [{ text: "hi" }]], { tools: [hang] });
  const session = await agent.create();
  const sent = session.send("go");
  await running.promise;
  stop();
  const made = tracer.spans.length;
  assertEquals(tracer.spans.map(({ ends }) => ends), tracer.spans.map(() => 1));
  assertEquals(tracer.named("call")[0]!.attributes["error.type"], "CUT_SHORT");
  hanging.resolve("");
  await sent;
  await session.close();
  assertEquals(tracer.spans.length, made);
  for (const name of ["agent/created", "agent/disposed", "llm/stream", "tools/execute", "tools/result"] as const) {
    assertEquals(agent.hooks.count(name), 0, name);
  }
  assertEquals(meter.read(METRIC_NAMES.atRiskSize), []);
});

Deno.test("otel: a tracer and a meter that throw harm nobody", async () => {
  const agent = createAgent({
    store: openMemoryStore({ simulate: "disk" }),
    model: scripted([[call("pay")], [{ text: "Paid." }]]),
    tools: [pay, look],
    approvers: [() => "allowed-once"],
  });
  const thrower = () => {
    throw new Error("no telemetry today");
  };
  const tracerProvider = { getTracer: () => ({ startSpan: thrower, startActiveSpan: thrower }) } as TracerProvider;
  const meter = new SeenMeter();
  const meterProvider = {
    getMeter: () => ({ ...meter.getMeter(), createHistogram: () => ({ record: thrower }) }) as never,
  };
  instrumentAgent(agent, { tracerProvider, meterProvider });
  const session = await agent.create();
  assertEquals((await session.send("pay")).reason.kind, "completed");
  await session.close();
});

Deno.test("otel: a resumed session is measured too, from then on", async () => {
  const { agent, tracer } = telemetered([[{ text: "one" }], [{ text: "two" }]]);
  const first = await agent.create({ id: "again" });
  await first.send("go");
  await first.close();
  const second = await agent.resume("again");
  await second.send("go");
  await second.close();
  assertEquals(tracer.named("turn").map(({ attributes }) => attributes["holdfast.turn"]), [1, 2]);
});
