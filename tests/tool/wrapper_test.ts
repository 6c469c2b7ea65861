import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { defineTool, outcomeUnknown, type ToolCall, ToolError, type ToolOutcome } from "../../src/tool/mod.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { callTypes, checkPromises, dataOf, newHooks, openStep, reached, run, textOf, tool } from "./tool_support.ts";

/** A tool that counts its rows. */
function counting(execute: (call: ToolCall) => unknown) {
  return defineTool({
    name: "act",
    description: "",
    parameters: {},
    effect: "none",
    output: { schema: { type: "integer" }, render: (_args, value) => `${value} rows` },
    execute: (_, call) => execute(call),
  });
}

Deno.test("exec/E13, exec/I01: a retry wrapper runs the whole inner chain again, under one marker and one key", async () => {
  const { store, session } = await openStep();
  const order: string[] = [];
  const hooks = newHooks();
  hooks.on("tools/execute", async (_, next) => {
    order.push(`retry after ${store.events("s1").at(-1)?.type}`);
    const first = await next();
    return first.isError ? await next() : first;
  });
  hooks.on("tools/execute", (_, next) => (order.push("L1"), next()));
  hooks.on("tools/execute", (_, next) => (order.push("L2"), next()));
  const calls: ToolCall[] = [];
  const act = tool({
    effect: "keyed",
    execute: (_, call) => {
      calls.push(call);
      order.push("body");
      if (calls.length === 1) throw new Error("try again");
      return "done";
    },
  });
  const end = await run(session, [act], { id: "model-1" }, { hooks });
  assertEquals(textOf(end.outcome), "done");
  assertEquals(order, ["retry after effect/dispatched", "L1", "L2", "body", "L1", "L2", "body"]);
  assertEquals(calls.map(({ callId, effectKey }) => [callId, effectKey]), [
    ["model-1", calls[0]!.effectKey],
    ["model-1", calls[0]!.effectKey],
  ]);
  assertEquals((await dataOf(session, "effect/dispatched")).length, 1);
  await checkPromises(session);
});

Deno.test("exec/C21: a wrapper with side effects runs behind the barrier, whatever the order of registration", async () => {
  const { store, session } = await openStep();
  const hooks = newHooks();
  let sideEffects = 0;
  hooks.on("tools/execute", (_, next) => (sideEffects++, next()), { prepend: true });
  const release = store.hold();
  const marked = reached(session, "effect/dispatched");
  const done = run(session, [tool()], {}, { hooks });
  await marked;
  assertEquals(sideEffects, 0);
  release();
  await done;
  assertEquals(sideEffects, 1);
});

Deno.test("exec/T19: a caller's abort reaches the body through a wrapper's own signal; reviewers see the caller's", async () => {
  const { session } = await openStep();
  const controller = new AbortController();
  const own = new AbortController();
  const hooks = newHooks();
  hooks.on("tools/execute", async (call, next) => {
    const before = call.signal;
    call.signal = own.signal;
    const outcome = await next();
    call.signal = before;
    return outcome;
  });
  const reviewed: AbortSignal[] = [];
  hooks.on("tools/post-execute", (call, _, next) => (reviewed.push(call.signal), next()));
  const seen: boolean[] = [];
  const act = tool({
    effect: "none",
    execute: (_, { signal }) => {
      controller.abort(new Error("enough"));
      seen.push(signal.aborted);
      return "done";
    },
  });
  const end = await run(session, [act], {}, { hooks, signal: controller.signal });
  assertEquals([end.outcome.error?.code, seen], ["ABORTED", [true]]);
  assertEquals(reviewed, [controller.signal]);
});

