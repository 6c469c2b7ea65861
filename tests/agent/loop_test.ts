import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { createAgent, INBOX_MESSAGES_MAX, scripted } from "../../src/agent/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { StorageFullError } from "../../src/errors.ts";
import { FakeStore } from "../support/fake_store.ts";
import { endOf, logOf, noting, resultsOf, resumed, stage, textOf, typesOf } from "./agent_support.ts";

const PLAIN_TURN = [
  "agent/inbox/spliced",
  "turn/start",
  "agent/inbox/spliced",
  "step/start",
  "system/message",
  "user/message",
  "request/header",
  "request/context",
  "assistant/message",
  "step/end",
  "turn/end",
];

Deno.test("exec/L01: one text turn logs its events in order, and the history is user and assistant", async () => {
  const on = await stage([[{ text: "hello" }]], { systemPrompt: "be kind" });
  const statuses: string[] = [];
  on.session.subscribe((live) => live.kind === "status" && statuses.push(live.status));
  const outcome = await on.session.send("hi");
  await on.session.whenIdle();
  const events = await logOf(on);
  assertEquals(typesOf(events), PLAIN_TURN);
  assertEquals(outcome.reason, { kind: "completed" });
  assertEquals(endOf(events), { kind: "completed" });
  const { messages } = on.requests[0]!;
  assertEquals(messages.map((message) => [message.role, textOf(message.content)]), [
    ["system", "be kind"],
    ["user", "hi"],
  ]);
  assertEquals(statuses, ["running", "idle"]);
  assertEquals(events[0]?.type, "checkpoint/policy");
});

Deno.test("exec/L02: a tool call is logged with its raw text and its result before step/end, and the next request holds it", async () => {
  const notes: string[] = [];
  const echo = noting(notes, { name: "echo", execute: (args) => `echo ${JSON.stringify(args)}` });
  const on = await stage(
    [[{ call: { id: "c1", name: "echo", arguments: '{ "text": "one" }' } }], [{ text: "done" }]],
    { tools: [echo] },
  );
  await on.session.send("go");
  const events = await logOf(on);
  assertEquals(typesOf(events).slice(8), [
    "assistant/message",
    "tool/call",
    "tool/result",
    "step/end",
    "step/start",
    "assistant/message",
    "step/end",
    "turn/end",
  ]);
  const call = events.find((event) => isEvent(event, "tool/call"))!;
  assertEquals(call.data, { turn: 1, step: 1, callId: "c1", name: "echo", arguments: '{ "text": "one" }' });
  const result = events.find((event) => isEvent(event, "tool/result"))!;
  assertEquals(result.sourceEventSeqs, [call.seq]);
  assertEquals(resultsOf(events), ['c1 ok: echo {"text":"one"}']);
  assertStringIncludes(JSON.stringify(on.requests[1]!.messages.at(-1)), "echo {");
  assertEquals(on.requests[1]!.header.tools?.map((tool) => tool.name), ["echo"]);
});

Deno.test("exec/L05: a message cut off by max-tokens keeps its text and loses its calls", async () => {
  const notes: string[] = [];
  const on = await stage(
    [[{ text: "so" }, { call: { name: "echo" } }, { finish: "max-tokens" }]],
    { tools: [noting(notes, { name: "echo" })] },
  );
  assertEquals((await on.session.send("go")).reason, { kind: "max-tokens" });
  const events = await logOf(on);
  const message = events.find((event) => isEvent(event, "assistant/message"))!;
  assert(isEvent(message, "assistant/message"));
  assertEquals(message.data.message.content, [{ type: "text", text: "so" }]);
  assertEquals(typesOf(events).includes("tool/call"), false);
  assertEquals(notes, []);
});

