import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { AgentHooks, ScriptStep } from "../../src/agent/mod.ts";
import { StorageLostError } from "../../src/errors.ts";
import { isEvent, type SessionEvent, type SessionHeader } from "../../src/event/mod.ts";
import { Hooks } from "../../src/hooks/mod.ts";
import { openSession } from "../../src/session/mod.ts";
import type { Tool } from "../../src/tool/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { logOf, noting, resultsOf, resumed, type Stage, stage, textOf, typesOf, until } from "./agent_support.ts";
import { deepSeekProblem, messagesProblem, openAiProblem } from "./transcripts.ts";

/** A tool whose body begins and never ends: what runs when the process dies. */
function hanging(notes: string[], name: string, effect: "none" | "idempotent" | "opaque" = "opaque"): Tool {
  const permission = () => ({ decision: "allow" as const });
  return noting(notes, { name, effect, permission, execute: () => new Promise(() => {}) });
}

function calls(count: number, name: string, prefix = "c"): ScriptStep {
  return Array.from({ length: count }, (_, n) => ({ call: { id: `${prefix}${n + 1}`, name, arguments: { n } } }));
}

/** Sends, and kills the process once a body runs or a question is open. */
async function killed(on: Stage, text = "go"): Promise<FakeStore> {
  let isReached = false;
  on.session.subscribe((live) => isReached ||= live.kind === "tool-start");
  on.hooks.on("approval/request", (_, __, next) => (isReached = true, next()), { prepend: true });
  // The process is gone: nobody hears of the turn any more.
  void on.session.send(text).catch(() => {});
  await until(() => isReached);
  await settle();
  return on.store.crash();
}

Deno.test("field/B01: after a kill between two calls the transcript is one that every provider takes", async () => {
  const store = await killed(await stage([calls(2, "pay")], { tools: [hanging([], "pay")] }));
  const on = await resumed(store, [[{ text: "I see" }]]);
  await on.session.send("go on");
  const { messages } = on.requests[0]!;
  for (const problem of [openAiProblem, messagesProblem, deepSeekProblem]) assertEquals(problem(messages), null);
  assertEquals(resultsOf(await logOf(on)).map((line) => line.split(":")[0]), [
    "c1 TOOL_OUTCOME_UNKNOWN",
    "c2 TOOL_NOT_STARTED",
  ]);
});

Deno.test("field/B02: twenty kills in a row leave no orphan, and each repair adds its closers once", async () => {
  let store = await killed(await stage([calls(3, "pay", "t0-")], { tools: [hanging([], "pay")] }));
  for (let cycle = 1; cycle <= 20; cycle++) {
    const before = store.events("s1").length;
    const on = await resumed(store, [calls(3, "pay", `t${cycle}-`)], {
      tools: [hanging([], "pay")],
      approvers: [() => "allowed-once"],
    });
    const closers = on.session.resumed!.closers.length;
    assertEquals(closers, 3 + 2);
    await on.session.close();
    const after = on.store.events("s1").length;
    // The closers, and the mark that a new life of the log begins.
    assertEquals(after, before + closers + 1);
    const again = await resumed(on.store.crash(), [calls(3, "pay", `t${cycle}-`)], {
      tools: [hanging([], "pay")],
      approvers: [() => "allowed-once"],
    });
    assertEquals([again.session.resumed!.closers, again.session.session.nextSeq], [[], after]);
    store = await killed(again);
  }
  const last = await resumed(store, [[{ text: "enough" }]]);
  await last.session.send("stop");
  assertEquals(resultsOf(await logOf(last)).length, 21 * 3);
  assertEquals(openAiProblem(last.requests[0]!.messages), null);
});

Deno.test("field/B05: an effect that was begun is never repeated by us, whatever the next turn says", async () => {
  const effects: string[] = [];
  const store = await killed(await stage([calls(14, "pay")], { tools: [hanging(effects, "pay")] }));
  const on = await resumed(store, [[{ text: "continue" }], [{ text: "continue" }]], {
    tools: [hanging(effects, "pay")],
  });
  assert(on.session.resumed!.open !== null, "the end was not a clean one");
  for (let n = 0; n < 2; n++) await on.session.send("continue");
  assertEquals(effects, ['pay {"n":0}']);
});

