import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { ApprovalRequest } from "../../src/approval/mod.ts";
import { StorageFullError } from "../../src/errors.ts";
import { argumentsDigest, type EffectClass } from "../../src/event/mod.ts";
import { openSession } from "../../src/session/mod.ts";
import { defineTool, outcomeUnknown, type ToolCall, type ToolOutcome } from "../../src/tool/mod.ts";
import { settle } from "../support/fake_clock.ts";
import {
  callTypes,
  checkPromises,
  dataOf,
  eventsOf,
  newHooks,
  openStep,
  reached,
  run,
  textOf,
  tool,
} from "./tool_support.ts";

/** A tool whose body makes calls. */
function composite(body: (call: ToolCall) => Promise<string>, effect: EffectClass = "none") {
  return tool({ name: "outer", effect, execute: (_, call) => body(call) });
}

Deno.test("exec/C09: a nested call without effect logs start and end, and has no marker and no flush of its own", async () => {
  const { store, session } = await openStep();
  const inner = tool({ name: "inner", effect: "none", execute: (args) => `got ${JSON.stringify(args)}` });
  const outer = composite(async (call) => textOf(await call.dispatch("inner", { n: 1 })));
  const end = await run(session, [outer, inner], { id: "c1", name: "outer" });
  assertEquals(textOf(end.outcome), 'got {"n":1}');
  assertEquals(await callTypes(session), [
    "tool/call",
    "effect/dispatched",
    "tool/ptc-dispatch-start",
    "tool/ptc-dispatch",
    "tool/result",
  ]);
  assertEquals(store.calls.length, 1);
  const intent = { rootCallId: "c1", parentCallId: "c1", subCallId: "c1:ptc:1", name: "inner", arguments: '{"n":1}' };
  assertEquals(await dataOf(session, "tool/ptc-dispatch-start"), [intent]);
  const ended = (await eventsOf(session)).find(({ type }) => type === "tool/ptc-dispatch");
  assertEquals(ended?.data, { ...intent, isError: false, content: [{ type: "text", text: 'got {"n":1}' }] });
  assertEquals([ended?.surfaceOp, ended?.ignorable], [undefined, undefined]);
  await checkPromises(session);
});

Deno.test("a nested call with an effect has its own marker and key, durable before its body", async () => {
  const { store, session } = await openStep();
  const bodies: unknown[] = [];
  const inner = tool({
    name: "inner",
    effect: "keyed",
    execute: (_, call) => (bodies.push([call, store.events("s1").at(-1)]), "paid"),
  });
  const outer = composite(async (call) => {
    bodies.push(call);
    return textOf(await call.dispatch("inner", { to: "alice" }));
  }, "opaque");
  await run(session, [outer, inner], { id: "c1", name: "outer" });
  const start = (await eventsOf(session)).find(({ type }) => type === "tool/ptc-dispatch-start")!;
  const [outerMarker, innerMarker] = await dataOf(session, "effect/dispatched");
  assertEquals(innerMarker?.callId, "c1:ptc:1");
  assertEquals([innerMarker?.callSeq, innerMarker?.effect], [start.seq, "keyed"]);
  assert(innerMarker!.effectKey !== outerMarker!.effectKey);
  const [call, durable] = bodies[1] as [ToolCall, { data: unknown }];
  assertEquals(durable.data, innerMarker);
  assertEquals([call.effectKey, call.callSeq, call.rootCallId], [innerMarker!.effectKey, start.seq, "c1"]);
  // Its result is durable before its caller goes on.
  const types = store.calls.flatMap(({ types }) => types);
  assert(types.indexOf("tool/ptc-dispatch") < types.indexOf("tool/result"));
  assertEquals(session.folds.unresolved.effects, []);
  await checkPromises(session);
});

Deno.test("exec/I02: nested ids come from the parent and the order of submission, in every depth and over repetitions", async () => {
  const { session } = await openStep();
  const ids: string[] = [];
  const leaf = tool({
    name: "leaf",
    effect: "none",
    execute: (_, call) => (ids.push(`${call.callId} of ${call.rootCallId}`), "x"),
  });
  const middle = tool({
    name: "middle",
    effect: "none",
    execute: async (_, call) => (await call.dispatch("leaf", {}), "x"),
  });
  let runs = 0;
  const outer = composite(async (call) => {
    await Promise.all([call.dispatch("middle", {}), call.dispatch("leaf", {})]);
    if (runs++ === 0) throw new Error("again");
    return "done";
  });
  const hooks = newHooks();
  hooks.on("tools/execute", async (call, next) => {
    const first = await next();
    return first.isError && call.name === "outer" ? await next() : first;
  });
  await run(session, [outer, middle, leaf], { id: "c", name: "outer" }, { hooks });
  assertEquals(ids.sort(), [
    "c:ptc:1:ptc:1 of c",
    "c:ptc:2 of c",
    "c:ptc:3:ptc:1 of c",
    "c:ptc:4 of c",
  ]);
  await checkPromises(session);
});

