import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createAgent, INBOX_MESSAGES_MAX, scripted } from "../../src/agent/mod.ts";
import { BufferFullError } from "../../src/errors.ts";
import { type EventDraft, isEvent } from "../../src/event/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import {
  endOf,
  logOf,
  noting,
  resultsOf,
  resumed,
  type Stage,
  stage,
  textOf,
  typesOf,
  until,
} from "./agent_support.ts";

/** The user's texts of a request. */
function told(on: Stage, index: number): string[] {
  return on.requests[index]!.messages.flatMap(({ role, content }) => role === "user" ? [textOf(content)] : []);
}

/** Refuses the next `times` appends of a type, as a log would that takes no events. */
function refuse({ session: { session } }: Stage, type: string, times: number, error: Error = new Error("refused")) {
  const append = session.append.bind(session);
  session.append = (draft: EventDraft) => {
    if (draft.type === type && times-- > 0) throw error;
    return append(draft);
  };
}

Deno.test("exec/L03: a rejected message ends its turn blocked, without a step, and the others stay queued", async () => {
  const on = await stage([[{ text: "x" }], [{ text: "y" }]]);
  const stop = on.hooks.on("agent/pre-step", () => Promise.resolve({ kind: "reject" }));
  const [first, second] = await Promise.all([on.session.send("a"), on.session.send("b")]);
  assertEquals(first.reason, { kind: "blocked" });
  assert(second.turn === null && second.isWaiting);
  assertEquals(typesOf(await logOf(on)).slice(2), ["turn/start", "agent/inbox/spliced", "turn/end"]);
  assertEquals([on.requests.length, on.session.session.folds.inbox.nextTurn.length], [0, 1]);
  stop();
  await on.session.send("c");
  assertEquals([told(on, 0), told(on, 1)], [["b"], ["b", "c"]]);
});

Deno.test("exec/L04: a first step that is entered with nothing completes the turn without a step", async () => {
  const on = await stage([]);
  on.hooks.on("agent/pre-step", () => Promise.resolve({ kind: "enter", messages: [] }));
  const outcome = await on.session.send("a");
  assert(outcome.turn === 1);
  assertEquals([outcome.reason, outcome.steps], [{ kind: "completed" }, 0]);
  assertEquals(typesOf(await logOf(on)).slice(1), ["turn/start", "agent/inbox/spliced", "turn/end"]);
});

Deno.test("a listener of agent/pre-step changes what the model is told, and what it gave stays as it was", async () => {
  const on = await stage([[{ text: "x" }]]);
  const mutable = { content: [{ type: "text" as const, text: "instead" }] };
  on.hooks.on("agent/pre-step", async (step, next) => {
    const decision = await next();
    assertEquals(decision, { kind: "enter", messages: step.messages });
    return { kind: "enter", messages: [{ ...step.messages[0]!, ...mutable }] };
  });
  on.hooks.on("agent/request", (_, next) => (mutable.content[0]!.text = "changed later", next()));
  await on.session.send("a");
  assertEquals(told(on, 0), ["instead"]);
  await logOf(on);
});

Deno.test("exec/L31: a rejected second step ends the turn blocked, and the first one stays", async () => {
  const on = await stage([[{ call: { name: "echo" } }]], { tools: [noting([], { name: "echo" })] });
  on.hooks.on("agent/pre-step", ({ step }, next) => step === 2 ? Promise.resolve({ kind: "reject" }) : next());
  assertEquals((await on.session.send("a")).reason, { kind: "blocked" });
  assertEquals(typesOf(await logOf(on)).slice(-4), ["tool/call", "tool/result", "step/end", "turn/end"]);
});

Deno.test("exec/L18: whoever steers when the turn is about to stop gets another step, once", async () => {
  const on = await stage([[{ text: "1" }], [{ text: "2" }]]);
  let stops = 0;
  on.hooks.on("agent/turn-stopping", ({ agent, turn }) => {
    assertEquals(turn, 1);
    if (stops++ === 0) agent.steer("go on");
  });
  const outcome = await on.session.send("a");
  assert(outcome.turn === 1);
  assertEquals([outcome.steps, stops, told(on, 1)], [2, 2, ["a", "go on"]]);
  assertEquals(typesOf(await logOf(on)).filter((type) => type.startsWith("turn/")), ["turn/start", "turn/end"]);
});