Deno.test("field/B07: three kills in one effect leave four calls under one key, each with its fate, and one effect", async () => {
  const seen: string[] = [];
  const remote = new Set<string>();
  const tool = (hangs: boolean) =>
    noting([], {
      name: "pay",
      effect: "idempotent",
      permission: () => ({ decision: "allow" }),
      execute: (_, { effectKey }) => {
        seen.push(effectKey);
        remote.add(effectKey);
        return hangs ? new Promise(() => {}) : "paid";
      },
    });
  const attempt = (n: number): ScriptStep => [{ call: { id: `c${n}`, name: "pay", arguments: { to: "alice" } } }];
  let store = await killed(await stage([attempt(1)], { tools: [tool(true)] }));
  for (const n of [2, 3]) store = await killed(await resumed(store, [attempt(n)], { tools: [tool(true)] }), "again");
  const on = await resumed(store, [attempt(4), [{ text: "paid" }]], { tools: [tool(false)] });
  assertEquals((await on.session.send("again")).reason, { kind: "completed" });
  assertEquals([seen.length, new Set(seen).size, remote.size], [4, 1, 1]);
  assertEquals(resultsOf(await logOf(on)).map((line) => line.split(":")[0]), [
    "c1 TOOL_OUTCOME_UNKNOWN",
    "c2 TOOL_OUTCOME_UNKNOWN",
    "c3 TOOL_OUTCOME_UNKNOWN",
    "c4 ok",
  ]);
  assertEquals(on.session.session.folds.unresolved.effects, []);
});

/** An approver that answers what a test says, call by call. */
class Person {
  readonly asked: string[] = [];
  readonly #answers = new Map<string, PromiseWithResolvers<"allowed-once">>();

  approver = ({ callId }: { readonly callId?: string }): Promise<"allowed-once"> => {
    this.asked.push(callId!);
    const answer = Promise.withResolvers<"allowed-once">();
    this.#answers.set(callId!, answer);
    return answer.promise;
  };

  async allow(callId: string): Promise<void> {
    await until(() => this.asked.includes(callId));
    this.#answers.get(callId)!.resolve("allowed-once");
    await settle();
  }
}

Deno.test("field/B10: of three calls that ask, each runs once and only after its own answer, also across a restart", async () => {
  const paid: string[] = [];
  const pay = noting(paid, { name: "pay", effect: "opaque" });
  const first = new Person();
  const on = await stage([calls(3, "pay")], { tools: [pay], approvers: [first.approver] });
  void on.session.send("go");
  await until(() => first.asked.length === 1);
  assertEquals(paid, []);
  await first.allow("c1");
  await until(() => first.asked.length === 2);
  assertEquals([first.asked, paid], [["c1", "c2"], ['pay {"n":0}']]);
  const second = new Person();
  const after = await resumed(on.store.crash(), [calls(3, "pay", "d"), [{ text: "done" }]], {
    tools: [pay],
    approvers: [second.approver],
  });
  // The open question and the answer that nothing followed have died with the process.
  assertEquals(after.session.resumed!.calls.map(({ callId, class: found }) => `${callId} ${found}`), [
    "c2 not_dispatched",
    "c3 not_started",
  ]);
  const sent = after.session.send("go on");
  for (const id of ["d1", "d2", "d3"]) await second.allow(id);
  assertEquals((await sent).reason, { kind: "completed" });
  assertEquals(second.asked, ["d1", "d2", "d3"]);
  assertEquals(paid, ['pay {"n":0}', 'pay {"n":0}', 'pay {"n":1}', 'pay {"n":2}']);
  await logOf(after);
});

Deno.test("field/C01: an answer counts only when it is durable; one that nothing followed is asked for again", async () => {
  const paid: string[] = [];
  const pay = noting(paid, { name: "pay", effect: "opaque" });
  const person = new Person();
  const on = await stage([calls(1, "pay"), [{ text: "x" }]], { tools: [pay], approvers: [person.approver] });
  void on.session.send("go");
  await until(() => person.asked.length === 1);
  on.store.failure = new StorageLostError("EIO");
  await person.allow("c1");
  assertEquals(paid, [], "the disk did not take the answer");
  const store = on.store.crash();
  assertEquals(store.events("s1").some((event) => event.type === "approval/decided"), false);

  // Killed right behind the durable answer: the same.
  const next = new Person();
  const release: (() => void)[] = [];
  const again = await resumed(store, [calls(1, "pay", "d")], { tools: [pay], approvers: [next.approver] });
  again.session.session.subscribe((event) => event.type === "effect/dispatched" && release.push(again.store.hold()));
  void again.session.send("go on");
  await next.allow("d1");
  await until(() => release.length === 1);
  const decided = again.store.crash();
  assertEquals([decided.events("s1").at(-1)?.type, release.length, paid], ["approval/decided", 1, []]);

  const last = new Person();
  const done = await resumed(decided, [calls(1, "pay", "e"), [{ text: "x" }]], {
    tools: [pay],
    approvers: [last.approver],
  });
  assertEquals(done.session.resumed!.calls.map((call) => call.class), ["not_dispatched"]);
  const sent = done.session.send("go on");
  await last.allow("e1");
  await sent;
  assertEquals([last.asked, paid], [["e1"], ['pay {"n":0}']]);
});

