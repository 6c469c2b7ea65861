import { assert, assertEquals, assertRejects } from "@std/assert";
import { scripted } from "../../src/agent/mod.ts";
import { gatedModelStream } from "../../src/checkpoint/mod.ts";
import { LockLostError, SequenceGapError, StorageLostError } from "../../src/errors.ts";
import { isEvent } from "../../src/event/mod.ts";
import type { ToolDefinition } from "../../src/tool/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { endOf, logOf, noting, resultsOf, type Stage, stage, typesOf } from "./agent_support.ts";

/** Calls `act` in the moment an event of this type is appended, once. Resolves when everything that can settle then has. */
function at(on: Stage, type: string, act: () => void): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const stop = on.session.session.subscribe((event) => {
    if (event.type !== type) return;
    stop();
    act();
    reached.resolve(settle());
  });
  return reached.promise;
}

function lastDurable({ store }: Stage): string | undefined {
  return store.events("s1").at(-1)?.type;
}

const OPAQUE: Pick<ToolDefinition, "effect" | "permission"> = {
  effect: "opaque",
  permission: () => ({ decision: "allow" }),
};

Deno.test("exec/C01: the model is called only after the flush that holds its request has ended", async () => {
  const on = await stage([[{ text: "x" }]]);
  let release = () => {};
  const held = at(on, "request/context", () => release = on.store.hold());
  const done = on.session.send("go");
  await held;
  assertEquals([on.requests.length, lastDurable(on)], [0, "agent/inbox/spliced"]);
  release();
  await done;
  assertEquals(on.requests.length, 1);
});

Deno.test("exec/C02: a model that is asked outside of any session needs no log", async () => {
  const model = scripted([[{ text: "x" }]]);
  const request = { sessionId: "", header: { config: { provider: "p", model: "m" } }, messages: [] };
  assertEquals((await Array.fromAsync(model.stream(request, new AbortController().signal))).length, 4);
});

Deno.test("exec/C04: a flush that fails at the model barrier calls no model and ends the turn", async () => {
  const on = await stage([[{ text: "x" }], [{ text: "y" }]]);
  at(on, "request/context", () => on.store.inject({ fail: new StorageLostError("gone") }));
  const { reason } = await on.session.send("go");
  assert(reason.kind === "error");
  assertEquals([reason.error.code, on.requests.length], ["CHECKPOINT_FAILED", 0]);
  assertEquals(typesOf(await logOf(on)).slice(-2), ["step/end", "turn/end"]);
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
});

Deno.test("exec/C05: a stream nobody pulls flushes nothing and calls nothing", async () => {
  const on = await stage([]);
  const model = scripted([[{ text: "x" }]]);
  const request = { sessionId: "s1", header: { config: { provider: "p", model: "m" } }, messages: [] };
  gatedModelStream(on.session.session, model, request, new AbortController().signal);
  await settle();
  assertEquals([model.requests.length, on.store.calls.length], [0, 0]);
});

Deno.test("exec/C11: no step starts before the flush of everything before it has ended", async () => {
  const on = await stage([[{ call: { name: "echo" } }], [{ text: "x" }]], { tools: [noting([], { name: "echo" })] });
  let release = () => {};
  const held = at(on, "step/end", () => release = on.store.hold());
  const done = on.session.send("go");
  await held;
  assertEquals(typesOf(await logOf(on)).at(-1), "step/end");
  release();
  await done;
  const starts = (await logOf(on)).filter((event) => isEvent(event, "step/start"));
  assertEquals(starts.length, 2);
});

Deno.test("exec/C20: a cancel during the model's flush calls no model", async () => {
  const on = await stage([[{ text: "x" }]]);
  let release = () => {};
  const held = at(on, "request/context", () => release = on.store.hold());
  const done = on.session.send("go");
  await held;
  on.session.cancel();
  release();
  assertEquals((await done).reason.kind, "aborted");
  assertEquals(on.requests.length, 0);
});

Deno.test("exec/C23: flushes that never settle do not keep a cancelled turn from ending", async () => {
  for (const type of ["turn/start", "request/context", "effect/dispatched", "approval/bound", "approval/decided"]) {
    const asking = { name: "pay", effect: "opaque" } as const;
    const notes: string[] = [];
    const on = await stage([[{ call: { name: "pay" } }, { call: { name: "pay" } }]], {
      tools: [noting(notes, asking)],
      approvers: [() => "allowed-once"],
    });
    const held = at(on, type, () => void on.store.hold());
    const done = on.session.send("go");
    await held;
    on.session.cancel();
    assertEquals((await done).reason, { kind: "aborted", reason: { kind: "user" } }, type);
    assertEquals([on.session.status, notes], ["idle", []]);
  }
});

Deno.test("field/A04: a full disk at a tool's barrier answers every call, ends the turn, and after room was made goes on", async () => {
  const notes: string[] = [];
  const on = await stage([[{ call: { name: "pay" } }, { call: { name: "pay" } }], [{ text: "fine" }]], {
    tools: [noting(notes, { name: "pay", ...OPAQUE })],
  });
  at(on, "effect/dispatched", () => on.store.failure = new StorageLostError("no answer from the disk"));
  const outcome = await on.session.send("go");
  assert(outcome.turn !== null && outcome.reason.kind === "error");
  assertEquals(outcome.reason.error.code, "CHECKPOINT_FAILED");
  assertEquals(notes, []);
  assertEquals(resultsOf(await logOf(on)).map((line) => line.split(":")[0]), [
    "call_1_1 CHECKPOINT_FAILED",
    "call_1_2 ABORTED_BEFORE_DISPATCH",
  ]);
  on.store.failure = null;
  assertEquals((await on.session.send("go on")).reason, { kind: "completed" });
  assertEquals(on.store.events("s1").map((event) => event.seq), on.store.events("s1").map((_, index) => index));
});