Deno.test("exec/T25: a nested result keeps the root id, has no meta, and its conclusion travels only when forwarded", async () => {
  const { session } = await openStep();
  const inner = defineTool({
    name: "inner",
    description: "",
    parameters: {},
    effect: "none",
    output: {
      schema: { type: "integer" },
      render: (_args, value) => `${value}`,
      presentationMeta: () => ({ icon: "x" }),
    },
    execute: (_, call) => {
      call.concludeTurn();
      call.deferContext("from inside");
      return 7;
    },
  });
  const seen: unknown[] = [];
  const hooks = newHooks();
  hooks.on("tools/pre-execute", (call, next) => {
    if (call.name === "inner") seen.push([call.rootCallId, call.parentCallId]);
    return next();
  });
  const results: ToolOutcome[] = [];
  const forwarding = (forwards: boolean) =>
    composite(async (call) => {
      const result = await call.dispatch("inner", {});
      results.push(result);
      if (forwards && result.concludesTurn === true) call.concludeTurn();
      return "done";
    });
  const kept = await run(session, [forwarding(false), inner], { id: "c1", name: "outer" }, { hooks });
  const forwarded = await run(session, [forwarding(true), inner], { id: "c2", name: "outer" }, { hooks });
  assertEquals([kept.concludesTurn, forwarded.concludesTurn], [false, true]);
  assertEquals([results[0]!.value, results[0]!.meta, results[0]!.additionalContexts], [7, undefined, undefined]);
  assertEquals(kept.additionalContexts.map(textOf), ["from inside"]);
  assertEquals(seen, [["c1", "c1"], ["c2", "c2"]]);
  assertEquals((await dataOf(session, "tool/result"))[0]?.meta, undefined);
});

Deno.test("a nested call passes policy, approval and guards, bound to its own intent", async () => {
  const { store, session } = await openStep();
  let runs = 0;
  const inner = tool({
    name: "inner",
    permission: () => ({ decision: "ask", reason: "pay" }),
    execute: () => (runs++, "paid"),
  });
  const answers: string[] = [];
  const outer = composite(async (call) => {
    for (let n = 0; n < 3; n++) answers.push(textOf(await call.dispatch("inner", { n })));
    answers.push(textOf(await call.dispatch("gone", {})));
    return "done";
  });
  const approvers = [
    async ({ callId, callSeq, argumentsDigest: digest }: ApprovalRequest) => {
      const intent = store.events("s1")[callSeq!]!;
      assertEquals(intent.type, "tool/ptc-dispatch-start");
      assertEquals(digest, await argumentsDigest((intent.data as { arguments: string }).arguments));
      return callId === "c1:ptc:2" ? "rejected" as const : "allowed-once" as const;
    },
  ];
  const guards = [({ callId }: { callId: string }) => callId === "c1:ptc:3" ? "no more" : undefined];
  await run(session, [outer, inner], { id: "c1", name: "outer" }, { approvers, guards });
  assertEquals(answers, [
    "paid",
    "Error: the call was not allowed: the user said no",
    "Error: no more",
    'Error: there is no tool "gone"',
  ]);
  assertEquals(runs, 1);
  await checkPromises(session);
});

Deno.test("a nested barrier that cannot be passed runs no body, and ends the turn of its root", async () => {
  const { store, session } = await openStep();
  let runs = 0;
  const inner = tool({ name: "inner", execute: () => (runs++, "paid") });
  const outer = composite(async (call) => {
    store.failure = new StorageFullError("no room");
    return textOf(await call.dispatch("inner", {}));
  });
  const end = await run(session, [outer, inner], { name: "outer" });
  store.failure = null;
  assertEquals(runs, 0);
  assertStringIncludes(textOf(end.outcome), "STORAGE_FULL");
  assertEquals((end.refusal as { code?: string }).code, "CHECKPOINT_FAILED");
});

