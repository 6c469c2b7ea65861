import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { CheckpointFailedError, SequenceGapError, StorageFullError } from "../../src/errors.ts";
import { argumentsDigest, isEvent } from "../../src/event/mod.ts";
import { callTool, type Guard, type Permission, type ToolCall, ToolError } from "../../src/tool/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { callTypes, eventsOf, openStep, reached, run, tool } from "./tool_support.ts";

const ASK = { permission: (): Permission => ({ decision: "ask", reason: "why" }) };

function text(end: Awaited<ReturnType<typeof run>>): string {
  return end.outcome.content.map((block) => block.type === "text" ? block.text : "").join("|");
}

Deno.test("runToolCall() keeps its order: call, question, answer, guard, marker, barrier, body, result", async () => {
  const { store, session } = await openStep();
  const order: string[] = [];
  session.subscribe((event) => order.push(event.type));
  const durable = () => store.events("s1").at(-1)?.type;
  const act = tool({
    permission: () => (order.push("policy"), { decision: "ask" }),
    execute: () => (order.push(`body after ${durable()}`), "done"),
  });
  const guard: Guard = () => void order.push(`guard after ${durable()}`);
  const approver = () => (order.push(`asked after ${durable()}`), "allowed-once" as const);
  await run(session, [act], { name: "act" }, { guards: [guard], approvers: [approver] });
  assertEquals(order.slice(1), [
    "tool/call",
    "policy",
    "approval/asked",
    "approval/bound",
    "asked after approval/bound",
    "approval/decided",
    "guard after approval/decided",
    "effect/dispatched",
    "body after effect/dispatched",
    "tool/result",
  ]);
  // An effectful result does not wait for the window.
  assertEquals(durable(), "tool/result");
});

Deno.test("the result of a call without effect waits for the next batch", async () => {
  const { store, session } = await openStep();
  await run(session, [tool({ effect: "none" })], { name: "act" });
  assertEquals(store.events("s1").at(-1)?.type, "effect/dispatched");
});

Deno.test("exec/C06: the body runs only after the flush that holds its marker has ended", async () => {
  const { store, session } = await openStep();
  const release = store.hold();
  let runs = 0;
  const marked = reached(session, "effect/dispatched");
  const done = run(session, [tool({ execute: () => (runs++, "done") })], { name: "act" });
  await marked;
  assertEquals([runs, store.calls.length], [0, 1]);
  release();
  await done;
  assertEquals(runs, 1);
  const [batch] = store.calls;
  assertEquals(batch?.types.at(-1), "effect/dispatched");
});

Deno.test("exec/C10: a body called by the host outside of any session needs no log", async () => {
  const { runtime } = new FakeStore();
  const outcome = await callTool(tool({ execute: (_, call) => call.effectKey }), {}, runtime);
  assertEquals(outcome.isError, false);
  assertMatch(outcome.content[0]?.type === "text" ? outcome.content[0].text : "", /^[0-9a-f]{32}$/);
});

Deno.test("field/A04, exec/C04: a full disk at the tool barrier runs no body, and the call says why", async () => {
  const { store, session } = await openStep();
  store.failure = new StorageFullError("no room");
  let runs = 0;
  const end = await run(session, [tool({ execute: () => (runs++, "done") })], { name: "act" });
  assertEquals(runs, 0);
  assert(end.refusal instanceof CheckpointFailedError);
  assertEquals(end.outcome.error, { name: "CheckpointFailedError", code: "CHECKPOINT_FAILED" });
  assertStringIncludes(text(end), "STORAGE_FULL");
  assertEquals(await callTypes(session), ["tool/call", "effect/dispatched", "tool/result"]);
  store.failure = null;
  await session.flush();
  assertEquals(session.folds.unresolved.effects, []);
});

Deno.test("exec/C19, exec/C25: an acknowledgement that does not reach the marker runs no body", async () => {
  const { store, session } = await openStep();
  store.inject({ acknowledge: 1 });
  let runs = 0;
  // The store and the writer do not agree on the log any more: it takes no events, not even the result.
  await assertRejects(
    () => run(session, [tool({ execute: () => (runs++, "done") })], { name: "act" }),
    SequenceGapError,
  );
  assertEquals(runs, 0);
});

Deno.test("a medium that promises nothing runs what has no effect, and the rest only in a volatile session", async () => {
  const traits = { sync: "none" } as const;
  const plain = await openStep({ traits });
  assertEquals((await run(plain.session, [tool()], { name: "act" })).outcome.error?.code, "CHECKPOINT_FAILED");
  assertEquals((await run(plain.session, [tool({ effect: "none" })], { name: "act" })).outcome.isError, false);
  const volatile = await openStep({ traits, volatile: true });
  assertEquals((await run(volatile.session, [tool()], { name: "act" })).outcome.isError, false);
});