Deno.test("a turn that wants to end ends with its outcome, when the step it is steered into is entered with nothing", async () => {
  for (const finish of ["stop", "max-tokens"] as const) {
    const on = await stage([[{ text: "1" }, { finish }]]);
    on.hooks.on("agent/turn-stopping", ({ agent }) => void agent.steer("go on"));
    on.hooks.on(
      "agent/pre-step",
      ({ step }, next) => step > 1 ? Promise.resolve({ kind: "enter", messages: [] }) : next(),
    );
    assertEquals((await on.session.send("a")).reason.kind, finish === "stop" ? "completed" : finish);
    assertEquals(on.requests.length, 1);
    await logOf(on);
  }
});

Deno.test("a step that owes the model results is entered, also with no messages", async () => {
  const on = await stage([[{ call: { name: "echo" } }], [{ text: "x" }]], { tools: [noting([], { name: "echo" })] });
  on.hooks.on(
    "agent/pre-step",
    ({ step }, next) => step > 1 ? Promise.resolve({ kind: "enter", messages: [] }) : next(),
  );
  assertEquals((await on.session.send("a")).reason, { kind: "completed" });
  assertEquals(on.requests.length, 2);
});

Deno.test("exec/L19: a listener of agent/turn-stopping that throws fails the turn, and the next one is served", async () => {
  const on = await stage([[{ text: "1" }], [{ text: "2" }]]);
  const stop = on.hooks.on("agent/turn-stopping", () => {
    throw new Error("no end");
  });
  const { reason } = await on.session.send("a");
  assertEquals(reason, { kind: "error", error: { message: "no end", code: "UNKNOWN" } });
  stop();
  assertEquals((await on.session.send("b")).reason, { kind: "completed" });
  await logOf(on);
});

Deno.test("exec/L17: an ordinary error in a turn becomes UNKNOWN with its chain, agent/error is told, and the loop lives on", async () => {
  const on = await stage([[{ text: "1" }]]);
  const told: unknown[] = [];
  on.hooks.on("agent/error", ({ error }) => told.push(error));
  const thrown = new Error("cannot plan", { cause: new Error("no map", { cause: "no paper" }) });
  const stop = on.hooks.on("agent/pre-step", () => Promise.reject(thrown));
  const outcome = await on.session.send("a");
  assertEquals(outcome.reason, { kind: "error", error: { message: "cannot plan: no map: no paper", code: "UNKNOWN" } });
  assert(outcome.turn === 1);
  assertEquals([told, outcome.error], [[thrown], thrown]);
  stop();
  assertEquals((await on.session.send("b")).reason, { kind: "completed" });
  await logOf(on);
});

Deno.test("exec/L28, exec/T31: steering enters the next step of the same turn, behind the results", async () => {
  const on = await stage([[{ call: { name: "echo" } }], [{ text: "x" }]], {
    tools: [noting([], { name: "echo", execute: () => (on.session.steer("and be quick"), "done") })],
  });
  const outcome = await on.session.send("a");
  assertEquals(outcome.turn, 1);
  const roles = on.requests[1]!.messages.map(({ content }) => content[0]!.type);
  assertEquals([roles, told(on, 1).at(-1)], [["text", "tool-call", "tool-result", "text"], "and be quick"]);
  const types = typesOf(await logOf(on));
  assertEquals(types.slice(types.lastIndexOf("step/start"), -3), ["step/start", "user/message"]);
});

Deno.test("steer() starts a turn when none runs, inject() waits for one, and both are claimed before the next message", async () => {
  const on = await stage([[{ text: "1" }], [{ text: "2" }]]);
  on.session.inject("fact", { source: { kind: "plugin", plugin: "p" } });
  await settle();
  assertEquals([on.session.status, typesOf(await logOf(on))], ["idle", ["agent/inbox/spliced"]]);
  on.session.steer("look");
  assertEquals(on.session.status, "running");
  await on.session.whenIdle();
  on.session.inject("more");
  await on.session.send("a");
  assertEquals([told(on, 0), told(on, 1)], [["fact", "look"], ["fact", "look", "more", "a"]]);
});