Deno.test("a body that ends before its nested calls tells them to stop and waits for them", async () => {
  const { session } = await openStep();
  const inner = tool({
    name: "inner",
    effect: "none",
    execute: (_, { signal }) =>
      new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
  });
  let late: ToolCall["dispatch"] | null = null;
  const outer = composite((call) => {
    late = call.dispatch;
    void call.dispatch("inner", {});
    return Promise.resolve("done");
  });
  const end = await run(session, [outer, inner], { name: "outer" });
  assertEquals(textOf(end.outcome), "done");
  assertEquals((await callTypes(session)).slice(-2), ["tool/ptc-dispatch", "tool/result"]);
  await assertRejects(() => late!("inner", {}), TypeError, "is over");
  await checkPromises(session);
});

Deno.test("a cancel reaches nested bodies; a nested call's own signal reaches only itself", async () => {
  const { session } = await openStep();
  const controller = new AbortController();
  const own = new AbortController();
  const stopped: string[] = [];
  const inner = tool({
    name: "inner",
    effect: "none",
    execute: (args, { signal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => (stopped.push(String(args)), reject(signal.reason)));
        if (args === "one") own.abort(new Error("only this"));
      }),
  });
  const codes: (string | undefined)[] = [];
  const outer = composite(async (call) => {
    const one = call.dispatch("inner", "one", { signal: own.signal });
    const two = call.dispatch("inner", "two");
    codes.push((await one).error?.code);
    assertEquals(stopped, ["one"]);
    controller.abort(new Error("enough"));
    codes.push((await two).error?.code, (await call.dispatch("inner", "three")).error?.code);
    return "done";
  });
  const end = await run(session, [outer, inner], { name: "outer" }, { signal: controller.signal });
  assertEquals(codes, ["ABORTED", "ABORTED", "ABORTED_BEFORE_DISPATCH"]);
  assertEquals(end.outcome.error?.code, "ABORTED");
  // What did not start left no trace.
  assertEquals((await dataOf(session, "tool/ptc-dispatch-start")).length, 2);
  await checkPromises(session);
});

Deno.test("exec/T34, exec/T40: nested arguments are read once; those that are no JSON end the call unseen and unlogged", async () => {
  const { session } = await openStep();
  let reads = 0;
  const seen: unknown[] = [];
  const told: string[] = [];
  const hooks = newHooks();
  hooks.on("tools/pre-execute", (call, next) => (seen.push(call.arguments), next()));
  hooks.on("tools/result", (call) => told.push(call.callId));
  const inner = tool({ name: "inner", effect: "none", execute: (args) => (seen.push(args), "done") });
  const codes: unknown[] = [];
  const outer = composite(async (call) => {
    const changing = Object.defineProperty({}, "n", { get: () => ++reads, enumerable: true });
    await call.dispatch("inner", changing);
    codes.push((await call.dispatch("inner", { n: 1n }, { signal: AbortSignal.abort() })).error?.code);
    codes.push((await call.dispatch("inner", {}, { signal: AbortSignal.abort() })).error?.code);
    await call.dispatch("inner", undefined);
    return "done";
  });
  await run(session, [outer, inner], { id: "c", name: "outer" }, { hooks });
  assertEquals(seen, [{}, { n: 1 }, { n: 1 }, {}, {}]);
  assert(Object.isFrozen(seen[1]) && seen[1] === seen[2]);
  assertEquals([reads, codes], [1, ["INVALID_ARGS", "ABORTED_BEFORE_DISPATCH"]]);
  assertEquals(told, ["c:ptc:1", "c:ptc:2", "c:ptc:3", "c:ptc:4", "c"]);
});

Deno.test("a nested effect that is left open is not logged as settled, and an equal call of the same body repeats it", async () => {
  const { session } = await openStep();
  const calls: ToolCall[] = [];
  const inner = tool({
    name: "inner",
    effect: "keyed",
    execute: (_, call) => {
      calls.push(call);
      if (calls.length === 1) throw outcomeUnknown("no answer");
      return "paid";
    },
  });
  const outer = composite(async (call) => {
    const first = await call.dispatch("inner", { to: "a" });
    assertEquals(first.error?.code, "TOOL_OUTCOME_UNKNOWN");
    assertEquals(session.folds.unresolved.effects.map(({ callId }) => callId), ["c1:ptc:1"]);
    return textOf(await call.dispatch("inner", { to: "a" }));
  });
  const end = await run(session, [outer, inner], { id: "c1", name: "outer" });
  assertEquals(textOf(end.outcome), "paid");
  assertEquals(calls[1]!.effectKey, calls[0]!.effectKey);
  assertEquals(calls[1]!.retryOf, calls[0]!.callSeq);
  assertEquals((await eventsOf(session)).filter(({ type }) => type === "tool/ptc-dispatch").length, 1);
});

