import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type AgentHooks,
  type AgentSession,
  ATTEMPTS_PER_STEP_MAX,
  createAgent,
  type LoopAgent,
  scripted,
} from "../../src/agent/mod.ts";
import type { StreamChunk } from "../../src/event/mod.ts";
import { HookOwner, Hooks } from "../../src/hooks/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { logOf, noting, type Stage, stage, textOf, typesOf, until } from "./agent_support.ts";

/** Hooks of the loop whose answer the loop waits for, and how a listener is put there that does `act` and nothing else. */
const AWAITED = [
  "system-prompt/assemble",
  "agent/pre-step",
  "agent/request",
  "llm/stream",
  "agent/request-error",
  "agent/turn-stopping",
] as const;
type Awaited = (typeof AWAITED)[number];

/** A turn that reaches every hook: the first request fails, the second calls, the third answers. */
const EVERYTHING = [
  [{ throws: "broken" }],
  [{ call: { name: "echo" } }],
  [{ text: "done" }],
];

/** A stage on which a failed request is made again, with a listener of one hook that does `act`. */
async function withListener(hook: Awaited, act: (next: unknown) => unknown): Promise<Stage & { stop: () => void }> {
  const on = await stage([...EVERYTHING, ...EVERYTHING, ...EVERYTHING], { tools: [noting([], { name: "echo" })] });
  const listener = (...args: unknown[]) => act(args.at(-1));
  const stop = on.hooks.on(hook, listener as never);
  on.hooks.on("agent/request-error", () => Promise.resolve({ kind: "retry" }));
  return { ...on, stop };
}

async function goesOn({ session, stop, ...on }: Stage & { stop: () => void }, what: string): Promise<void> {
  assertEquals(session.status, "idle", what);
  stop();
  // The script is where it is: in whatever step, each of its turns ends well.
  assertEquals((await session.send("again")).reason, { kind: "completed" }, what);
  await logOf({ session, ...on });
}

const hostile = {
  get message(): string {
    throw new Error("no message");
  },
  toString(): string {
    throw new Error("no text");
  },
};

for (const hook of AWAITED) {
  Deno.test(`${hook}: a listener that throws or rejects, whatever it throws, fails the turn and nothing else`, async () => {
    for (const thrown of [new Error("odd"), hostile, null, undefined, "text", Symbol("s")]) {
      for (const way of ["throws", "rejects"] as const) {
        const on = await withListener(hook, () => {
          if (way === "throws") throw thrown;
          return Promise.reject(thrown);
        });
        const { reason } = await on.session.send("go");
        const what = `${way} ${typeof thrown}`;
        assert(reason.kind === "error", what);
        // What llm/stream gives back is no promise: a rejected one is nothing that can be read.
        assertEquals(reason.error.code, "UNKNOWN", what);
        await goesOn(on, what);
      }
    }
  });

  Deno.test(`${hook}: a listener that hangs holds the turn until it is cancelled, and is not heard when it answers late`, async () => {
    for (const late of ["never", "answers", "rejects", "goes on"] as const) {
      const hung = Promise.withResolvers<unknown>();
      let next: unknown;
      let isEntered = false;
      const on = await withListener(hook, (given) => {
        isEntered = true;
        next = given;
        if (hook !== "llm/stream") return hung.promise;
        // An iterable whose first chunk hangs.
        return { [Symbol.asyncIterator]: () => ({ next: () => hung.promise }) };
      });
      const sent = on.session.send("go");
      await until(() => isEntered);
      await settle();
      assertEquals(on.session.status, "running");
      on.session.cancel({ kind: "hook", reason: late });
      assertEquals((await sent).reason, { kind: "aborted", reason: { kind: "hook", reason: late } });
      await on.session.whenIdle();
      const logged = on.session.session.nextSeq;
      const requests = on.requests.length;
      if (late === "answers") hung.resolve({ kind: "enter", messages: [], provider: "x", model: "y" });
      if (late === "rejects") hung.reject(new Error("late"));
      if (late === "goes on" && typeof next === "function") await Promise.resolve(next()).catch(() => {});
      await settle();
      assertEquals([on.session.session.nextSeq, on.requests.length], [logged, requests], late);
      await goesOn(on, late);
    }
  });
}