Deno.test("exec/L07: a cancel in the middle of a stream keeps the text that came, as interrupted", async () => {
  const on = await stage([[{ text: ["half ", "a word"] }, { call: { name: "echo" } }, { hang: true }]]);
  on.session.subscribe((live) => {
    if (live.kind === "chunk" && live.chunk.type === "tool-call-delta") on.session.cancel();
  });
  const outcome = await on.session.send("go");
  assertEquals(outcome.reason, { kind: "aborted", reason: { kind: "user" } });
  const events = await logOf(on);
  const message = events.find((event) => isEvent(event, "assistant/message"));
  assert(message !== undefined && isEvent(message, "assistant/message"));
  assertEquals(message.data.interrupted, true);
  assertEquals(message.data.message.content, [{ type: "text", text: "half a word" }]);
  assertEquals(endOf(events), { kind: "aborted", reason: { kind: "user" } });
});

Deno.test("exec/L09: a cancel before anything visible came leaves no message", async () => {
  const on = await stage([[{ text: " \n" }, { hang: true }]]);
  on.session.subscribe((live) => live.kind === "chunk" && live.chunk.type === "block-end" && on.session.cancel());
  assertEquals((await on.session.send("go")).reason.kind, "aborted");
  const types = typesOf(await logOf(on));
  assertEquals(types.includes("assistant/message"), false);
  assertEquals(types.slice(-3), ["assistant/attempt", "step/end", "turn/end"]);
});

Deno.test("exec/L15: a failure the provider reports ends the turn with its facts, and later turns run", async () => {
  const failure = { message: "slow down", code: "RATE_LIMIT", status: 429, providerRetryAfterMs: 2000 };
  const on = await stage([[{ text: "so" }, { error: failure }], [{ text: "fine" }]]);
  const outcome = await on.session.send("go");
  assertEquals(outcome.reason, { kind: "error", error: failure });
  const events = await logOf(on);
  assertEquals(typesOf(events).slice(-3), ["assistant/attempt", "step/end", "turn/end"]);
  assertEquals((await on.session.send("again")).reason, { kind: "completed" });
  assertEquals(on.requests[1]!.messages.map((message) => textOf(message.content)), ["go", "again"]);
});

Deno.test("a stream that throws, is nonsense or is too long ends the turn with TRANSPORT or TOO_LARGE", async () => {
  const huge = "x".repeat(5 * 1024 * 1024); // said twice: as a delta and as a finished block
  const on = await stage([
    [{ text: "so" }, { throws: "broken" }],
    [{ chunk: { type: "text-delta", index: -1, text: "x" } }],
    [{ text: huge }, { text: huge }],
    [{ text: "whole" }, { cut: true }],
  ]);
  const failures: unknown[] = [];
  for (let n = 0; n < 3; n++) {
    const { reason } = await on.session.send("go");
    failures.push(reason.kind === "error" && reason.error.code);
  }
  assertEquals(failures, ["TRANSPORT", "TRANSPORT", "TOO_LARGE"]);
  // A stream without a finish counts as stop.
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
  await logOf(on);
});

Deno.test("exec/L21: a turn/start that is refused leaves no turn, and the sender hears why", async () => {
  const on = await stage([[{ text: "x" }]]);
  on.session.session.append({ type: "compaction/start", data: { compactionId: "k", turn: null } });
  const statuses: string[] = [];
  on.session.subscribe((live) => live.kind === "status" && statuses.push(live.status));
  await assertRejects(() => on.session.send("go"), TypeError, 'compaction "k"');
  await on.session.whenIdle();
  assertEquals(typesOf(await logOf(on)), ["compaction/start", "agent/inbox/spliced"]);
  assertEquals(statuses, ["running", "idle"]);
});

Deno.test("exec/L22: observers that throw change nothing", async () => {
  const on = await stage([[{ text: "x" }]]);
  on.session.session.subscribe(() => {
    throw new Error("observer");
  });
  on.session.subscribe(() => {
    throw new Error("watcher");
  });
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
  assertEquals(typesOf(await logOf(on)), PLAIN_TURN);
});

Deno.test("exec/L23: a cancel while idle does nothing", async () => {
  const on = await stage([[{ text: "x" }]]);
  on.session.cancel();
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
});

Deno.test("exec/L24: of two cancels the first cause counts", async () => {
  const on = await stage([[{
    run: () => {
      on.session.cancel({ kind: "hook", reason: "first" });
      on.session.cancel({ kind: "user" });
    },
  }, { hang: true }]]);
  assertEquals((await on.session.send("go")).reason, { kind: "aborted", reason: { kind: "hook", reason: "first" } });
});