Deno.test("what is steered while a cancelled turn winds up gets a turn of its own, unless the agent is disposed of", async () => {
  for (const kind of ["user", "disposed"] as const) {
    const on = await stage([[{ call: { name: "slow" } }], [{ text: "2" }]], {
      tools: [noting([], {
        name: "slow",
        execute: () => {
          on.session.cancel({ kind });
          on.session.steer("instead");
          assertEquals(on.session.session.folds.inbox.nextTurn.map(({ content }) => textOf(content)), ["instead"]);
          return "done";
        },
      })],
    });
    await on.session.send("a");
    await on.session.whenIdle();
    const waiting = on.session.session.folds.inbox.nextTurn.length;
    assertEquals([waiting, on.requests.length], kind === "user" ? [0, 2] : [1, 1]);
    await logOf(on);
  }
});

Deno.test("a message that waits behind a cancel with keepInbox is run by the next one that wakes the loop", async () => {
  const on = await stage([[{ hang: true }], [{ text: "b" }], [{ text: "c" }]]);
  const [first, second] = [on.session.send("a"), on.session.send("b")];
  await settle();
  on.session.cancel({ kind: "parent" }, { keepInbox: true });
  assertEquals((await first).reason, { kind: "aborted", reason: { kind: "parent" } });
  const waiting = await second;
  assert(waiting.turn === null && waiting.isWaiting);
  await on.session.send("c");
  assertEquals(on.requests.map(({ messages }) => textOf(messages.at(-1)!.content)), ["a", "b", "c"]);
});

Deno.test("a cancel before the turn has begun runs nothing, with or without its message", async () => {
  for (const keepInbox of [true, false]) {
    const on = await stage([[{ text: "x" }]]);
    const sent = on.session.send("a");
    on.session.cancel({ kind: "user" }, { keepInbox });
    const outcome = await sent;
    assert(outcome.turn === null);
    assertEquals([outcome.isWaiting, outcome.reason.kind, on.requests.length], [keepInbox, "aborted", 0]);
    assertEquals(on.session.status, "idle");
    assertEquals(typesOf(await logOf(on)).includes("turn/start"), false);
  }
});

Deno.test("a cancel takes back both lists, in one splice each, and says so", async () => {
  const on = await stage([[{ hang: true }]]);
  const discarded: string[] = [];
  on.hooks.on("agent/inbox/discarded", ({ message }) => discarded.push(textOf(message.content)));
  const sent = on.session.send("a");
  await settle();
  for (const text of ["b", "c"]) on.session.followup(text);
  for (const text of ["d", "e"]) on.session.inject(text);
  on.session.cancel();
  await sent;
  assertEquals(discarded, ["d", "e", "b", "c"]);
  const canceled = (await logOf(on)).flatMap((event) =>
    isEvent(event, "agent/inbox/spliced") && event.data.outcome === "canceled" ? [event.data] : []
  );
  assertEquals(canceled.map(({ target, removedCount }) => [target, removedCount]), [["next-step", 2], [
    "next-turn",
    2,
  ]]);
});

Deno.test("cancel() by a session observer takes back what waited then, and not what came after", async () => {
  const on = await stage([[{ text: "c" }]]);
  const stop = on.session.session.subscribe((event) => {
    if (event.type !== "step/start") return;
    stop();
    on.session.cancel();
  });
  const [first, second] = [on.session.send("a"), on.session.send("b")];
  let third: Promise<unknown> | null = null;
  on.session.subscribe((live) => {
    if (live.kind === "event" && live.event.type === "step/start") {
      queueMicrotask(() => third ??= on.session.send("c"));
    }
  });
  assertEquals([(await first).turn, (await second).turn], [1, null]);
  await on.session.whenIdle();
  await third;
  assertEquals(on.requests.map(({ messages }) => textOf(messages.at(-1)!.content)).at(-1), "c");
  await logOf(on);
});

Deno.test("[N]: a cancel before the request is settled leaves neither prompt nor message, and no event out of order", async () => {
  const on = await stage([[{ text: "x" }]], { systemPrompt: "be kind" });
  const stop = on.hooks.on("agent/request", (_, next) => (on.session.cancel(), next()));
  assertEquals((await on.session.send("a")).reason.kind, "aborted");
  assertEquals(typesOf(await logOf(on)).slice(3), ["step/start", "step/end", "turn/end"]);
  stop();
  await on.session.send("b");
  assertEquals(told(on, 0), ["b"]);
});