Deno.test("a listener that answers nonsense fails the turn, wherever the loop needs an answer", async () => {
  const nonsense: unknown[] = [
    undefined,
    null,
    7,
    "text",
    [],
    {},
    { kind: "enter" },
    { kind: "enter", messages: 7 },
    {
      kind: "maybe",
    },
    { provider: "p" },
    { systemPrompt: 1, tools: [], context: [] },
    {
      systemPrompt: "",
      tools: [{ name: 1 }],
      context: [],
    },
    { systemPrompt: "", tools: [], context: [{ name: "x" }] },
    { kind: "enter", messages: [{ id: "x" }] },
    {
      kind: "enter",
      messages: [{ id: "x", role: "assistant", content: [], source: { kind: "user" } }],
    },
  ];
  for (const hook of ["system-prompt/assemble", "agent/pre-step", "agent/request", "llm/stream"] as const) {
    for (const answer of nonsense) {
      // A text and an empty list are streams, of sorts: see below.
      if (hook === "llm/stream" && (typeof answer === "string" || Array.isArray(answer))) continue;
      const on = await withListener(hook, () => Promise.resolve(answer));
      const { reason } = await on.session.send("go");
      assertEquals(reason.kind, "error", `${hook} ${JSON.stringify(answer)}`);
      await goesOn(on, JSON.stringify(answer));
    }
  }
  // Here anything but a retry is none.
  for (const answer of nonsense) {
    const on = await withListener("agent/request-error", () => Promise.resolve(answer));
    const { reason } = await on.session.send("go");
    assert(reason.kind === "error" && reason.error.code === "TRANSPORT");
    await goesOn(on, JSON.stringify(answer));
  }
});

Deno.test("llm/stream: a stream that is no stream of chunks has failed, and one of nothing is an empty answer", async () => {
  for (
    const [stream, kind] of [["text", "error"], [[null], "error"], [[{ type: "finish" }], "error"], [[], "completed"]]
  ) {
    const on = await stage([[{ text: "x" }]]);
    const stop = on.hooks.on("llm/stream", () => stream as never);
    const { reason } = await on.session.send("go");
    assertEquals(reason.kind, kind);
    if (reason.kind === "error") assertEquals(reason.error.code, "TRANSPORT");
    await goesOn({ ...on, stop }, String(stream));
  }
});

Deno.test("a listener that wants a request made again for ever gets it as often as a step may ask", async () => {
  const model = { ...scripted([]), async *stream(): AsyncGenerator<StreamChunk> {} };
  let attempts = 0;
  model.stream = async function* () {
    attempts++;
    yield { type: "finish", reason: { kind: "error", failure: { message: "busy", code: "SERVER" } } };
  };
  const agent = createAgent({ store: new FakeStore(), model });
  await using session = await agent.create();
  agent.hooks.on("agent/request-error", () => Promise.resolve({ kind: "retry" }));
  const { reason } = await session.send("go");
  assertEquals([reason.kind, attempts], ["error", ATTEMPTS_PER_STEP_MAX]);
});

Deno.test("a listener of agent/turn-stopping that returns something keeps nobody from the end", async () => {
  const on = await withListener("agent/turn-stopping", () => "no, wait");
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
});

Deno.test("llm/stream: what the model yields passes through listeners, which may change it, serve it, or ask twice (exec/E13)", async () => {
  const on = await stage([[{ text: "one" }], [{ text: "two" }], [{ text: "three" }]]);
  const writes = () => on.store.calls.length;
  const seen: number[] = [];
  on.hooks.on("llm/stream", async function* (_, next): AsyncGenerator<StreamChunk> {
    seen.push(writes());
    // The first try is thrown away, barrier and all inner listeners are not: the second one passes through them again.
    for await (const _ of next());
    yield* next();
  });
  const inner: string[] = [];
  on.hooks.on("llm/stream", ({ request }, next) => (inner.push(textOf(request.messages.at(-1)!.content)), next()));
  await on.session.send("go");
  assertEquals([inner, on.requests.length], [["go", "go"], 2]);
  const events = await logOf(on);
  assertEquals(typesOf(events).filter((type) => type === "assistant/message").length, 1);
  // One barrier for both: nothing was written between them.
  assertEquals(seen, [on.store.calls.findIndex(({ types }) => types.includes("request/header")) + 1]);
});

Deno.test("llm/stream: a listener serves a provider that nobody is connected to, and without one it fails as NO_ADAPTER", async () => {
  const on = await stage([]);
  on.hooks.on("agent/request", () => Promise.resolve({ provider: "elsewhere", model: "m1" }));
  const { reason } = await on.session.send("go");
  assert(reason.kind === "error");
  assertEquals(reason.error, { message: 'no model "m1" of provider "elsewhere" is connected', code: "NO_ADAPTER" });
  on.hooks.on("llm/stream", async function* (): AsyncGenerator<StreamChunk> {
    yield { type: "text-delta", index: 0, text: "served" };
  });
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
  const events = await logOf(on);
  const message = events.find((event) => event.type === "assistant/message")!.data as unknown as {
    message: { source: unknown };
  };
  assertEquals(message.message.source, { kind: "model", provider: "elsewhere", model: "m1" });
});