Deno.test("exec/L26: a resumed session goes on with the next turn, without gap, and logs its header as resume", async () => {
  const first = await stage([[{ text: "one" }]]);
  await first.session.send("hi");
  await first.session.close();
  const store = first.store.crash();
  const on = await resumed(store, [[{ text: "two" }]]);
  assertEquals(on.session.resumed?.open, null);
  await on.session.send("again");
  const events = await logOf(on);
  assertEquals(events.map((event) => event.seq), events.map((_, index) => index));
  assertEquals(events.flatMap((event) => isEvent(event, "turn/start") ? [event.data.turn] : []), [1, 2]);
  assertEquals(events.flatMap((event) => isEvent(event, "request/header") ? [event.data.reason] : []), [
    "initial",
    "resume",
  ]);
  assertEquals(typesOf(events).filter((type) => type === "request/context").length, 1);
  assertEquals(on.requests[0]!.messages.map((message) => textOf(message.content)), ["hi", "one", "again"]);
});

Deno.test("exec/L27: a burst of messages becomes as many turns, one message each", async () => {
  const on = await stage([[{ text: "1" }], [{ text: "2" }], [{ text: "3" }]]);
  const outcomes = await Promise.all(["a", "b", "c"].map((text) => on.session.send(text)));
  assertEquals(outcomes.map((outcome) => outcome.turn), [1, 2, 3]);
  assertEquals(on.requests.map((request) => textOf(request.messages.at(-1)!.content)), ["a", "b", "c"]);
  await logOf(on);
});

Deno.test("exec/L33 (ours): a turn that hit the ceiling still sends the results it owes and ends max-tokens", async () => {
  const on = await stage(
    [[{ text: "cut" }, { finish: "max-tokens" }], [{ call: { name: "echo" } }], [{ text: "end" }]],
    { tools: [noting([], { name: "echo" })] },
  );
  // Steering: what waits for the next step makes the turn go on.
  const note = {
    id: "n1",
    role: "user",
    content: [{ type: "text", text: "go on" }],
    source: { kind: "plugin", plugin: "p" },
  };
  on.session.session.subscribe((event) => {
    if (event.type !== "assistant/message" || event.seq > 12) return;
    queueMicrotask(() =>
      on.session.session.append({
        type: "agent/inbox/spliced",
        data: { target: "next-step", start: 0, inserted: [note] },
      })
    );
  });
  const outcome = await on.session.send("go");
  assertEquals(outcome.reason, { kind: "max-tokens" });
  assertEquals(on.requests.length, 3);
  await logOf(on);
});

Deno.test("send() leaves what waits behind a failed turn in the inbox, and the next send runs it first", async () => {
  const on = await stage([[{ throws: "broken" }], [{ text: "b" }], [{ text: "c" }]]);
  const [first, second] = await Promise.all([on.session.send("a"), on.session.send("b")]);
  assertEquals([first.reason.kind, second.turn, second.reason.kind], ["error", null, "error"]);
  assert(second.turn === null && second.isWaiting);
  assertEquals((await on.session.send("c")).turn, 3);
  assertEquals(on.requests.map((request) => textOf(request.messages.at(-1)!.content)), ["a", "b", "c"]);
});

Deno.test("send() takes its message back, or cancels its turn, when its signal aborts", async () => {
  const entered = Promise.withResolvers<void>();
  const on = await stage([[{ run: () => entered.resolve() }, { hang: true }], [{ text: "x" }]]);
  const [running, waiting] = [new AbortController(), new AbortController()];
  const first = on.session.send("a", { signal: running.signal });
  const second = on.session.send("b", { signal: waiting.signal });
  waiting.abort();
  const taken = await second;
  assert(taken.turn === null && !taken.isWaiting);
  assertEquals(taken.reason, { kind: "aborted", reason: { kind: "user" } });
  await entered.promise;
  running.abort();
  assertEquals((await first).reason, { kind: "aborted", reason: { kind: "user" } });
  assertEquals((await on.session.send("c")).reason, { kind: "completed" });
  await assertRejects(() => on.session.send("d", { signal: AbortSignal.abort() }));
  await logOf(on);
});