Deno.test("exec/L34: an end of turn that is refused once is reported and tried again; there is no second request", async () => {
  const on = await stage([[{ text: "x" }], [{ text: "y" }]]);
  const errors: unknown[] = [];
  on.hooks.on("agent/error", ({ error }) => errors.push(error));
  const refusal = new Error("refused");
  refuse(on, "turn/end", 1, refusal);
  assertEquals((await on.session.send("a")).reason, { kind: "completed" });
  assertEquals([on.session.status, errors, on.requests.length], ["idle", [refusal], 1]);
  assertEquals(endOf(await logOf(on)), { kind: "completed" });
});

Deno.test("exec/L34 (ours): an end of turn that stays refused leaves the driver idle, and is made up for with its own reason", async () => {
  const on = await stage([[{ text: "x" }, { finish: "max-tokens" }], [{ text: "y" }]]);
  refuse(on, "turn/end", 2);
  await assertRejects(() => on.session.send("a"), Error, "refused");
  assertEquals([on.session.status, on.requests.length], ["idle", 1]);
  assertEquals(on.session.session.folds.brackets.turn, 1);
  assertEquals((await on.session.send("b")).reason, { kind: "completed" });
  const ends = (await logOf(on)).flatMap((event) => isEvent(event, "turn/end") ? [event.data.reason.kind] : []);
  assertEquals(ends, ["max-tokens", "completed"]);
});

Deno.test("exec/L21: every turn/start that is refused is told, and the message waits", async () => {
  const on = await stage([[{ text: "x" }], [{ text: "y" }], [{ text: "z" }]]);
  const errors: unknown[] = [];
  on.hooks.on("agent/error", ({ error }) => errors.push(error));
  refuse(on, "turn/start", 2);
  for (let n = 0; n < 2; n++) await assertRejects(() => on.session.send(`${n}`), Error, "refused");
  assertEquals([on.session.status, errors.length, on.session.session.folds.inbox.nextTurn.length], ["idle", 2, 2]);
  assertEquals((await on.session.send("2")).reason, { kind: "completed" });
});

Deno.test("a turn whose end finds the buffer full waits for room, and not for ever", async () => {
  const on = await stage([[{ text: "x" }]]);
  refuse(on, "turn/end", 1, new BufferFullError("Cannot append: full"));
  const release = on.store.hold();
  const clock = on.store.runtime.clock as unknown as { advance(ms: number): Promise<void>; nextTimerMs: number | null };
  on.session.session.subscribe((event) => event.type === "turn/start" && release());
  on.session.subscribe((live) => live.kind === "event" && live.event.type === "step/end" && void on.store.hold());
  const sent = on.session.send("a");
  await settle();
  assertEquals(on.session.status, "running");
  await clock.advance(10_000);
  assertEquals((await sent).reason, { kind: "completed" });
});

Deno.test("exec/L29: no turn of a live run ends interrupted, however it ends", async () => {
  const on = await stage([
    [{ text: "completed" }],
    [{ hang: true }],
    [{ throws: "broken" }],
    [{ text: "cut" }, { finish: "max-tokens" }],
    [{ call: { name: "echo" } }],
  ], { tools: [noting([], { name: "echo", execute: () => (on.session.cancel(), "x") })] });
  const kinds: string[] = [];
  for (let n = 0; n < 5; n++) {
    const sent = on.session.send(`${n}`);
    await settle();
    if (n === 1) on.session.cancel();
    kinds.push((await sent).reason.kind);
  }
  on.hooks.on("agent/pre-step", () => Promise.resolve({ kind: "reject" }));
  kinds.push((await on.session.send("x")).reason.kind);
  assertEquals(kinds, ["completed", "aborted", "error", "max-tokens", "aborted", "blocked"]);
  const ends = (await logOf(on)).flatMap((event) => isEvent(event, "turn/end") ? [event.data.reason.kind] : []);
  assertEquals(ends, kinds);
});

Deno.test("exec/L26: a turn after a crash is the next one, and the crashed one reads interrupted", async () => {
  const notes: string[] = [];
  const on = await stage([[{ text: "1" }], [{ call: { name: "hang" } }]], {
    tools: [noting(notes, { name: "hang", execute: () => new Promise(() => {}) })],
  });
  await on.session.send("a");
  void on.session.send("b");
  await until(() => notes.length === 1);
  const after = await resumed(on.store.crash(), [[{ text: "3" }]]);
  assertEquals((await after.session.send("c")).turn, 3);
  const events = await logOf(after);
  const ends = events.flatMap((event) => isEvent(event, "turn/end") ? [event.data.reason.kind] : []);
  assertEquals(ends, ["completed", "interrupted", "completed"]);
  assertEquals(resultsOf(events).length, 1);
});