Deno.test("llm/stream: a listener that throws in the middle is no failure of the model; what came is evidence", async () => {
  const on = await stage([[{ text: ["half", " an answer"] }]]);
  let offered = 0;
  on.hooks.on("agent/request-error", (_, next) => (offered++, next()));
  on.hooks.on("llm/stream", async function* (_, next): AsyncGenerator<StreamChunk> {
    for await (const chunk of next()) {
      yield chunk;
      if (chunk.type === "text-delta") throw new Error("not this word");
    }
  });
  const { reason } = await on.session.send("go");
  assertEquals(reason, { kind: "error", error: { message: "not this word", code: "UNKNOWN" } });
  assertEquals([offered, typesOf(await logOf(on)).slice(-3)], [0, ["assistant/attempt", "step/end", "turn/end"]]);
});

Deno.test("llm/stream: next() that was kept finds nobody when the attempt is over, also in another turn", async () => {
  const on = await stage([[{ text: "one" }], [{ text: "two" }]]);
  let kept: (() => AsyncIterable<StreamChunk>) | null = null;
  on.hooks.on("llm/stream", (_, next) => (kept ??= next, next()));
  await on.session.send("go");
  await assertRejects(() => Array.fromAsync(kept!()), TypeError, "over");
  await on.session.send("go");
  await assertRejects(() => Array.fromAsync(kept!()), TypeError, "over");
  assertEquals(on.requests.length, 2);
});

Deno.test("exec/L12: a listener of agent/request that throws is not offered for recovery, and no model is called", async () => {
  const on = await stage([[{ text: "x" }]]);
  let offered = 0;
  on.hooks.on("agent/request-error", (_, next) => (offered++, next()));
  on.hooks.on("agent/request", () => Promise.reject(new Error("no route")));
  assertEquals((await on.session.send("go")).reason.kind, "error");
  assertEquals([offered, on.requests.length], [0, 0]);
});

Deno.test("exec/L14: a listener of agent/request-error that throws retries nothing", async () => {
  const on = await stage([[{ throws: "broken" }], [{ text: "x" }]]);
  on.hooks.on("agent/request-error", () => Promise.reject(new Error("cannot think")));
  const { reason } = await on.session.send("go");
  assertEquals(reason, { kind: "error", error: { message: "cannot think", code: "UNKNOWN" } });
  assertEquals(on.requests.length, 1);
});

Deno.test("exec/L11: two failures are offered in one step, and the third attempt is its answer", async () => {
  const failure = { message: "busy", code: "SERVER", status: 503 };
  const on = await stage([[{ text: "so" }, { error: failure }], [{ error: failure }], [{ text: "fine" }]]);
  const statuses: string[] = [];
  on.hooks.on("agent/status", ({ status }) => statuses.push(status));
  const offered: unknown[] = [];
  on.hooks.on("agent/request-error", ({ agent, turn, step, provider, failure }) => {
    offered.push([agent === on.session, turn, step, provider, failure]);
    return Promise.resolve({ kind: "retry" });
  });
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
  assertEquals(offered, Array(2).fill([true, 1, 1, "scripted", failure]));
  assertEquals(typesOf(await logOf(on)).slice(3), [
    "step/start",
    "system/message",
    "user/message",
    "request/header",
    "request/context",
    "assistant/attempt",
    "assistant/attempt",
    "assistant/message",
    "step/end",
    "turn/end",
  ]);
  assertEquals(statuses, ["running", "idle"]);
});

Deno.test("a cancel while a failure is offered wins over a retry", async () => {
  const on = await stage([[{ throws: "broken" }], [{ text: "x" }]]);
  on.hooks.on("agent/request-error", () => (on.session.cancel(), Promise.resolve({ kind: "retry" })));
  assertEquals((await on.session.send("go")).reason, { kind: "aborted", reason: { kind: "user" } });
  assertEquals(on.requests.length, 1);
});

Deno.test("exec/C17: each attempt has a flush of its own, which covers what listeners logged in between", async () => {
  const on = await stage([[{ throws: "broken" }], [{ text: "x" }]]);
  on.hooks.on("agent/request-error", ({ agent }) => {
    agent.session.append({ type: "note/taken", data: {}, ignorable: true });
    return Promise.resolve({ kind: "retry" });
  });
  await on.session.send("go");
  const batch = on.store.calls.find(({ types }) => types.includes("note/taken"))!;
  assertEquals(batch.types, ["assistant/attempt", "note/taken"]);
});