Deno.test("exec/C23: a flush that never settles does not hold a cancelled call", async () => {
  const { store, session } = await openStep();
  store.hold();
  const controller = new AbortController();
  let runs = 0;
  const done = run(session, [tool({ execute: () => (runs++, "done") })], { name: "act" }, {
    signal: controller.signal,
  });
  await settle();
  controller.abort(new Error("enough"));
  assertEquals((await done).outcome.error?.code, "ABORTED_BEFORE_DISPATCH");
  assertEquals(runs, 0);
});

Deno.test("exec/T01: a tool that does not exist is answered with UNKNOWN_TOOL, and nothing is marked", async () => {
  const { session } = await openStep();
  const end = await run(session, [], { name: "gone" });
  assertEquals(end.outcome.error, { name: "UnknownToolError", code: "UNKNOWN_TOOL" });
  assertEquals(await callTypes(session), ["tool/call", "tool/result"]);
});

Deno.test("exec/T02: what policy denies does not run, and the model reads the reason", async () => {
  const { session } = await openStep();
  const deny = tool({ permission: () => ({ decision: "deny", reason: "not on Sundays" }) });
  const end = await run(session, [deny], { name: "act" });
  assertEquals([text(end), end.outcome.error], ["Error: not on Sundays", undefined]);
  assertEquals(await callTypes(session), ["tool/call", "tool/result"]);
});

Deno.test("exec/T03, exec/A02: what would ask and finds nobody is refused, with the pair on record", async () => {
  const { session } = await openStep();
  const end = await run(session, [tool(ASK)], { name: "act" });
  assertStringIncludes(text(end), "nobody could be asked");
  assertEquals(await callTypes(session), [
    "tool/call",
    "approval/asked",
    "approval/bound",
    "approval/decided",
    "tool/result",
  ]);
});

Deno.test("exec/T04, exec/A17: a grant runs the body once, and an equal call asks again", async () => {
  const { session } = await openStep();
  let [asked, runs] = [0, 0];
  const approvers = [() => (asked++, "allowed-once" as const)];
  const act = tool({ ...ASK, execute: () => (runs++, "done") });
  for (const expected of [1, 2]) {
    await run(session, [act], { name: "act" }, { approvers });
    assertEquals([asked, runs], [expected, expected]);
  }
});

Deno.test("exec/T07, exec/T08: a guard denies what policy or a person allowed, and cannot be overruled", async () => {
  const { session } = await openStep();
  let runs = 0;
  const act = tool({ ...ASK, execute: () => (runs++, "done") });
  const approvers = [() => "allowed-once" as const];
  const guards: Guard[] = [() => undefined, () => "no", () => undefined];
  assertEquals(text(await run(session, [act], { name: "act" }, { approvers, guards })), "Error: no");
  const throwing: Guard[] = [() => {
    throw new Error("guard broke");
  }];
  assertStringIncludes(
    text(await run(session, [act], { name: "act" }, { approvers, guards: throwing })),
    "guard broke",
  );
  assertEquals(runs, 0);
});

Deno.test("exec/T09: text that is no JSON reaches the body as it is, empty text as {}, and the log keeps both", async () => {
  const { session } = await openStep();
  const seen: unknown[] = [];
  const act = tool({ effect: "none", execute: (args) => (seen.push(args), "done") });
  for (const raw of ["{oops", ""]) await run(session, [act], { name: "act", arguments: raw });
  assertEquals(seen, ["{oops", {}]);
  const logged = (await eventsOf(session)).flatMap((event) =>
    isEvent(event, "tool/call") ? [event.data.arguments] : []
  );
  assertEquals(logged, ["{oops", ""]);
});

Deno.test("exec/T12, exec/T40: a call that comes after the cancel runs no phase, but bad arguments say so first", async () => {
  const { session } = await openStep();
  const signal = AbortSignal.abort(new Error("enough"));
  const act = tool({
    permission: () => {
      throw new Error("policy ran");
    },
  });
  assertEquals(
    (await run(session, [act], { name: "act" }, { signal })).outcome.error?.code,
    "ABORTED_BEFORE_DISPATCH",
  );
  const bad = await run(session, [act], { name: "act", arguments: '{"n":-0}' }, { signal });
  assertEquals(bad.outcome.error?.code, "INVALID_ARGS");
});

Deno.test("exec/T13: a cancel while a question is open ends the call, and a late answer is dropped", async () => {
  const { session } = await openStep();
  const controller = new AbortController();
  const answer = Promise.withResolvers<"allowed-once">();
  let runs = 0;
  const act = tool({ ...ASK, execute: () => (runs++, "done") });
  const done = run(session, [act], { name: "act" }, {
    approvers: [() => (queueMicrotask(() => controller.abort()), answer.promise)],
    signal: controller.signal,
  });
  const end = await done;
  answer.resolve("allowed-once");
  await settle();
  assertEquals([end.outcome.error?.code, runs], ["ABORTED_BEFORE_DISPATCH", 0]);
  assertEquals((await callTypes(session)).slice(-2), ["approval/decided", "tool/result"]);
});