Deno.test("an equal call beside one that runs is a second effect, not its repetition", async () => {
  const { session } = await openStep();
  const calls: ToolCall[] = [];
  const gate = Promise.withResolvers<string>();
  const inner = tool({
    name: "inner",
    effect: "keyed",
    execute: (_, call) => {
      calls.push(call);
      return calls.length === 1 ? gate.promise : "done";
    },
  });
  const outer = composite(async (call) => {
    const first = call.dispatch("inner", {});
    while (calls.length === 0) await settle();
    await call.dispatch("inner", {});
    gate.resolve("done");
    return textOf(await first);
  });
  await run(session, [outer, inner], { name: "outer" });
  assertEquals(new Set(calls.map(({ effectKey }) => effectKey)).size, 2);
  assertEquals(calls[1]?.retryOf, undefined);
  await checkPromises(session);
});

Deno.test("a crash inside a nested body leaves evidence of that effect, under its root", async () => {
  const { store, session } = await openStep();
  const running = reached(session, "effect/dispatched");
  const hung = new Promise<never>(() => {});
  let bodies = 0;
  const inner = tool({ name: "inner", effect: "keyed", execute: () => (bodies++, hung) });
  const outer = composite(async (call) => textOf(await call.dispatch("inner", { to: "a" })));
  void run(session, [outer, inner], { id: "c1", name: "outer" });
  await running;
  await settle();
  assertEquals(bodies, 1);
  const after = store.crash();
  const { session: next, resumed } = await openSession({ store: after, id: "s1" });
  assertEquals(resumed.calls.map(({ callId, class: found }) => [callId, found]), [["c1", "outcome_unknown"]]);
  assertEquals(next.folds.unresolved.effects.map(({ callId, name }) => [callId, name]), [["c1:ptc:1", "inner"]]);
});

Deno.test("what a listener leaves of a nested result is what is logged; the body gets all of it", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on(
    "tools/ptc-dispatch-log",
    (record, next) => record.subCallId.endsWith("1") ? [{ type: "text", text: "cut" }] : next(),
  );
  hooks.on("tools/ptc-dispatch-log", (record) => {
    if (record.subCallId.endsWith("3")) return [{ type: "?" } as never];
    throw new Error("broke");
  });
  const inner = tool({ name: "inner", effect: "none", execute: () => "secret" });
  const got: string[] = [];
  const outer = composite(async (call) => {
    for (let count = 0; count < 3; count++) got.push(textOf(await call.dispatch("inner", {})));
    return "done";
  });
  await run(session, [outer, inner], { name: "outer" }, { hooks });
  assertEquals(got, ["secret", "secret", "secret"]);
  const logged = (await eventsOf(session)).filter(({ type }) => type === "tool/ptc-dispatch");
  const texts = logged.map(({ data }) => textOf(data as never));
  assertEquals(texts[0], "cut");
  for (const text of texts.slice(1)) assertStringIncludes(text, "was not logged");
});

Deno.test("nested calls have bounds: their number and their depth", async () => {
  const { session } = await openStep();
  const inner = tool({ name: "inner", effect: "none" });
  const many = composite(async (call) => {
    for (let count = 0; count < 1000; count++) await call.dispatch("inner", {});
    await call.dispatch("inner", {});
    return "done";
  });
  assertStringIncludes(textOf((await run(session, [many, inner], { name: "outer" })).outcome), "made 1000 calls");
  let deepest = 0;
  const deep = composite(async (call) => {
    deepest = Math.max(deepest, call.callId.split(":ptc:").length - 1);
    return textOf(await call.dispatch("outer", {}));
  });
  assertStringIncludes(textOf((await run(session, [deep], { name: "outer" })).outcome), "8 bodies are around it");
  assertEquals(deepest, 8);
});

Deno.test("a log that takes no events fails the nested call and, at last, its root", async () => {
  const { session } = await openStep();
  const inner = tool({ name: "inner" });
  const errors: unknown[] = [];
  const outer = composite(async (call) => {
    void session.close();
    await call.dispatch("inner", {}).catch((error) => errors.push(error.code));
    return "done";
  });
  await assertRejects(() => run(session, [outer, inner], { name: "outer" }), Error, "closed");
  assertEquals(errors, ["SESSION_CLOSED"]);
});
