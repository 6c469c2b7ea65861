import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { SessionEvent } from "../../src/event/mod.ts";
import {
  createSession,
  type Lookup,
  openSession,
  type Reconcile,
  RECONCILE_TIMEOUT_MS,
} from "../../src/session/mod.ts";
import { RECONCILE_EFFECTS_MAX } from "../../src/session/mod.ts";
import { effectKeyOf, LogBuilder } from "../fold/log_builder.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { appendOpenTurn, typesOf, upTo } from "./drafts.ts";

/** A store after a crash with these calls dispatched and without results. */
async function crashedStore(callIds: readonly string[], clock = new FakeClock()): Promise<FakeStore> {
  const store = new FakeStore({ clock });
  const session = await createSession({ store, id: "s" });
  appendOpenTurn(session, Object.fromEntries(callIds.map((id) => [id, "dispatched"])));
  await session.flush();
  return store.crash();
}

function answering(answers: Readonly<Record<string, Lookup | null>>): Reconcile {
  return (effect) => Promise.resolve(answers[effect.callId] ?? null);
}

const text = (text: string) => [{ type: "text" as const, text }];

/** The text of a `tool/result` or of a notice. */
function textsOf(event: SessionEvent): string {
  return JSON.stringify(event.data);
}

Deno.test("exec/R16: each unresolved effect is asked about with its key, verdicts come before the closers, in one batch", async () => {
  const store = await crashedStore(["a", "b", "c", "d"]);
  const asked: [string, string | null][] = [];
  const answers = answering({
    a: { verdict: "happened", content: text("receipt 7") },
    b: { verdict: "absent" },
    c: { verdict: "undecidable", note: "the bank is closed" },
  });
  const { session, resumed } = await openSession({
    store,
    id: "s",
    reconcile: (effect, signal) => {
      asked.push([effect.callId, effect.effectKey]);
      return answers(effect, signal);
    },
  });
  assertEquals(asked.map(([callId]) => callId), ["a", "b", "c", "d"]);
  assert(asked.every(([, key]) => key?.length === 32));
  assertEquals(typesOf(resumed.verdicts), ["effect/reconciled", "effect/reconciled", "effect/reconciled"]);
  assertEquals(store.calls.map((call) => call.types), [[
    ...typesOf(resumed.verdicts),
    ...["tool/result", "tool/result", "tool/result", "tool/result", "step/end", "turn/end"],
  ]]);

  const [a, b, c, d] = resumed.closers;
  assertStringIncludes(textsOf(a!), "receipt 7");
  assertStringIncludes(textsOf(b!), "TOOL_NOT_STARTED");
  assertStringIncludes(textsOf(c!), "TOOL_OUTCOME_UNKNOWN");
  assertStringIncludes(textsOf(d!), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(resumed.unresolved.map((effect) => effect.callId), ["c", "d"]);
  await session.close();
  assertEquals((store.runtime.clock as FakeClock).pendingTimers, 0);
});

Deno.test("a lookup that fails, throws, hangs or answers nonsense leaves the effect undecidable, within bounded time", async () => {
  const clock = new FakeClock();
  const store = await crashedStore(["fails", "throws", "hangs", "nonsense", "odd"], clock);
  const reconcile: Reconcile = (effect, signal) => {
    switch (effect.callId) {
      case "fails":
        return Promise.reject(new Error("503"));
      case "throws":
        throw new Error("sync");
      case "nonsense":
        return Promise.resolve({ verdict: "perhaps" } as unknown as Lookup);
      case "odd":
        return Promise.resolve({ verdict: "happened", content: [{ type: "text" }] } as unknown as Lookup);
      default:
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }
  };
  const opening = openSession({ store, id: "s", reconcile });
  await clock.advance(RECONCILE_TIMEOUT_MS - 1);
  assertEquals(store.calls, []);
  await clock.advance(1);
  const { session, resumed } = await opening;
  assertEquals(
    resumed.verdicts.map((event) => (event.data as { verdict: string }).verdict),
    upTo(5).map(() => "undecidable"),
  );
  assertEquals(resumed.unresolved.length, 5);
  await session.close();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("a closed call keeps its result, and the model is told once, in the batch of the verdict", async () => {
  const store = await crashedStore(["a"]);
  const first = await openSession({ store, id: "s" });
  await first.session.close();

  const answers = answering({ a: { verdict: "happened", content: text("receipt 7") } });
  const second = await openSession({ store, id: "s", reconcile: answers });
  assertEquals(typesOf(second.resumed.verdicts), ["effect/reconciled", "agent/inbox/spliced"]);
  assertEquals(second.resumed.closers, []);
  assertEquals(store.calls.at(-1)?.types, ["effect/reconciled", "agent/inbox/spliced"]);
  const [notice] = second.session.folds.inbox.nextStep;
  assertEquals(notice?.source, { kind: "plugin", plugin: "holdfast", form: "notice", summary: "pay: happened" });
  assertStringIncludes(JSON.stringify(notice?.content), "the operation took effect");
  assertStringIncludes(JSON.stringify(notice?.content), "receipt 7");
  await second.session.close();

  const third = await openSession({ store, id: "s", reconcile: answers });
  assertEquals(third.resumed.verdicts, [], "a final verdict is not asked for again");
  assertEquals(third.session.folds.inbox.nextStep.length, 1);
  await third.session.close();
});

Deno.test("an undecidable effect is asked about again at the next resume, without a notice", async () => {
  const store = await crashedStore(["a"]);
  for (let round = 0; round < 2; round++) {
    const { session, resumed } = await openSession({
      store,
      id: "s",
      reconcile: answering({ a: { verdict: "undecidable" } }),
    });
    assertEquals(typesOf(resumed.verdicts), ["effect/reconciled"]);
    assertEquals(session.folds.inbox.nextStep, []);
    await session.close();
  }
});

Deno.test("an effect without a key cannot be looked up", async () => {
  const store = new FakeStore({ traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  appendOpenTurn(session, { a: "recorded" });
  await session.flush();
  const next = store.crash();
  await (await openSession({ store: next, id: "s" })).session.close();
  const again = await openSession({ store: next, id: "s", reconcile: () => Promise.reject(new Error("asked")) });
  assertEquals(again.resumed.unresolved.map((effect) => effect.effectKey), [null]);
  assertEquals(again.resumed.verdicts, []);
  await again.session.close();
});

Deno.test("a tool without a lookup leaves no event", async () => {
  const store = await crashedStore(["a"]);
  const { session, resumed } = await openSession({ store, id: "s", reconcile: answering({}) });
  assertEquals(resumed.verdicts, []);
  await session.close();
});

Deno.test("at most RECONCILE_EFFECTS_MAX effects are asked about at once, the rest at the next resume", async () => {
  const callIds = upTo(RECONCILE_EFFECTS_MAX + 3).map((number) => `c${number}`);
  const store = await crashedStore(callIds);
  const asked: string[] = [];
  const reconcile: Reconcile = (effect) => {
    asked.push(effect.callId);
    return Promise.resolve({ verdict: "absent" });
  };
  for (let round = 0; round < 2; round++) await (await openSession({ store, id: "s", reconcile })).session.close();
  assertEquals(asked, callIds);
});

Deno.test("tries that share a key are one effect: asked once, one verdict, and the model is told once", async () => {
  for (const verdict of ["happened", "absent"] as const) {
    const store = await retriedStore();
    const asked: string[] = [];
    const { session, resumed } = await openSession({
      store,
      id: "s",
      reconcile: ({ callId }) => (asked.push(callId), Promise.resolve({ verdict })),
    });
    assertEquals(asked, ["second"], "the call that waits for its result");
    assertEquals(typesOf(resumed.verdicts), ["effect/reconciled"]);
    assertEquals(resumed.unresolved, []);
    assertEquals(session.folds.inbox.nextStep, [], "its result says it");
    await session.close();
  }
  const store = await retriedStore();
  await (await openSession({ store, id: "s" })).session.close();
  const { session } = await openSession({ store, id: "s", reconcile: () => Promise.resolve({ verdict: "happened" }) });
  assertEquals(session.folds.inbox.nextStep.map(({ id }) => id.replace(/-\d+$/, "")), ["effect-settled-8"]);
  assertEquals(session.folds.unresolved.effects, []);
  await session.close();
});

/** A closed call whose outcome is unknown, and its repetition under the same key, which a crash cut short. */
async function retriedStore(): Promise<FakeStore> {
  const log = new LogBuilder();
  log.policy();
  log.openStep("first", "second");
  log.call("first");
  log.marker("first");
  log.result("first", "TOOL_TIMEOUT");
  assertEquals(log.callSeqs.get("first"), 4);
  log.add("approval/policy", { policy: "ask" });
  log.call("second");
  log.marker("second", { effectKey: effectKeyOf(4), retryOf: 4 });
  const store = new FakeStore();
  const origin = await createSession({ store: new FakeStore(), id: "s" });
  store.plant(origin.header, log.events);
  return store;
}

Deno.test("with more unknowns than one resume asks about, each has its turn although none is ever decided", async () => {
  const callIds = upTo(RECONCILE_EFFECTS_MAX + 3).map((number) => `c${number}`);
  const store = await crashedStore(callIds);
  await (await openSession({ store, id: "s" })).session.close();
  const asked: string[] = [];
  const reconcile: Reconcile = ({ callId }) => {
    asked.push(callId);
    return Promise.resolve({ verdict: "undecidable" });
  };
  for (let round = 0; round < 2; round++) await (await openSession({ store, id: "s", reconcile })).session.close();
  assertEquals(new Set(asked).size, callIds.length);
  assertEquals(asked.slice(RECONCILE_EFFECTS_MAX, RECONCILE_EFFECTS_MAX + 3), callIds.slice(-3));
});

Deno.test("effects without a lookup take no place from those that have one", async () => {
  const callIds = upTo(RECONCILE_EFFECTS_MAX + 1).map((number) => `c${number}`);
  const store = await crashedStore(callIds);
  const last = callIds.at(-1);
  const { session, resumed } = await openSession({
    store,
    id: "s",
    reconcile: ({ callId }) => callId === last ? Promise.resolve({ verdict: "absent" }) : null,
  });
  assertEquals(resumed.verdicts.map((event) => (event.data as { callId: string }).callId), [last]);
  await session.close();
});

Deno.test("a resume that is given up during a lookup writes nothing and releases the session", async () => {
  const store = await crashedStore(["a"]);
  const controller = new AbortController();
  const opening = openSession({
    store,
    id: "s",
    signal: controller.signal,
    reconcile: (_, signal) => {
      queueMicrotask(() => controller.abort(new Error("not now")));
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  await assertRejects(() => opening, Error, "not now");
  assertEquals(store.calls, []);
  assertEquals((store.runtime.clock as FakeClock).pendingTimers, 0);
  await (await openSession({ store, id: "s" })).session.close();
});