Deno.test("cancel() takes back what waits, durably, unless told to keep it", async () => {
  const on = await stage([[{ hang: true }], [{ hang: true }], [{ text: "b" }], [{ text: "c" }]]);
  const first = on.session.send("a");
  const second = on.session.send("lost");
  on.session.subscribe((live) => live.kind === "event" && live.event.type === "step/start" && on.session.cancel());
  assertEquals([(await first).turn, (await second).turn], [1, null]);
  const events = await logOf(on);
  const taken = events.find((event) => isEvent(event, "agent/inbox/spliced") && event.data.outcome === "canceled");
  assert(taken !== undefined);
  assertEquals(on.session.session.folds.inbox.nextTurn.length, 0);
});

Deno.test("a message that is sent after a cancel runs as soon as the cancelled turn has ended", async () => {
  const entered = Promise.withResolvers<void>();
  const on = await stage([[{ run: () => entered.resolve() }, { hang: true }], [{ text: "b" }]]);
  const first = on.session.send("a");
  await entered.promise;
  on.session.cancel();
  const second = on.session.send("b");
  assertEquals([(await first).reason.kind, (await second).reason.kind], ["aborted", "completed"]);
});

Deno.test("the log replays: what was streamed is what the message says", async () => {
  const on = await stage([[
    { reasoning: ["let ", "me"] },
    { text: ["d", "o", "ne"] },
    { usage: { inputTokens: 3, outputTokens: 4 } },
  ]]);
  const outcome = await on.session.send("go");
  assert(outcome.turn !== null);
  assertEquals(outcome.usage, { inputTokens: 3, outputTokens: 4 });
  const message = (await logOf(on)).find((event) => isEvent(event, "assistant/message"))!;
  assert(isEvent(message, "assistant/message"));
  const { stream } = message.data;
  const texts = stream.flatMap((record) => record.type === "text-chunks" ? [...record.texts] : []);
  assertEquals(texts, ["d", "o", "ne"]);
  assertEquals(message.data.usage, { inputTokens: 3, outputTokens: 4 });
  assertEquals(message.data.message.content, [
    { type: "reasoning", text: "let me" },
    { type: "text", text: "done" },
  ]);
});

Deno.test("exec/T37: empty and repeated call ids are made unique, in message and stream, and say so in the log", async () => {
  const keys: string[] = [];
  const pay = noting([], {
    name: "pay",
    effect: "opaque",
    permission: () => ({ decision: "allow" }),
    execute: (_, call) => (keys.push(call.effectKey), "paid"),
  });
  const call = (id: string, n: number) => ({ call: { id, name: "pay", arguments: { n } } });
  const on = await stage([[call("c1", 1), call("c1", 2), call("", 3)], [call("c1", 4)], [{ text: "end" }]], {
    tools: [pay],
  });
  await on.session.send("go");
  const events = await logOf(on);
  const ids = events.flatMap((event) => isEvent(event, "tool/call") ? [event.data.callId] : []);
  assertEquals(ids, ["c1", "call-1-1-1", "call-1-1-2", "call-1-2-0"]);
  const renamed = events.flatMap((event) => isEvent(event, "call/renamed") ? [event.data] : []);
  assertEquals(renamed, [
    { turn: 1, step: 1, index: 1, providerCallId: "c1" },
    { turn: 1, step: 1, index: 2, providerCallId: "" },
    { turn: 1, step: 2, index: 0, providerCallId: "c1" },
  ]);
  const message = events.find((event) => isEvent(event, "assistant/message"))!;
  assertEquals(JSON.stringify(message).split("call-1-1-1").length - 1, 3); // content, delta, block-end
  assertEquals(events[message.seq + 1]?.type, "call/renamed");
  assertEquals(new Set(keys).size, 4);
});