Deno.test("exec/T38: a wrapper that puts an aborted signal in place: the body does not run", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/execute", (call, next) => {
    call.signal = AbortSignal.abort();
    return next();
  });
  let runs = 0;
  const end = await run(session, [tool({ execute: () => (runs++, "done") })], {}, { hooks });
  assertEquals([end.outcome.error?.code, runs], ["ABORTED_BEFORE_DISPATCH", 0]);
  const nonsense = newHooks();
  nonsense.on("tools/execute", (call, next) => {
    call.signal = { aborted: true } as never;
    return next();
  });
  assertStringIncludes(textOf((await run(session, [tool()], {}, { hooks: nonsense })).outcome), "no AbortSignal");
});

Deno.test("a wrapper's own signal stops the body; an effect it may have had is unknown, a success of its stands", async () => {
  const { session } = await openStep();
  let own = new AbortController();
  const hooks = newHooks();
  hooks.on("tools/execute", (call, next) => {
    call.signal = own.signal;
    return next();
  });
  const act = tool({
    execute: (args, { signal }) => {
      own.abort(new Error("the wrapper's deadline"));
      return args === 1 ? "done" : Promise.reject(signal.reason);
    },
  });
  assertEquals(textOf((await run(session, [act], { arguments: "1" }, { hooks })).outcome), "done");
  own = new AbortController();
  const gaveUp = await run(session, [act], { arguments: "2" }, { hooks });
  assertEquals(gaveUp.outcome.error?.code, "TOOL_OUTCOME_UNKNOWN");
});

Deno.test("exec/T20: a wrapper's success without next() runs no body and is checked like a body's", async () => {
  const { session } = await openStep();
  let runs = 0;
  const act = counting(() => (runs++, 1));
  const answer = async (given: unknown, called = act) => {
    const hooks = newHooks();
    hooks.on("tools/execute", () => given as never);
    return (await run(session, [called], {}, { hooks })).outcome;
  };
  const cached = await answer({ isError: false, value: 7 });
  assertEquals([textOf(cached), cached.value], ["7 rows", 7]);
  assertEquals((await answer({ isError: false, value: 1.5 })).error?.code, "INVALID_TOOL_OUTPUT");
  assertEquals((await answer({ isError: false, content: "7 rows" })).error?.code, "INVALID_TOOL_OUTPUT");
  assertEquals(textOf(await answer({ isError: true, message: "no" })), "Error: no");
  const coded = await answer({ isError: true, message: "no", error: { name: "E", code: "NO" } });
  assertEquals([textOf(coded), coded.error], ["Error: no", { name: "E", code: "NO" }]);
  const plain = tool({ effect: "none", execute: () => (runs++, "x") });
  assertEquals(textOf(await answer({ isError: false, content: "from the cache" }, plain)), "from the cache");
  for (
    const nonsense of [undefined, null, 7, "done", {}, { isError: "no" }, { isError: false, content: [{ type: "?" }] }]
  ) {
    assertEquals((await answer(nonsense, plain)).isError, true);
  }
  assertEquals(runs, 0);
});

Deno.test("a wrapper that changes what next() gave has it checked and rendered again", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/execute", async (_, next) => {
    const outcome = await next() as ToolOutcome;
    assert(Object.isFrozen(outcome) && Object.isFrozen(outcome.content));
    return { ...outcome, value: (outcome.value as number) + 1 };
  });
  const act = counting((call) => {
    call.deferContext("seen");
    call.concludeTurn();
    return 1;
  });
  const end = await run(session, [act], {}, { hooks });
  assertEquals([textOf(end.outcome), end.concludesTurn, end.additionalContexts.length], ["2 rows", true, 1]);
});

