import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  defineTool,
  type Guard,
  type HookedCall,
  outcomeUnknown,
  type PreDecision,
  type ToolOutcome,
} from "../../src/tool/mod.ts";
import { commitCall, dispatchCall, prepareCall } from "../../src/tool/pipeline.ts";
import { settle } from "../support/fake_clock.ts";
import {
  callTypes,
  checkPromises,
  contextOf,
  dataOf,
  newHooks,
  openStep,
  propose,
  run,
  textOf,
  tool,
} from "./tool_support.ts";

/** Notes which phases see a call. */
function noting(notes: string[]) {
  const hooks = newHooks();
  hooks.on("tools/pre-execute", (call, next) => (notes.push(`pre ${call.name}`), next()));
  hooks.on("tools/execute", (call, next) => (notes.push(`execute ${call.name}`), next()));
  hooks.on("tools/post-execute", (call, _, next) => (notes.push(`post ${call.name}`), next()));
  hooks.on("tools/result", (call) => notes.push(`result ${call.name}`));
  return hooks;
}

Deno.test("exec/T01: policy sees a call of a tool that does not exist; no wrapper does, and nobody is asked", async () => {
  const { session } = await openStep();
  const notes: string[] = [];
  const hooks = noting(notes);
  hooks.on("tools/pre-execute", () => ({ kind: "ask" }));
  const end = await run(session, [], { name: "gone" }, { hooks, approvers: [() => (notes.push("asked"), "rejected")] });
  assertEquals(end.outcome.error, { name: "UnknownToolError", code: "UNKNOWN_TOOL" });
  assertEquals(notes, ["pre gone", "post gone", "result gone"]);
  assertEquals(await callTypes(session), ["tool/call", "tool/result"]);
});

Deno.test("exec/T02: what a listener denies runs neither wrappers nor body; reviewers and observers still see it", async () => {
  const { session } = await openStep();
  const notes: string[] = [];
  const hooks = noting(notes);
  hooks.on("tools/pre-execute", () => ({ kind: "deny", reason: "not on Sundays" }));
  const act = tool({ execute: () => (notes.push("body"), "done") });
  const end = await run(session, [act], {}, { hooks });
  assertEquals([textOf(end.outcome), end.outcome.error], ["Error: not on Sundays", undefined]);
  assertEquals(notes, ["pre act", "post act", "result act"]);

  const coded = newHooks();
  const info = { name: "PlanError", code: "PLAN_MODE" };
  coded.on("tools/pre-execute", () => ({ kind: "deny", reason: "only plans", info }));
  const denied = await run(session, [act], {}, { hooks: coded });
  assertEquals([textOf(denied.outcome), denied.outcome.error], ["Error: only plans", info]);
  assertEquals((await dataOf(session, "tool/result")).at(-1)?.error, info);
});

Deno.test("a listener decides instead of the tool's own permission, or asks it with next()", async () => {
  const { session } = await openStep();
  const asking = tool({ permission: () => ({ decision: "ask", reason: "its own" }) });
  const allowing = newHooks();
  allowing.on("tools/pre-execute", () => ({ kind: "allow" }));
  assertEquals((await run(session, [asking], {}, { hooks: allowing })).outcome.isError, false);

  const reasons: unknown[] = [];
  const approvers = [(request: { reason?: string }) => (reasons.push(request.reason), "allowed-once" as const)];
  const passing = newHooks();
  passing.on("tools/pre-execute", async (_, next) => {
    const decision = await next();
    return decision.kind === "ask" ? { kind: "ask", reason: `${decision.reason}, and mine` } : decision;
  });
  await run(session, [asking], {}, { hooks: passing, approvers });
  const insisting = newHooks();
  insisting.on("tools/pre-execute", () => ({ kind: "ask" }));
  await run(session, [tool()], {}, { hooks: insisting, approvers });
  assertEquals(reasons, ["its own, and mine", undefined]);
});

Deno.test("exec/T03: an ask finds no approver: denied with the ask's own reason", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/pre-execute", () => ({ kind: "ask", reason: "10 to alice" }));
  const end = await run(session, [tool()], {}, { hooks });
  assertStringIncludes(textOf(end.outcome), "10 to alice");
  assertStringIncludes(textOf(end.outcome), "no approver is connected");
});

Deno.test("a listener cannot allow an opaque repetition of an unknown effect without a question", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/pre-execute", () => ({ kind: "allow" }));
  let runs = 0;
  const act = tool({
    execute: () => {
      runs++;
      throw outcomeUnknown("no answer");
    },
  });
  await run(session, [act], { id: "c1" }, { hooks });
  const refused = await run(session, [act], { id: "c2" }, { hooks });
  assertStringIncludes(textOf(refused.outcome), "may already have taken effect");
  assertEquals(runs, 1);
});