Deno.test("agent/request: what a listener sets is asked for and logged, once it changes", async () => {
  const on = await stage([[{ text: "1" }], [{ text: "2" }], [{ text: "3" }]], {
    parameters: { temperature: 1, maxTokens: 10 },
  });
  let isCold = false;
  on.hooks.on("agent/request", async (_, next) => ({ ...await next(), ...(isCold ? { temperature: 0 } : {}) }));
  await on.session.send("a");
  isCold = true;
  await on.session.send("b");
  await on.session.send("c");
  assertEquals(on.requests.map(({ header }) => header.config.temperature), [1, 0, 0]);
  const reasons = (await logOf(on)).flatMap((event) =>
    event.type === "request/header" ? [(event.data as { reason: string }).reason] : []
  );
  assertEquals(reasons, ["initial", "change"]);
});

Deno.test("agent/request: another connected model is chosen by provider and name, and its context is logged", async () => {
  const store = new FakeStore();
  const second = scripted([[{ text: "I am the second" }]], { provider: "other", id: "m2", contextWindow: 99 });
  const on = await stage([[{ text: "I am the first" }]], { store, models: [second] });
  on.hooks.on("agent/request", () => Promise.resolve({ provider: "other", model: "m2" }));
  assertEquals((await on.session.send("a")).reason, { kind: "completed" });
  assertEquals([on.requests.length, second.requests.length], [0, 1]);
  const context = (await logOf(on)).find((event) => event.type === "request/context")!;
  assertEquals(context.data, { provider: "other", model: "m2", contextWindow: 99 });
});

Deno.test("listeners bound to a session hear only that one, and leave with it", async () => {
  const store = new FakeStore();
  const heard: string[] = [];
  const agent = createAgent({ store, model: scripted(Array(6).fill([{ text: "x" }])) });
  const [one, two] = [await agent.create({ id: "one" }), await agent.create({ id: "two" })];
  one.on("agent/pre-step", ({ agent }, next) => (heard.push(`own ${agent.id}`), next()));
  agent.hooks.on("agent/turn-stopping", ({ agent }) => void heard.push(`all ${agent.id}`));
  using plugin = new HookOwner("plugin");
  agent.hooks.on("agent/inbox/claimed", ({ agent }) => heard.push(`two's ${agent.id}`), {
    owner: plugin,
    subject: two.session,
  });
  await one.send("a");
  await two.send("a");
  assertEquals(heard, ["own one", "all one", "two's two", "all two"]);
  await one.close();
  assertEquals(agent.hooks.count("agent/pre-step"), 0);
  await two.close();
});

const NOTIFIED = [
  "agent/status",
  "agent/error",
  "agent/inbox/inserted",
  "agent/inbox/claimed",
  "agent/inbox/discarded",
  "agent/disposed",
] as const;

Deno.test("exec/E09: listeners of notifications that throw, reject or hang change nothing, and everybody else is told", async () => {
  const on = await stage([[{ throws: "broken" }], [{ hang: true }]]);
  const heard = new Map<string, number>();
  for (const hook of NOTIFIED) {
    on.hooks.on(hook, () => {
      throw new Error(`${hook} throws`);
    });
    on.hooks.on(hook, () => Promise.reject(hostile));
    on.hooks.on(hook, () => new Promise(() => {}));
    on.hooks.on(hook, () => heard.set(hook, (heard.get(hook) ?? 0) + 1));
  }
  assertEquals((await on.session.send("a")).reason.kind, "error");
  const [first, second] = [on.session.send("b"), on.session.send("c")];
  await settle();
  on.session.cancel();
  assertEquals([(await first).reason.kind, (await second).turn], ["aborted", null]);
  await on.session.close();
  await settle();
  assertEquals(Object.fromEntries(heard), {
    "agent/status": 4,
    "agent/error": 1,
    "agent/inbox/inserted": 3,
    "agent/inbox/claimed": 2,
    "agent/inbox/discarded": 1,
    "agent/disposed": 1,
  });
  assertEquals(on.problems.length, 2 * 12);
});

Deno.test("exec/E10: what a plugin registered is gone with it, also in the middle of a turn", async () => {
  const on = await stage([[{ call: { name: "echo" } }], [{ text: "x" }]], { tools: [noting([], { name: "echo" })] });
  const plugin = new HookOwner("plugin");
  const steps: number[] = [];
  on.hooks.on("agent/pre-step", ({ step }, next) => (steps.push(step), next()), { owner: plugin });
  on.hooks.on("agent/request", (_, next) => (plugin.dispose(), next()));
  assertEquals((await on.session.send("a")).reason, { kind: "completed" });
  assertEquals(steps, [1]);
});