Deno.test("a denial that a cancel follows stays a denial", async () => {
  const { session } = await openStep();
  const controller = new AbortController();
  const approvers = [() => (controller.abort(), "rejected" as const)];
  // The answer is given in the same breath as the cancel: the cancel ends the waiting, so nobody said no on record.
  const raced = await run(session, [tool(ASK)], { name: "act" }, { approvers, signal: controller.signal });
  assertEquals(raced.outcome.error?.code, "ABORTED_BEFORE_DISPATCH");
  const later = new AbortController();
  const end = await run(session, [tool()], { name: "act" }, {
    guards: [() => (later.abort(), "no")],
    signal: later.signal,
  });
  assertEquals(text(end), "Error: no");
});

Deno.test("exec/T15: a body that ignores the cancel is waited for; what it did is said, and its error stands", async () => {
  const { session } = await openStep();
  const runCancelled = async (effect: "none" | "opaque", execute: (call: ToolCall) => Promise<string>) => {
    const controller = new AbortController();
    const act = tool({
      effect,
      execute: (_, call) => {
        controller.abort(new Error("enough"));
        return execute(call);
      },
    });
    // Never the same arguments: an equal call would be asked about, as what it repeats is not settled.
    const call = { name: "act", arguments: `{"n":${session.nextSeq}}` };
    const end = await run(session, [act], call, { signal: controller.signal });
    return [end.outcome.error?.code, text(end)];
  };
  assertEquals(await runCancelled("none", () => Promise.resolve("read")), ["ABORTED", "Error: tool call aborted"]);
  const [code, said] = await runCancelled("opaque", () => Promise.resolve("paid 10"));
  assertEquals(code, "ABORTED");
  assertStringIncludes(said!, "check before repeating");
  assertStringIncludes(said!, "paid 10");
  assertEquals(await runCancelled("opaque", () => Promise.reject(new Error("no money"))), [
    undefined,
    "Error: no money",
  ]);
  const coded = () => Promise.reject(new ToolError("LIMIT", "no more"));
  assertEquals(await runCancelled("none", coded), ["LIMIT", "Error: no more"]);
});

Deno.test("a body that gives up because of the cancel leaves its effect unknown, and nothing unknown without one", async () => {
  const { session } = await openStep();
  for (const [effect, code] of [["none", "ABORTED"], ["opaque", "TOOL_OUTCOME_UNKNOWN"]] as const) {
    const controller = new AbortController();
    const act = tool({
      effect,
      execute: (_, call) => {
        controller.abort(new Error("enough"));
        return Promise.reject(call.signal.reason);
      },
    });
    const end = await run(session, [act], { name: "act" }, { signal: controller.signal });
    assertEquals(end.outcome.error?.code, code);
  }
  assertEquals(session.folds.unresolved.effects.map((effect) => effect.isClosed), [true]);
});

Deno.test("exec/T34: all phases see one frozen snapshot of the arguments", async () => {
  const { session } = await openStep();
  const seen = new Set<unknown>();
  const act = tool({
    effect: (args) => (seen.add(args), "opaque"),
    permission: (args) => (seen.add(args), { decision: "allow" }),
    execute: (args) => {
      seen.add(args);
      (args as { deep: { n: number } }).deep.n = 2;
      return "done";
    },
  });
  const guards: Guard[] = [({ arguments: args }) => void seen.add(args)];
  const end = await run(session, [act], { name: "act", arguments: '{"deep":{"n":1}}' }, { guards });
  assertEquals(seen.size, 1);
  assertStringIncludes(text(end), "read only");
});

Deno.test("exec/T35: a coded error keeps name and code in the log, any other only its message", async () => {
  const { session } = await openStep();
  const throwing = (thrown: unknown) =>
    tool({
      execute: () => {
        throw thrown;
      },
    });
  const coded = new ToolError("QUOTA", "no calls left", { name: "QuotaError" });
  assertEquals((await run(session, [throwing(coded)], { name: "act" })).outcome.error, {
    name: "QuotaError",
    code: "QUOTA",
  });
  const plain = await run(session, [throwing(new Error("outer", { cause: new Error("inner") }))], { name: "act" });
  assertEquals([plain.outcome.error, text(plain)], [undefined, "Error: outer: inner"]);
  const hostile = {
    get message() {
      throw new Error("x");
    },
    toString() {
      throw new Error("y");
    },
  };
  for (const thrown of [hostile, null, undefined, "text", Symbol("s"), 7]) {
    assertEquals((await run(session, [throwing(thrown)], { name: "act" })).outcome.isError, true);
  }
});

