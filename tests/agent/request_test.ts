import { assert, assertEquals, assertThrows } from "@std/assert";
import { type ContextSection, NO_RESULT_TEXT, pastRequests, requestOf } from "../../src/agent/mod.ts";
import { setApprovalPolicy } from "../../src/approval/mod.ts";
import { isEvent, type SessionEvent, type SessionHeader } from "../../src/event/mod.ts";
import { foldEvents, logFold } from "../../src/fold/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { checkLog } from "./log_checker.ts";
import { logOf, noting, resumed, type Stage, stage, textOf, typesOf, until } from "./agent_support.ts";
import { transcriptProblem } from "./transcripts.ts";

function headerReasons(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) =>
    isEvent(event, "request/header") ? [`${event.data.reason}${event.data.startsSeries === true ? "+" : ""}`] : []
  );
}

/** The snapshots on the log: the texts of their sections. */
function snapshots(events: readonly SessionEvent[]): string[][] {
  return events.flatMap((event) => {
    if (!isEvent(event, "user/message") || event.data.source.form !== "snapshot") return [];
    return [(event.data.source.sections as ContextSection[]).map(({ name, text }) => `${name}: ${text}`)];
  });
}

/** A stage whose context says what `sections` says. */
async function withContext(sections: () => readonly ContextSection[]) {
  const on = await stage(Array(5).fill([{ text: "x" }]));
  on.hooks.on("system-prompt/assemble", async (_, next) => {
    const assembly = await next();
    return { ...assembly, context: [...assembly.context, ...sections()] };
  });
  return on;
}

Deno.test("the runtime context stands behind the conversation, in its order, and is told again only when it has changed", async () => {
  let day = "Monday";
  const on = await withContext(() => [
    { name: "day", order: 200, text: day },
    { name: "sandbox:policy", order: 110, text: "read-only" },
    { name: "a", order: 200, text: "first of two" },
  ]);
  await on.session.send("a");
  await on.session.send("b");
  day = "Tuesday";
  await on.session.send("c");
  const events = await logOf(on);
  assertEquals(snapshots(events), [
    ["sandbox:policy: read-only", "a: first of two", "day: Monday"],
    ["sandbox:policy: read-only", "a: first of two", "day: Tuesday"],
  ]);
  assertEquals(on.requests.map(({ messages }) => messages.at(-1)!.source.form ?? "said"), [
    "snapshot",
    "said",
    "snapshot",
  ]);
  const text = textOf(on.requests[0]!.messages.at(-1)!.content);
  assertEquals(text.split("\n").filter((line) => line.startsWith("[")), ["[sandbox:policy]", "[a]", "[day]"]);
  // The prompt before it stays the same: it is the beginning of every later request.
  const prefix = JSON.stringify(on.requests[0]!.messages).slice(0, -1);
  assert(JSON.stringify(on.requests[2]!.messages).startsWith(prefix));
});

Deno.test("a context that has nothing left to say says so once, and a resumed agent trusts what the log says", async () => {
  let sections: ContextSection[] = [{ name: "day", order: 1, text: "Monday" }];
  const on = await withContext(() => sections);
  await on.session.send("a");
  sections = [];
  await on.session.send("b");
  await on.session.send("c");
  assertEquals(snapshots(await logOf(on)), [["day: Monday"], []]);
  await on.session.close();
  const after = await resumed(on.store.crash(), [[{ text: "x" }], [{ text: "y" }]]);
  await after.session.send("d");
  assertEquals(snapshots(await logOf(after)).length, 2);
  after.hooks.on(
    "system-prompt/assemble",
    async (_, next) => ({ ...await next(), context: [{ name: "day", order: 1, text: "Monday" }] }),
  );
  await after.session.send("e");
  assertEquals(snapshots(await logOf(after)).length, 3);
});

Deno.test("a listener of agent/pre-step sees the context at the end of the batch and may leave it out; it is then told at the next step", async () => {
  const on = await withContext(() => [{ name: "day", order: 1, text: "Monday" }]);
  const batches: unknown[] = [];
  on.hooks.on("agent/pre-step", ({ messages, turn }) => {
    batches.push(messages.map(({ source }) => source.form ?? source.kind));
    return Promise.resolve({ kind: "enter", messages: turn === 1 ? messages.slice(0, 1) : messages });
  });
  await on.session.send("a");
  await on.session.send("b");
  assertEquals(batches, [["user", "snapshot"], ["user", "snapshot"]]);
  assertEquals(snapshots(await logOf(on)).length, 1);
});