Deno.test("a notified listener may cancel, and the inbox stays what the log says", async () => {
  for (
    const [hook, kinds] of [
      // The second message comes after the cancel, and wakes the loop again.
      ["agent/status", ["aborted", "completed"]],
      ["agent/inbox/inserted", ["aborted", "aborted"]],
      ["agent/inbox/claimed", ["aborted", "aborted"]],
    ] as const
  ) {
    const on = await stage([[{ text: "1" }], [{ text: "2" }]]);
    const stop = on.hooks.on(hook, ({ agent }: { agent: LoopAgent }) => agent.cancel());
    const outcomes = await Promise.all([on.session.send("a"), on.session.send("b")]);
    assertEquals(outcomes.map(({ reason }) => reason.kind).join(), kinds.join(), hook);
    stop();
    assertEquals((await on.session.send("c")).reason, { kind: "completed" });
    await logOf(on);
  }
});

Deno.test("agent/created is waited for; what is sent meanwhile waits too, and who starts it is said", async () => {
  const store = new FakeStore();
  const hooks = new Hooks<AgentHooks>();
  const done = Promise.withResolvers<void>();
  const sources: string[] = [];
  hooks.on("agent/created", async ({ agent, source }) => {
    sources.push(source);
    agent.followup("from the listener");
    assertEquals(agent.status, "idle");
    await done.promise;
  });
  const model = scripted([[{ text: "1" }], [{ text: "2" }], [{ text: "3" }]]);
  const agent = createAgent({ store, model, hooks });
  const creating = agent.create({ id: "s1" });
  let created: AgentSession | null = null;
  void creating.then((session) => created = session);
  await settle();
  assertEquals([created, model.requests.length], [null, 0]);
  done.resolve();
  const session = await creating;
  await session.whenIdle();
  assertEquals(model.requests.length, 1);
  await session.close();
  const again = await createAgent({ store, model, hooks }).resume("s1");
  await again.whenIdle();
  assertEquals([sources, model.requests.length], [["create", "resume"], 2]);
  await again.close();
});

Deno.test("a listener of agent/created that fails fails the creation, closes the session, and tells no turn", async () => {
  const store = new FakeStore();
  const hooks = new Hooks<AgentHooks>();
  const model = scripted([]);
  const stop = hooks.on("agent/created", ({ agent }) => {
    agent.followup("never run");
    throw new Error("no licence");
  });
  const agent = createAgent({ store, model, hooks });
  await assertRejects(() => agent.create({ id: "s1" }), Error, "no licence");
  assertEquals([store.openLogs, model.requests.length], [0, 0]);
  stop();
  // The message is durable, and waits.
  const session = await agent.resume("s1");
  assertEquals(session.session.folds.inbox.nextTurn.length, 1);
  await session.close();
});

Deno.test("what listeners are handed cannot be changed, and what they answer is what it was when they answered", async () => {
  const on = await stage([[{ throws: "broken" }], [{ text: "x" }], [{ throws: "broken" }]]);
  const spoil = (event: object) => {
    for (const key of Object.keys(event)) Reflect.set(event, key, "spoiled");
  };
  on.hooks.on("system-prompt/assemble", (place, next) => (spoil(place), next()));
  on.hooks.on("agent/pre-step", (step, next) => (spoil(step.messages), spoil(step.messages[0]!), next()));
  on.hooks.on("agent/request", (place, next) => (spoil(place), next()));
  on.hooks.on("llm/stream", ({ request }, next) => (spoil(request), spoil(request.header), next()));
  let turn = 0;
  on.hooks.on("agent/request-error", ({ failure, turn: failed }) => {
    spoil(failure);
    turn = failed;
    return Promise.resolve(failed === 1 ? { kind: "retry" } : undefined);
  });
  assertEquals((await on.session.send("a")).reason, { kind: "completed" });
  const { reason } = await on.session.send("b");
  assertEquals([turn, reason], [2, { kind: "error", error: { message: "broken", code: "TRANSPORT" } }]);
  await logOf(on);
});

Deno.test("agent/request: members that the log has no place for are left out", async () => {
  const on = await stage([[{ text: "x" }]]);
  const odd = { provider: "scripted", model: "scripted", temperature: undefined, seed: 7, stop: ["end"] };
  on.hooks.on("agent/request", () => Promise.resolve(odd));
  await on.session.send("a");
  assertEquals(on.requests[0]!.header.config, { provider: "scripted", model: "scripted", stop: ["end"] });
});