Deno.test("field/G14: while the log cannot be written, no tool starts anything", async () => {
  const notes: string[] = [];
  const on = await stage([[{ call: { name: "spawn" } }]], {
    tools: [noting(notes, { name: "spawn", effect: "none" })],
  });
  at(on, "effect/dispatched", () => on.store.failure = new StorageLostError("EIO"));
  assertEquals((await on.session.send("go")).reason.kind, "error");
  assertEquals(notes, []);
});

Deno.test("field/D04: a session that lost its log refuses every later message with the reason, and runs no tool", async () => {
  const notes: string[] = [];
  const on = await stage([[{ call: { name: "pay" } }]], { tools: [noting(notes, { name: "pay", ...OPAQUE })] });
  const lost = new LockLostError("Cannot append: another writer has the log");
  at(on, "effect/dispatched", () => on.store.inject({ fail: lost }));
  const errors: unknown[] = [];
  on.session.subscribe((live) => live.kind === "error" && errors.push(live.error));
  assertEquals(await assertRejects(() => on.session.send("go")), lost);
  for (let n = 0; n < 3; n++) assertEquals(await assertRejects(() => on.session.send("more")), lost);
  assertEquals([notes, on.session.status, errors.length > 0], [[], "idle", true]);
  assertEquals(endOf(on.store.events("s1")), null);
});

Deno.test("a cancel in a batch answers every call once, in the model's order, and keeps what ran", async () => {
  const notes: string[] = [];
  const on = await stage([[{ call: { id: "a", name: "pay" } }, { call: { id: "b", name: "slow" } }, {
    // Not even looked at: what was not started is answered as such, whatever its arguments are.
    call: { id: "c", name: "pay", arguments: '{"n":-0}' },
  }]], {
    tools: [
      noting(notes, { name: "pay", ...OPAQUE }),
      noting(notes, {
        name: "slow",
        ...OPAQUE,
        execute: () => (on.session.cancel(), Promise.reject(new Error("no money"))),
      }),
    ],
  });
  assertEquals((await on.session.send("go")).reason, { kind: "aborted", reason: { kind: "user" } });
  assertEquals(resultsOf(await logOf(on)), [
    "a ok: done",
    "b error: Error: no money",
    "c ABORTED_BEFORE_DISPATCH: Error: tool call aborted before dispatch",
  ]);
  assertEquals(notes, ["pay {}", "slow {}"]);
});

Deno.test("a cancel between the answer and its calls answers all of them, and runs none", async () => {
  const notes: string[] = [];
  const on = await stage([[{ call: { id: "a", name: "pay" } }, { call: { id: "b", name: "pay" } }]], {
    tools: [noting(notes, { name: "pay", ...OPAQUE })],
  });
  at(on, "assistant/message", () => on.session.cancel());
  await on.session.send("go");
  const events = await logOf(on);
  assertEquals(typesOf(events).slice(-7), [
    "assistant/message",
    "tool/call",
    "tool/result",
    "tool/call",
    "tool/result",
    "step/end",
    "turn/end",
  ]);
  assertEquals(notes, []);
});

Deno.test("a cancel by an observer at any event leaves a whole log, and a session that goes on", async () => {
  const plain = await stage(SCRIPT, { tools: TOOLS, approvers: [() => "allowed-once"] });
  await plain.session.send("go");
  const total = plain.session.session.nextSeq;
  for (let seq = 1; seq < total; seq++) {
    const on = await stage([...SCRIPT, ...SCRIPT], { tools: TOOLS, approvers: [() => "allowed-once"] });
    on.session.session.subscribe((event) => event.seq === seq && on.session.cancel());
    const outcome = await on.session.send("go");
    assertEquals(["aborted", "completed"].includes(outcome.reason.kind), true);
    const cancelled = (await logOf(on)).length;
    assertEquals(on.session.status, "idle", `cancelled at ${seq}`);
    await on.session.send("again");
    assert((await logOf(on)).length > cancelled);
  }
});

const SCRIPT = [
  [{ text: "calling" }, { call: { name: "pay", arguments: { n: 1 } } }, { call: { name: "look" } }],
  [{ text: "done" }],
];
const TOOLS = [noting([], { name: "pay", effect: "opaque" }), noting([], { name: "look", effect: "none" })];

Deno.test("exec/C19, exec/C25: an acknowledgement that does not reach the request lets no model be asked", async () => {
  const on = await stage([[{ text: "x" }]]);
  at(on, "request/context", () => on.store.inject({ acknowledge: 2 }));
  // Store and writer do not agree on the log any more: it takes no events, not even those that close the turn.
  await assertRejects(() => on.session.send("go"), SequenceGapError);
  assertEquals([on.requests.length, on.session.status], [0, "idle"]);
});