Deno.test("field/C04: whether the tool, a listener or its arguments ask, a kill at the question reads the same, and the call is asked about again", async () => {
  const ways: Readonly<Record<string, (hooks: Hooks<AgentHooks>) => Tool>> = {
    "the tool's own word": () => noting([], { name: "act", effect: "opaque" }),
    "a listener's policy": (hooks) => {
      hooks.on("tools/pre-execute", () => Promise.resolve({ kind: "ask", reason: "policy" }));
      return noting([], { name: "act", effect: "none" });
    },
    "what the arguments want": () =>
      noting([], {
        name: "act",
        effect: "none",
        permission: (args) =>
          (args as { n: number }).n >= 0
            ? { decision: "ask", reason: "wider than the sandbox" }
            : { decision: "allow" },
      }),
  };
  for (const [what, toolOf] of Object.entries(ways)) {
    const hooks = new Hooks<AgentHooks>();
    const tools = [toolOf(hooks)];
    const first = new Person();
    const on = await stage([calls(1, "act")], { tools, hooks, approvers: [first.approver] });
    const store = await killed(on);
    assertEquals(first.asked, ["c1"], what);
    const second = new Person();
    const after = await resumed(store, [calls(1, "act", "d"), [{ text: "x" }]], {
      tools,
      hooks,
      approvers: [second.approver],
    });
    assertEquals(after.session.resumed!.calls.map((call) => call.class), ["not_dispatched"], what);
    const sent = after.session.send("go on");
    await second.allow("d1");
    assertEquals((await sent).reason, { kind: "completed" }, what);
    assertEquals(resultsOf(await logOf(after)).at(-1), "d1 ok: done", what);
  }
});

Deno.test("field/B11: a result that the disk refuses is kept, tried before anything newer, and unknown if the process dies first", async () => {
  const setUp = async () => {
    const on = await stage([calls(1, "pay"), [{ text: "x" }], [{ text: "y" }]], {
      tools: [noting([], { name: "pay", effect: "opaque", permission: () => ({ decision: "allow" }) })],
    });
    on.session.session.subscribe((event) => {
      if (event.type === "tool/result") on.store.failure = new StorageLostError("EIO");
    });
    const { reason } = await on.session.send("go");
    assert(reason.kind === "error" && reason.error.code === "CHECKPOINT_FAILED");
    return on;
  };
  const healed = await setUp();
  assertEquals(resultsOf(await logOf(healed)), ["c1 ok: done"]);
  const durable = healed.store.events("s1").length;
  healed.store.failure = null;
  await healed.session.send("go on");
  assertEquals(healed.store.events("s1")[durable]?.type, "tool/result");
  assertStringIncludes(JSON.stringify(healed.requests[1]!.messages), '"done"');

  const dead = await setUp();
  const after = await resumed(dead.store.crash(), [[{ text: "x" }]]);
  assertEquals(after.session.resumed!.calls.map((call) => call.class), ["outcome_unknown"]);
  assertEquals(resultsOf(await logOf(after)).map((line) => line.split(":")[0]), ["c1 TOOL_OUTCOME_UNKNOWN"]);
});

Deno.test("field/B20: a log with an open turn opens idle, its turn interrupted, and takes input at once", async () => {
  const store = await killed(await stage([calls(1, "pay")], { tools: [hanging([], "pay")] }));
  const on = await resumed(store, [[{ text: "x" }]]);
  assertEquals(on.session.status, "idle");
  const end = (await logOf(on)).findLast((event) => isEvent(event, "turn/end"))!;
  assertEquals(end.data, { turn: 1, reason: { kind: "interrupted" } });
  assertEquals((await on.session.send("hello")).reason, { kind: "completed" });
});