Deno.test("the approval policy is in the context once it is anything but the usual, with its notice before it", async () => {
  const on = await stage(Array(4).fill([{ text: "x" }]));
  await on.session.send("a");
  setApprovalPolicy(on.session.session, "never");
  await on.session.send("b");
  setApprovalPolicy(on.session.session, "ask");
  await on.session.send("c");
  const found = snapshots(await logOf(on)).flat();
  assertEquals(found.map((text) => /^approval:policy: .*"(ask|never)"/.exec(text)?.[1]), ["never", "ask"]);
  assertEquals(on.requests[1]!.messages.slice(-3).map(({ source }) => source.form ?? source.kind), [
    "notice",
    "user",
    "snapshot",
  ]);
  const never = await stage([[{ text: "x" }]], { approvalPolicy: "never" });
  await never.session.send("a");
  assertEquals(snapshots(await logOf(never)).length, 1);
});

Deno.test("system-prompt/assemble: prompt and tools are what listeners make of them, and each change is logged as one", async () => {
  let isTerse = false;
  const on = await stage(Array(4).fill([{ text: "x" }]), {
    systemPrompt: "be kind",
    tools: [noting([], { name: "one" }), noting([], { name: "two" })],
  });
  on.hooks.on("system-prompt/assemble", async (_, next) => {
    const { systemPrompt, tools, context } = await next();
    if (!isTerse) return { systemPrompt, tools, context };
    return { systemPrompt: `${systemPrompt} and terse`, tools: tools.slice(1), context };
  });
  await on.session.send("a");
  isTerse = true;
  await on.session.send("b");
  await on.session.send("c");
  isTerse = false;
  await on.session.send("d");
  assertEquals(on.requests.map(({ messages }) => textOf(messages[0]!.content)), [
    "be kind",
    "be kind and terse",
    "be kind and terse",
    "be kind",
  ]);
  assertEquals(on.requests.map(({ header }) => header.tools!.map(({ name }) => name).join()), [
    "one,two",
    "two",
    "two",
    "one,two",
  ]);
  // The head of the conversation was rewritten: a series begins.
  assertEquals(headerReasons(await logOf(on)), ["initial", "change+", "change+"]);
});

Deno.test("a rewritten conversation begins a series, also when nothing of the header has changed", async () => {
  const on = await stage(Array(3).fill([{ text: "x" }]), { tools: [noting([], { name: "echo" })] });
  let prompt = "one";
  on.hooks.on("system-prompt/assemble", async (_, next) => ({ ...await next(), systemPrompt: prompt }));
  await on.session.send("a");
  prompt = "two";
  await on.session.send("b");
  await on.session.send("c");
  const events = await logOf(on);
  assertEquals(headerReasons(events), ["initial", "series"]);
  assertEquals(typesOf(events).filter((type) => type === "request/context").length, 1);
});

Deno.test("field/B08: tools in another order, another prompt and another model after a crash are events, and nothing diverges", async () => {
  const tools = [noting([], { name: "one" }), noting([], { name: "two" })];
  const on = await stage([[{ call: { name: "one" } }], [{ hang: true }]], { tools, systemPrompt: "be kind" });
  void on.session.send("go");
  await until(() => on.requests.length === 2);
  const store = on.store.crash();
  const model = {
    provider: "p2",
    id: "m2",
    stream: (await import("../../src/agent/mod.ts")).scripted([[{ text: "x" }]]).stream,
  };
  const after = await resumed(store, [], { tools: tools.toReversed(), systemPrompt: "be brief", model });
  assertEquals((await after.session.send("go on")).reason, { kind: "completed" });
  const events = await logOf(after);
  assertEquals(headerReasons(events), ["initial", "resume"]);
  const [request] = after.requests;
  assertEquals([request!.header.config.model, textOf(request!.messages[0]!.content)], ["m2", "be brief"]);
  assertEquals(request!.header.tools!.map(({ name }) => name), ["two", "one"]);
});