Deno.test("exec/T11: output that cannot be logged is INVALID_TOOL_OUTPUT, and says that the tool ran", async () => {
  const { session } = await openStep();
  for (
    const output of [
      undefined,
      { content: [{ type: "text", text: 7 }] },
      { content: [{ type: "text", text: "x", n: NaN }] },
      { content: "text" },
      "x".repeat(9 * 1024 * 1024),
    ]
  ) {
    const end = await run(session, [tool({ execute: () => output as never })], { name: "act" });
    assertEquals(end.outcome.error?.code, "INVALID_TOOL_OUTPUT");
    assertStringIncludes(text(end), "the tool ran");
  }
  const meta = await run(session, [tool({ execute: () => ({ content: [], meta: { rows: 3 } }) })], { name: "act" });
  assertEquals(meta.outcome.meta, { rows: 3 });
  const result = (await eventsOf(session)).at(-1)!;
  assert(isEvent(result, "tool/result"));
  assertEquals(result.data.meta, { rows: 3 });
});

Deno.test("a policy that throws or says nothing allows nothing; an effect that throws counts as opaque", async () => {
  const { session } = await openStep();
  let runs = 0;
  const policies = [() => undefined as never, () => {
    throw new ToolError("INVALID_ARGS", "bad");
  }];
  for (const permission of policies) {
    const act = tool({ permission, execute: () => (runs++, "done") });
    assertEquals((await run(session, [act], { name: "act" })).outcome.isError, true);
  }
  assertEquals(runs, 0);
  const classes: string[] = [];
  const effect = () => {
    throw new Error("?");
  };
  await run(session, [tool({ effect, execute: (_, call) => (classes.push(call.effect), "x") })], { name: "act" });
  assertEquals(classes, ["opaque"]);
});

Deno.test("the question holds a digest that matches the durable call and no arguments (exec/A18, exec/A20)", async () => {
  const { store, session } = await openStep();
  const approver = async (request: { callSeq?: number; argumentsDigest?: string }) => {
    const call = store.events("s1")[request.callSeq!]!;
    assert(isEvent(call, "tool/call"));
    assertEquals(request.argumentsDigest, await argumentsDigest(call.data.arguments));
    assertEquals(JSON.stringify(request).includes("alice"), false);
    return "rejected" as const;
  };
  const end = await run(session, [tool(ASK)], { name: "act", arguments: '{"to":"alice"}' }, { approvers: [approver] });
  assertStringIncludes(text(end), "the user said no");
});

Deno.test("exec/A20: the digest is of the canonical arguments, it is in the log before the answer, and it fits the call that ran", async () => {
  const { store, session } = await openStep();
  const seen: unknown[] = [];
  let ran: unknown;
  const approver = ({ id, argumentsDigest: digest }: { id: string; argumentsDigest?: string }) => {
    const durable = store.events("s1");
    const [asked, bound] = durable.slice(-2);
    assert(isEvent(asked!, "approval/asked") && isEvent(bound!, "approval/bound"));
    assertEquals([asked.data.id, bound.data.id, bound.data.argumentsDigest], [id, id, digest]);
    seen.push(digest, bound.data.callSeq);
    return "allowed-once" as const;
  };
  const act = tool({ ...ASK, execute: (args, { callSeq }) => (seen.push(callSeq), ran = args, "done") });
  const call = { name: "act", arguments: '{ "to": "alice", "amount": 1e1 }' };
  await run(session, [act], call, { approvers: [approver] });
  const [digest, boundSeq, ranSeq] = seen;
  assertEquals(boundSeq, ranSeq);
  assertEquals(digest, await argumentsDigest(JSON.stringify(ran)));
  assertEquals(digest, await argumentsDigest('{"amount":10,"to":"alice"}'));
  assert(digest !== await argumentsDigest('{"amount":11,"to":"alice"}'));
});

Deno.test("a log that takes no events ends the call with the log's own error", async () => {
  const { session } = await openStep();
  const act = tool({ permission: () => (void session.close(), { decision: "allow" }) });
  await assertRejects(() => run(session, [act], { name: "act" }), Error, "closed");
});

Deno.test("each way of not being allowed reads differently", async () => {
  const { session } = await openStep();
  const said = async (outcome: "rejected" | "cancelled" | "unavailable", policy: "ask" | "never" = "ask") =>
    text(await run(session, [tool(ASK)], { name: "act" }, { approvers: [() => outcome], policy }));
  const texts = [
    await said("rejected"),
    await said("cancelled"),
    await said("unavailable"),
    await said("rejected", "never"),
  ];
  assertEquals(new Set(texts).size, 4);
  assertStringIncludes(texts[0]!, "the user said no");
  assertStringIncludes(texts[3]!, "policy is never to ask");
});