Deno.test("field/B24: a kill, a cancel or a broken line in the middle of a call never makes a call of it", async () => {
  const half: ScriptStep = [
    { text: "I will pay" },
    { chunk: { type: "tool-call-delta", index: 1, id: "c1", name: "pay", argumentsDelta: '{"to":"al' } },
  ];
  const paid: string[] = [];
  const tools = [noting(paid, { name: "pay", permission: () => ({ decision: "allow" }) })];

  // Killed, with what the window had written by then and without it: nothing of the stream is in the log.
  for (const isFlushed of [true, false]) {
    const on = await stage([[...half, { hang: true }]], { tools });
    void on.session.send("go");
    await settle();
    if (isFlushed) await on.session.session.flush();
    const after = await resumed(on.store.crash(), [[{ text: "x" }]], { tools });
    assertEquals(after.session.resumed!.closers.map(({ type }) => type), ["step/end", "turn/end"]);
    assertEquals((await after.session.send("again")).reason, { kind: "completed" });
    await logOf(after);
  }

  // Cancelled: the words stay, the call does not.
  const cancelled = await stage([[...half, { hang: true }], [{ text: "x" }]], { tools });
  const sent = cancelled.session.send("go");
  await settle();
  cancelled.session.cancel();
  await sent;
  await cancelled.session.send("again");
  assertEquals(cancelled.requests[1]!.messages.map(({ content }) => textOf(content)), ["go", "I will pay", "again"]);

  // The line was cut, and the provider said neither that it was done nor that it failed.
  const cut = await stage([[...half, { cut: true }], [{ text: "x" }]], { tools });
  const { reason } = await cut.session.send("go");
  assert(reason.kind === "error");
  assertEquals(reason.error, { message: "the stream ended in the middle of a call", code: "STREAM_CLOSED" });
  assertEquals(typesOf(await logOf(cut)).slice(-3), ["assistant/attempt", "step/end", "turn/end"]);
  assertEquals((await cut.session.send("again")).reason, { kind: "completed" });
  assertEquals(paid, []);
});

const HEADER: SessionHeader = {
  type: "session",
  version: 3,
  id: "s1",
  createdAt: 1,
  isSeeded: false,
  delegationDepth: 0,
};

Deno.test("field/B29: calls with empty and equal ids each get a result, in our logs and in another program's", async () => {
  const proposed: ScriptStep = ["", "", "dup", "dup"].map((id, n) => ({ call: { id, name: "pay", arguments: { n } } }));
  const store = await killed(await stage([proposed], { tools: [hanging([], "pay")] }));
  const on = await resumed(store, [[{ text: "x" }]]);
  const ids = on.session.resumed!.calls.map(({ callId }) => callId);
  assertEquals([ids.length, new Set(ids).size, ids.includes("")], [4, 4, false]);
  await on.session.send("go on");
  await logOf(on);

  const content = ["", "", "dup", "dup"].map((id) => ({ type: "tool-call", id, name: "pay", arguments: "{}" }));
  const message = { id: "a1", role: "assistant", content, source: { kind: "model", provider: "p", model: "m" } };
  const rows: Omit<SessionEvent, "seq" | "time">[] = [
    { type: "turn/start", data: { turn: 1 } },
    { type: "step/start", data: { turn: 1, step: 1 } },
    { type: "assistant/message", data: { turn: 1, step: 1, message, stream: [] }, surfaceOp: "append" },
    { type: "tool/call", data: { turn: 1, step: 1, callId: "", name: "pay", arguments: "{}" } },
  ];
  const foreign = new FakeStore();
  foreign.plant(HEADER, rows.map((row, seq) => ({ ...row, seq, time: 1 })));
  const { session, resumed: found } = await openSession({ store: foreign, id: "s1" });
  assertEquals(found.closers.map(({ type }) => type), [...Array(4).fill("tool/result"), "step/end", "turn/end"]);
  assertEquals(resultsOf(found.closers).map((line) => line.split(":")[0]), [
    " TOOL_OUTCOME_UNKNOWN",
    " TOOL_NOT_STARTED",
    "dup TOOL_NOT_STARTED",
    "dup TOOL_NOT_STARTED",
  ]);
  await session.close();
});