Deno.test("exec/T07: no listener and no order of registration opens again what a guard denies", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/pre-execute", () => ({ kind: "allow" }), { prepend: true });
  hooks.on("tools/post-execute", (_, __, next) => next());
  let runs = 0;
  const act = tool({ execute: () => (runs++, "done") });
  const guards: Guard[] = [() => undefined, ({ name, effect }) => `${name} is ${effect}`];
  assertEquals(textOf((await run(session, [act], {}, { hooks, guards })).outcome), "Error: act is opaque");
  const rejecting = () => Promise.reject(new Error("late"));
  for (const guard of [() => null, () => 0, () => true, () => ({}), () => Promise.resolve(undefined), rejecting]) {
    const end = await run(session, [act], {}, { guards: [guard as never] });
    assertStringIncludes(textOf(end.outcome), "neither a reason nor nothing");
  }
  assertEquals(runs, 0);
});

Deno.test("guards do not look at what is denied already", async () => {
  const { session } = await openStep();
  const seen: string[] = [];
  const hooks = newHooks();
  hooks.on("tools/pre-execute", () => ({ kind: "deny", reason: "no" }));
  await run(session, [tool()], {}, { hooks, guards: [({ name }) => void seen.push(name)] });
  assertEquals(seen, []);
});

Deno.test("exec/T12: a signal aborted before the call: no phase runs, one notification", async () => {
  const { session } = await openStep();
  const notes: string[] = [];
  const finalizeContent = () => (notes.push("finalize"), "x");
  const context = { hooks: noting(notes), signal: AbortSignal.abort() };
  const end = await run(session, [tool({ finalizeContent })], {}, context);
  assertEquals(end.outcome.error, { name: "AbortError", code: "ABORTED_BEFORE_DISPATCH" });
  assertEquals(notes, ["result act"]);
});

Deno.test("exec/T40: unusable arguments win over an abort; one notification and no phase", async () => {
  const { session } = await openStep();
  const notes: string[] = [];
  const context = { hooks: noting(notes), signal: AbortSignal.abort() };
  const end = await run(session, [tool()], { arguments: '{"n":1e999}' }, context);
  assertEquals(end.outcome.error?.code, "INVALID_ARGS");
  assertEquals(notes, ["result act"]);
});

Deno.test("exec/T13: a caller that aborts while policy thinks: an allow is void, a denial stands", async () => {
  const { session } = await openStep();
  const decideLate = async (decision: PreDecision) => {
    const gate = Promise.withResolvers<PreDecision>();
    const controller = new AbortController();
    const hooks = newHooks();
    hooks.on("tools/pre-execute", () => gate.promise);
    let runs = 0;
    const act = tool({ execute: () => (runs++, "done") });
    const done = run(session, [act], {}, { hooks, signal: controller.signal });
    await settle();
    controller.abort(new Error("enough"));
    await settle();
    gate.resolve(decision);
    const { outcome } = await done;
    assertEquals(runs, 0);
    return outcome.error?.code ?? textOf(outcome);
  };
  assertEquals(await decideLate({ kind: "allow" }), "ABORTED_BEFORE_DISPATCH");
  assertEquals(await decideLate({ kind: "ask" }), "ABORTED_BEFORE_DISPATCH");
  assertEquals(await decideLate({ kind: "deny", reason: "no" }), "Error: no");
  assertEquals(await dataOf(session, "approval/asked"), []);
});

Deno.test("exec/T36: a listener that cancels gives the canonical result, and no denial text", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/pre-execute", () => ({ kind: "cancel" }));
  let runs = 0;
  const end = await run(session, [tool({ execute: () => (runs++, "done") })], {}, { hooks });
  assertEquals(end.outcome.error, { name: "AbortError", code: "ABORTED_BEFORE_DISPATCH" });
  assertEquals([textOf(end.outcome), runs], ["Error: tool call aborted before dispatch", 0]);
});