Deno.test("exec/T21: a wrapper that throws gives an error result, and reviewers do not see it", async () => {
  const { session } = await openStep();
  const broken = newHooks();
  const reviews: string[] = [];
  broken.on("tools/execute", () => {
    throw new ToolError("WRAPPER", "broke");
  });
  broken.on("tools/post-execute", (_, __, next) => (reviews.push("review"), next()));
  let runs = 0;
  const end = await run(session, [tool({ execute: () => (runs++, "done") })], {}, { hooks: broken });
  assertEquals([end.outcome.error?.code, textOf(end.outcome), runs, reviews], ["WRAPPER", "Error: broke", 0, []]);

  // Behind it a body with an effect has run: the model must not take the failure for "nothing happened".
  const late = newHooks();
  late.on("tools/execute", async (_, next) => {
    await next();
    throw new Error("broke");
  });
  const lost = await run(session, [tool({ execute: () => (runs++, "paid") })], { arguments: "1" }, { hooks: late });
  assertEquals([lost.outcome.error?.code, runs], ["TOOL_OUTCOME_UNKNOWN", 1]);
  assertStringIncludes(textOf(lost.outcome), "broke. The tool ran before that");
  assertEquals(session.folds.unresolved.effects.length, 1);
  const failed = tool({ execute: () => Promise.reject(new Error("refused")) });
  assertEquals((await run(session, [failed], { arguments: "2" }, { hooks: late })).outcome.error, undefined);
});

Deno.test("a repetition that fails does not settle a try that left its effect open", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/execute", async (_, next) => {
    const first = await next();
    return first.isError ? await next() : first;
  });
  let tries = 0;
  const act = tool({
    effect: "keyed",
    execute: (args) => {
      if (++tries % 2 === 1) throw outcomeUnknown("no answer");
      if (args === 1) throw new Error("refused");
      return "done";
    },
  });
  const failed = await run(session, [act], { arguments: "1" }, { hooks });
  assertEquals(failed.outcome.error?.code, "TOOL_OUTCOME_UNKNOWN");
  assertStringIncludes(textOf(failed.outcome), "refused. An earlier try");
  assertEquals(session.folds.unresolved.effects.length, 1);
  assertEquals(textOf((await run(session, [act], { arguments: "2" }, { hooks })).outcome), "done");
  assertEquals(session.folds.unresolved.effects.length, 1);
});

Deno.test("a wrapper that keeps next() for later runs no body once the call is answered", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  let later: () => unknown = () => {};
  hooks.on("tools/execute", (_, next) => {
    later = next;
    return { isError: false, content: "early" };
  });
  let runs = 0;
  await run(session, [tool({ execute: () => (runs++, "done") })], {}, { hooks });
  await assertRejects(async () => await later(), TypeError, "the call is answered");
  assertEquals(runs, 0);
});

Deno.test("a wrapper that answers before its body ends leaves no body behind", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/execute", (_, next) => {
    void next();
    return { isError: false, content: "early" };
  });
  const body = Promise.withResolvers<string>();
  let told: AbortSignal | null = null;
  const act = tool({ execute: (_, { signal }) => (told = signal, body.promise) });
  let isAnswered = false;
  const done = run(session, [act], {}, { hooks }).then((end) => (isAnswered = true, end));
  await settle();
  assertEquals([isAnswered, (told as AbortSignal | null)?.aborted], [false, true]);
  body.resolve("late");
  assertEquals(textOf((await done).outcome), "early");
  assertEquals(await callTypes(session), ["tool/call", "effect/dispatched", "tool/result"]);
});

Deno.test("a wrapper that runs the body without end is stopped at a bound", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/execute", async (_, next) => {
    for (;;) await next();
  });
  let runs = 0;
  const end = await run(session, [tool({ effect: "none", execute: () => (runs++, "done") })], {}, { hooks });
  assertEquals(runs, 100);
  assertStringIncludes(textOf(end.outcome), "100 times");
});