Deno.test("pastRequests() makes every request again, byte for byte, from the events alone", async () => {
  const failure = { message: "busy", code: "SERVER" };
  const on = await stage([
    [{ text: "so" }, { error: failure }],
    [{ text: "calling" }, { call: { name: "echo" } }],
    [{ text: "half" }, { hang: true }],
    [{ text: "done" }],
  ], { tools: [noting([], { name: "echo" })], systemPrompt: "be kind" });
  on.hooks.on("agent/request-error", () => Promise.resolve({ kind: "retry" }));
  const sent = on.session.send("a");
  await until(() => on.requests.length === 3);
  await settle();
  on.session.cancel();
  await sent;
  await on.session.send("b");
  const events = await logOf(on);
  const past = [...pastRequests("s1", events)];
  assertEquals(
    past.map(({ request }) => JSON.stringify(request)),
    on.requests.map((request) => JSON.stringify(request)),
  );
  assertEquals(past.map(({ seq }) => events[seq]!.type), [
    "assistant/attempt",
    "assistant/message",
    "assistant/message",
    "assistant/message",
  ]);
  assertThrows(() => requestOf("s1", logFold.initial()), TypeError, "no request/header");
});

Deno.test("a request that was sent and cancelled before anything came is in the log; one that was never sent is not", async () => {
  const on = await stage([[{ hang: true }], [{ text: "x" }]]);
  const sent = on.session.send("a");
  await settle();
  on.session.cancel();
  await sent;
  assertEquals(typesOf(await logOf(on)).slice(-3), ["assistant/attempt", "step/end", "turn/end"]);
  const release = on.store.hold();
  on.session.session.subscribe((event) => event.type === "user/message" && queueMicrotask(() => on.session.cancel()));
  const held = on.session.send("b");
  await settle();
  release();
  await held;
  assertEquals([...pastRequests("s1", await logOf(on))].length, 1);
});

const HEADER: SessionHeader = {
  type: "session",
  version: 3,
  id: "s1",
  createdAt: 1,
  isSeeded: false,
  delegationDepth: 0,
};

/** A log of another program: a closed step, in it a call without a result. */
function foreignLog(): SessionEvent[] {
  const user = { id: "u1", role: "user", content: [{ type: "text", text: "go" }], source: { kind: "user" } };
  const message = {
    id: "a1",
    role: "assistant",
    content: [{ type: "text", text: "paying" }, { type: "tool-call", id: "c1", name: "pay", arguments: "{}" }],
    source: { kind: "model", provider: "p", model: "m" },
  };
  const rows: Omit<SessionEvent, "seq" | "time">[] = [
    { type: "turn/start", data: { turn: 1 } },
    { type: "step/start", data: { turn: 1, step: 1 } },
    { type: "user/message", data: user, surfaceOp: "append" },
    { type: "request/header", data: { header: { config: { provider: "p", model: "m" } }, reason: "initial" } },
    { type: "assistant/message", data: { turn: 1, step: 1, message, stream: [] }, surfaceOp: "append" },
    { type: "step/end", data: { turn: 1, step: 1 } },
  ];
  return rows.map((row, seq) => ({ ...row, seq, time: 1 }));
}

Deno.test("field/B30: a call that another program left without result in a closed step is answered in every request, and the log stays", async () => {
  const store = new FakeStore();
  store.plant(HEADER, foreignLog());
  const on = await resumed(store, [[{ text: "I see" }], [{ text: "still" }]]);
  // An independent checker says what is wrong with the log, and repair adds nothing about it.
  assertEquals(checkLog("s1", foreignLog(), false).problems, [
    "2 user/message: was never claimed",
    '5 step/end: leaves "c1" unanswered',
  ]);
  assertEquals(on.session.resumed!.closers.map(({ type }) => type), ["turn/end"]);
  for (const text of ["go on", "and on"]) await on.session.send(text);
  for (const { messages } of on.requests) {
    assertEquals(transcriptProblem(messages), null);
    assertEquals(messages[2]!.id, "no-result-a1-0");
    assert(JSON.stringify(messages[2]).includes(JSON.stringify(NO_RESULT_TEXT).slice(1, -1)));
  }
  const events = on.store.events("s1");
  assertEquals(JSON.stringify(events.slice(0, 6)), JSON.stringify(foreignLog()));
  assertEquals(events.some((event) => event.type === "tool/result"), false);
  assertEquals(JSON.stringify(requestOf("s1", foldEvents(logFold, events.slice(0, 6))).messages.length), "3");
});

Deno.test("a log that began without a system message keeps its head", async () => {
  const store = new FakeStore();
  store.plant(HEADER, foreignLog());
  const on: Stage = await resumed(store, [[{ text: "x" }]], { systemPrompt: "be kind" });
  await on.session.send("a");
  assertEquals(on.requests[0]!.messages[0]!.role, "user");
});