Deno.test("exec/T33: policy sees calls in the model's order and one at a time, reviewers in the same order", async () => {
  const { session } = await openStep();
  const notes: string[] = [];
  const hooks = newHooks();
  let deciding = 0;
  hooks.on("tools/pre-execute", async ({ callId }, next) => {
    assertEquals(++deciding, 1);
    notes.push(`pre ${callId}`);
    await settle();
    deciding--;
    return next();
  });
  hooks.on("tools/post-execute", ({ callId }, _, next) => (notes.push(`post ${callId}`), next()));
  const gates = new Map(["a", "b", "c"].map((id) => [id, Promise.withResolvers<string>()]));
  const act = tool({ effect: "none", execute: (_, { callId }) => gates.get(callId)!.promise });
  const context = contextOf(session, [act], { hooks });
  const calls = [...gates.keys()].map((id) => ({ id, name: "act", arguments: "{}" }));
  propose(session, calls);
  const settled = [];
  for (const { id: callId, name, arguments: text } of calls) {
    settled.push(
      dispatchCall(await prepareCall({ turn: 1, step: 1, callId, name, arguments: text }, context), context),
    );
  }
  for (const id of ["c", "a", "b"]) {
    gates.get(id)!.resolve(id);
    await settle();
  }
  for (const call of settled) await commitCall(await call, context);
  assertEquals(notes, ["pre a", "pre b", "pre c", "post a", "post b", "post c"]);
  const results = await dataOf(session, "tool/result");
  assertEquals(results.map(({ message }) => message.source.callId), ["a", "b", "c"]);
  await checkPromises(session);
});

Deno.test("exec/T34: hooks see the one frozen snapshot, and nothing of a call can be changed", async () => {
  const { session } = await openStep();
  const seen = new Set<unknown>();
  const hooks = newHooks();
  const tamper = (call: HookedCall) => {
    seen.add(call.arguments);
    for (const change of [{ name: "other" }, { callId: "x" }, { arguments: {} }, { effect: "none" }]) {
      try {
        Object.assign(call, change);
      } catch {
        continue;
      }
      throw new Error(`changed ${JSON.stringify(change)}`);
    }
  };
  hooks.on("tools/pre-execute", (call, next) => (tamper(call), next()));
  hooks.on("tools/execute", (call, next) => (tamper(call as HookedCall), next()));
  hooks.on("tools/post-execute", (call, _, next) => (tamper(call), next()));
  const act = tool({ parameters: { type: "object" }, execute: (args) => (seen.add(args), "done") });
  const end = await run(session, [act], { arguments: '{"deep":[1]}' }, { hooks });
  assertEquals(textOf(end.outcome), "done");
  assertEquals(seen.size, 1);
});

Deno.test("exec/T23: a reviewer that replaces content and value, or the value of a failure, makes it an error", async () => {
  const { session } = await openStep();
  const review = async (decision: unknown, failing = false) => {
    const hooks = newHooks();
    hooks.on("tools/post-execute", () => decision as never);
    const act = defineTool({
      name: "act",
      description: "",
      parameters: {},
      effect: "none",
      output: { schema: { type: "integer" }, render: (_args, value) => `${value} rows` },
      execute: () => failing ? Promise.reject(new Error("no table")) : 3,
    });
    return (await run(session, [act], {}, { hooks })).outcome;
  };
  for (
    const decision of [{ kind: "accept", content: "x", value: 4 }, { kind: "accept", value: 1.5 }, undefined, {
      kind: "?",
    }]
  ) {
    assertEquals((await review(decision)).isError, true);
  }
  const failed = await review({ kind: "accept", value: 4 }, true);
  assertStringIncludes(textOf(failed), "replaced the value of a failure");

  const valued = await review({ kind: "accept", value: 4 });
  assertEquals([textOf(valued), valued.value], ["4 rows", 4]);
  assertEquals(textOf(await review({ kind: "accept", content: "three" })), "three");
  const explained = await review({ kind: "accept", content: "Error: no table; make one" }, true);
  assertEquals([textOf(explained), explained.isError], ["Error: no table; make one", true]);
});

Deno.test("a reviewer's block makes an error of it and drops what the body deferred; accept adds to it", async () => {
  const { session } = await openStep();
  const act = tool({
    effect: "none",
    execute: (_, call) => {
      call.deferContext("from the body");
      call.concludeTurn();
      return "done";
    },
  });
  const contextsOf = async (decision: unknown) => {
    const hooks = newHooks();
    hooks.on("tools/post-execute", () => decision as never);
    const end = await run(session, [act], {}, { hooks });
    return [textOf(end.outcome), end.concludesTurn, end.additionalContexts.map(textOf)];
  };
  assertEquals(await contextsOf({ kind: "accept", additionalContexts: ["from review"] }), [
    "done",
    true,
    ["from the body", "from review"],
  ]);
  assertEquals(await contextsOf({ kind: "block", feedback: "tests fail", additionalContexts: ["from review"] }), [
    "Error: tests fail",
    false,
    ["from review"],
  ]);
});

Deno.test("a cancel during the review takes a success back", async () => {
  const { session } = await openStep();
  const controller = new AbortController();
  const hooks = newHooks();
  hooks.on("tools/post-execute", (_, __, next) => {
    controller.abort(new Error("enough"));
    return next();
  });
  const end = await run(session, [tool({ execute: () => "paid" })], {}, { hooks, signal: controller.signal });
  assertEquals(end.outcome.error?.code, "ABORTED");
  assertStringIncludes(textOf(end.outcome), "paid");
});