Deno.test("the system message is pinned at the head, and replaced there when a resumed agent has another", async () => {
  const first = await stage([[{ text: "one" }]], { systemPrompt: "be kind" });
  await first.session.send("hi");
  await first.session.close();
  const on = await resumed(first.store.crash(), [[{ text: "two" }], [{ text: "three" }]], { systemPrompt: "be brief" });
  await on.session.send("again");
  await on.session.send("and again");
  const systems = (await logOf(on)).filter((event) => event.type === "system/message");
  assertEquals(systems.length, 2);
  assertEquals(systems[1]!.surfaceOp, { op: "replace", startSeq: systems[0]!.seq, endSeq: systems[0]!.seq });
  assertEquals(on.requests[1]!.messages[0]!.role, "system");
  assertEquals(textOf(on.requests[1]!.messages[0]!.content), "be brief");
  // Without a prompt the place at the head is kept by an empty message.
  const plain = await stage([[{ text: "x" }]]);
  await plain.session.send("hi");
  assertEquals(plain.requests[0]!.messages[0]!.role, "user");
  assertEquals(typesOf(await logOf(plain)), PLAIN_TURN);
});

Deno.test("a turn that never ends is ended at its limit of steps", async () => {
  const on = await stage([], {
    model: {
      ...scripted([]),
      stream: () => scripted([[{ call: { name: "echo" } }]]).stream(on.requests.at(-1)!, new AbortController().signal),
    },
    tools: [noting([], { name: "echo" })],
    stepsPerTurnMax: 3,
  });
  const { reason } = await on.session.send("go");
  assert(reason.kind === "error");
  assertEquals(reason.error.code, "STEP_LIMIT");
  assertStringIncludes(reason.error.message, "3 steps");
  assertEquals(on.requests.length, 3);
  assertEquals(resultsOf(await logOf(on)).length, 3);
});

Deno.test("createAgent() refuses two tools of one name and a senseless limit", () => {
  const tool = noting([], { name: "echo" });
  const model = scripted([]);
  assertThrows(() => createAgent({ store: new FakeStore(), model, tools: [tool, tool] }), TypeError, "share a name");
  assertThrows(() => createAgent({ store: new FakeStore(), model, stepsPerTurnMax: 0 }), RangeError);
});

Deno.test("close() cancels the turn, makes it durable, keeps the inbox, and ends sending", async () => {
  const entered = Promise.withResolvers<void>();
  const on = await stage([[{ text: "so" }, { hang: true }]]);
  on.session.subscribe((live) => live.kind === "chunk" && entered.resolve());
  const [first, second] = [on.session.send("a"), on.session.send("b")];
  await entered.promise;
  await on.session.close();
  assertEquals((await first).reason, { kind: "aborted", reason: { kind: "disposed" } });
  const waiting = await second;
  assert(waiting.turn === null && waiting.isWaiting);
  assertEquals(endOf(on.store.events("s1")), { kind: "aborted", reason: { kind: "disposed" } });
  await assertRejects(() => on.session.send("c"), Error, "closed");
  const next = await resumed(on.store.crash(), [[{ text: "b" }], [{ text: "c" }]]);
  await next.session.send("c");
  assertEquals(next.requests.map((request) => textOf(request.messages.at(-1)!.content)), ["b", "c"]);
});

Deno.test("exec/C12, field/A04: a flush that fails before the step starts none, and after room was made the session goes on", async () => {
  const store = new FakeStore();
  store.inject({ fail: new StorageFullError("no room") });
  const on = await stage([[{ text: "x" }]], { store });
  const { reason } = await on.session.send("go");
  assert(reason.kind === "error");
  assertEquals(reason.error.code, "CHECKPOINT_FAILED");
  assertStringIncludes(reason.error.message, "STORAGE_FULL");
  assertEquals(typesOf(await logOf(on)), ["agent/inbox/spliced", "turn/start", "agent/inbox/spliced", "turn/end"]);
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
});

Deno.test("send() refuses a message that no bound leaves room for, and runs the others", async () => {
  const on = await stage([[{ hang: true }]]);
  const sent = Array.from({ length: INBOX_MESSAGES_MAX }, (_, n) => on.session.send(`${n}`));
  await assertRejects(() => on.session.send("one too many"), RangeError, "1000 messages wait already");
  on.session.cancel();
  const outcomes = await Promise.all(sent);
  assertEquals(new Set(outcomes.map(({ reason }) => reason.kind)), new Set(["aborted"]));
});