Deno.test("a status listener that sends at once keeps the order of what all listeners are told", async () => {
  const on = await stage([[{ text: "1" }], [{ text: "2" }]]);
  const [first, second]: string[][] = [[], []];
  on.hooks.on("agent/status", ({ agent, status }) => {
    first!.push(status);
    if (status === "idle" && first!.length === 2) agent.followup("again");
  });
  on.hooks.on("agent/status", ({ status }) => second!.push(status));
  await on.session.send("a");
  await on.session.whenIdle();
  assertEquals([first, second], [["running", "idle", "running", "idle"], ["running", "idle", "running", "idle"]]);
});

Deno.test("each list of the inbox has its bound, and a refused message waits nowhere", async () => {
  const on = await stage([[{ text: "x" }]]);
  for (let n = 0; n < INBOX_MESSAGES_MAX; n++) on.session.inject(`${n}`);
  assertThrows(() => on.session.inject("one too many"), RangeError, "1000 messages wait already");
  assertEquals((await on.session.send("a")).reason, { kind: "completed" });
  assertEquals(told(on, 0).length, 1001);
});

Deno.test("followup(), steer() and inject() refuse a closed session, and a caller in the middle of an append", async () => {
  const on = await stage([[{ text: "x" }]]);
  const refused: unknown[] = [];
  on.session.session.subscribe((event) => {
    if (event.type !== "step/start") return;
    for (const verb of ["followup", "steer", "inject"] as const) {
      try {
        on.session[verb]("now");
      } catch (error) {
        refused.push(error);
      }
    }
  });
  assertEquals((await on.session.send("a")).reason, { kind: "completed" });
  assertEquals(refused.map((error) => error instanceof TypeError), [true, true, true]);
  await on.session.close();
  for (const verb of ["followup", "steer", "inject"] as const) {
    assertThrows(() => on.session[verb]("late"), Error, "closed");
  }
});

Deno.test("a listener that takes a message back as it comes leaves nobody waiting", async () => {
  const on = await stage([[{ hang: true }]]);
  void on.session.send("a");
  await settle();
  on.hooks.on("agent/inbox/inserted", ({ agent }) => agent.cancel());
  const outcome = await on.session.send("b");
  assert(outcome.turn === null && !outcome.isWaiting);
  await on.session.whenIdle();
  await logOf(on);
});

Deno.test("createAgent() refuses a senseless number of parallel calls (exec/T28)", () => {
  for (const maxParallelToolCalls of [0, -1, 1.5, NaN, Infinity]) {
    assertThrows(() => createAgent({ store: new FakeStore(), model: scripted([]), maxParallelToolCalls }), RangeError);
  }
});

Deno.test("cancel() refuses a cause that the log could not hold, and cancels nothing", async () => {
  const on = await stage([[{ hang: true }]]);
  const [first, second] = [on.session.send("a"), on.session.send("b")];
  await settle();
  for (const cause of [{ kind: "" }, { kind: "hook" }, { kind: 7 }, null, { kind: "user", at: NaN }]) {
    assertThrows(() => on.session.cancel(cause as never), TypeError);
  }
  assertEquals([on.session.status, on.session.session.folds.inbox.nextTurn.length], ["running", 1]);
  on.session.cancel();
  assertEquals([(await first).reason.kind, (await second).turn], ["aborted", null]);
  await logOf(on);
});

Deno.test("a message whose id the log heard before is one input, while it waits, after its turn, and after a reopen", async () => {
  const on = await stage([[{ text: "1" }], [{ text: "2" }]]);
  on.session.followup("pay", { id: "input-1" });
  on.session.followup("pay", { id: "input-1" });
  await on.session.whenIdle();
  on.session.steer("pay", { id: "input-1" });
  on.session.inject("pay", { id: "input-1" });
  await settle();
  assertEquals([on.session.status, on.requests.length], ["idle", 1]);
  await on.session.close();
  const again = await on.agent.resume(on.session.id);
  again.followup("pay", { id: "input-1" });
  await again.whenIdle();
  assertEquals(on.requests.length, 1);
  assertThrows(() => again.followup("pay", { id: "" }), TypeError, "id is empty");
  await again.close();
});