Deno.test("a reviewer that blocks an outcome that is open does not settle the effect", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/post-execute", () => ({ kind: "block", feedback: "look first" }));
  const act = tool({ execute: () => Promise.reject(outcomeUnknown("no answer")) });
  const end = await run(session, [act], {}, { hooks });
  assertEquals([textOf(end.outcome), end.outcome.error?.code], ["Error: look first", "TOOL_OUTCOME_UNKNOWN"]);
  assertEquals(session.folds.unresolved.effects.length, 1);
});

Deno.test("exec/T41: a body that defers a context and then throws keeps it", async () => {
  const { session } = await openStep();
  const act = tool({
    execute: (_, call) => {
      call.deferContext({ content: "the disk is nearly full", source: { kind: "plugin", plugin: "disk" } });
      throw new Error("no room");
    },
  });
  const end = await run(session, [act]);
  assertEquals(textOf(end.outcome), "Error: no room");
  assertEquals(end.additionalContexts.map(({ role, source, content }) => [role, source.plugin, textOf({ content })]), [
    ["user", "disk", "the disk is nearly full"],
  ]);
});

Deno.test("deferContext() refuses what cannot be logged, too much, and what comes late", async () => {
  const { session } = await openStep();
  const refused: string[] = [];
  const attempt = (act: () => void) => {
    try {
      act();
    } catch (error) {
      refused.push((error as Error).name);
    }
  };
  let late = () => {};
  const act = tool({
    effect: "none",
    execute: (_, call) => {
      attempt(() => call.deferContext({ content: [{ type: "text" } as never] }));
      attempt(() => call.deferContext({ content: "x", source: { kind: "" } }));
      attempt(() => call.deferContext(null as never));
      for (let count = 0; count < 65; count++) attempt(() => call.deferContext(`${count}`));
      late = () => call.deferContext("late");
      return "done";
    },
  });
  const end = await run(session, [act]);
  attempt(late);
  assertEquals(refused, ["TypeError", "TypeError", "TypeError", "RangeError", "TypeError"]);
  assertEquals(end.additionalContexts.length, 64);
});

Deno.test("exec/T24: observers cannot change an outcome, and each is told once whatever the others do", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  const told: ToolOutcome[] = [];
  hooks.on("tools/result", () => {
    throw new Error("observer");
  });
  hooks.on("tools/result", (_, outcome) => {
    Object.assign(outcome.content[0]!, { text: "changed" });
  });
  hooks.on("tools/result", (_, outcome) => {
    (outcome as { isError: boolean }).isError = true;
  });
  hooks.on("tools/result", (_, outcome) => told.push(outcome));
  const end = await run(session, [tool()], {}, { hooks });
  assertEquals([told.length, textOf(told[0]!), told[0]?.isError], [1, "done", false]);
  assert(Object.isFrozen(told[0]) && Object.isFrozen(told[0]!.content[0]));
  assertEquals(textOf(end.outcome), "done");
});

Deno.test("finalizeContent has the last word on what the model reads, also of failures", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  hooks.on("tools/post-execute", () => ({ kind: "accept", content: "reviewed" }));
  const final = (execute: () => string) =>
    tool({ effect: "none", execute, finalizeContent: (_, outcome) => `${textOf(outcome)}, final` });
  assertEquals(textOf((await run(session, [final(() => "done")], {}, { hooks })).outcome), "reviewed, final");
  const throwing = final(() => {
    throw new Error("no");
  });
  const failed = await run(session, [throwing]);
  assertEquals([textOf(failed.outcome), failed.outcome.isError], ["Error: no, final", true]);
  for (const [index, finalizeContent] of [() => Promise.reject(new Error("broke")), () => 7 as never].entries()) {
    // Other arguments each time: an equal call would repeat the one before, which counts as unknown.
    const { outcome } = await run(session, [tool({ finalizeContent })], { arguments: `[${index}]` });
    assertEquals(outcome.error?.code, "TOOL_OUTCOME_UNKNOWN");
    assertStringIncludes(textOf(outcome), "withheld");
  }
});

Deno.test("a listener bound to another session hears nothing of this one", async () => {
  const { session } = await openStep();
  const other = await openStep();
  const hooks = newHooks();
  for (const name of ["tools/pre-execute", "tools/execute", "tools/post-execute"] as const) {
    hooks.on(name, () => {
      throw new Error("heard");
    }, { subject: other.session });
  }
  assertEquals((await run(session, [tool()], {}, { hooks })).outcome.isError, false);
  assertEquals((await run(other.session, [tool()], {}, { hooks })).outcome.isError, true);
});