Deno.test("exec/T15: a body that ignores the cancel is waited for, also when a wrapper hangs around it", async () => {
  const clock = new FakeClock();
  const { session } = await openStep({ clock });
  const hooks = newHooks();
  hooks.on("tools/execute", async (_, next) => {
    await next();
    return await new Promise<never>(() => {});
  });
  const body = Promise.withResolvers<string>();
  const controller = new AbortController();
  const done = run(session, [tool({ execute: () => body.promise })], {}, { hooks, signal: controller.signal });
  await settle();
  controller.abort(new Error("enough"));
  await clock.advance(60_000);
  body.resolve("paid 10");
  await clock.advance(1_000);
  const { outcome } = await done;
  assertEquals(outcome.error?.code, "ABORTED");
  assertStringIncludes(textOf(outcome), "paid 10");
});

Deno.test("exec/T17: a tool's time is up: TOOL_TIMEOUT, and a later abort does not change it", async () => {
  const clock = new FakeClock();
  const { session } = await openStep({ clock });
  const controller = new AbortController();
  const act = tool({
    effect: "none",
    timeoutMs: 50,
    execute: (_, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          controller.abort(new Error("later"));
          reject(signal.reason);
        })
      ),
  });
  const done = run(session, [act], {}, { signal: controller.signal });
  await clock.advance(49);
  await clock.advance(1);
  const { outcome } = await done;
  assertEquals(outcome.error, { name: "ToolTimeoutError", code: "TOOL_TIMEOUT" });
  assertEquals(textOf(outcome), "Error: the tool did not end within 50 ms");
  assertEquals(clock.pendingTimers <= 1, true);
});

Deno.test("field/B07, exec/T17: a timeout of a tool with an effect leaves it unresolved, and an equal call repeats it", async () => {
  const clock = new FakeClock();
  const { session } = await openStep({ clock });
  const calls: ToolCall[] = [];
  const act = tool({
    effect: "keyed",
    timeoutMs: 50,
    execute: (_, call) => {
      calls.push(call);
      if (calls.length === 3) return "done";
      return new Promise<string>((resolve, reject) =>
        call.signal.addEventListener("abort", () => calls.length === 1 ? resolve("paid") : reject(call.signal.reason))
      );
    },
  });
  const outcomes: ToolOutcome[] = [];
  for (const id of ["c1", "c2", "c3"]) {
    const reachedBody = reached(session, "effect/dispatched");
    const done = run(session, [act], { id, arguments: '{"to":"a"}' });
    await reachedBody;
    await clock.advance(50);
    outcomes.push((await done).outcome);
  }
  assertEquals(outcomes.map(({ error }) => error?.code), ["TOOL_TIMEOUT", "TOOL_TIMEOUT", undefined]);
  assertStringIncludes(textOf(outcomes[0]!), "probably happened");
  assertStringIncludes(textOf(outcomes[0]!), "paid");
  assertStringIncludes(textOf(outcomes[1]!), "unknown: check before repeating");
  assertEquals(new Set(calls.map(({ effectKey }) => effectKey)).size, 1);
  assertEquals(calls.map(({ retryOf }) => retryOf), [undefined, calls[0]!.callSeq, calls[0]!.callSeq]);
  assertEquals(session.folds.unresolved.effects, []);
  await checkPromises(session);
});

Deno.test("a cancel that comes before the deadline is no timeout", async () => {
  const clock = new FakeClock();
  const { session } = await openStep({ clock });
  const controller = new AbortController();
  const body = Promise.withResolvers<string>();
  const act = tool({ effect: "none", timeoutMs: 50, execute: () => body.promise });
  const done = run(session, [act], {}, { signal: controller.signal });
  await settle();
  controller.abort(new Error("enough"));
  await clock.advance(50);
  body.resolve("read");
  assertEquals((await done).outcome.error?.code, "ABORTED");
});

Deno.test("exec/C21: the time of the flush does not count against a tool's deadline", async () => {
  const clock = new FakeClock();
  const { store, session } = await openStep({ clock });
  const release = store.hold();
  const marked = reached(session, "effect/dispatched");
  const done = run(session, [tool({ timeoutMs: 50 })]);
  await marked;
  await clock.advance(10_000);
  release();
  assertEquals(textOf((await done).outcome), "done");
});
