import { assert, assertEquals, assertRejects } from "@std/assert";
import { CorruptLogError, LockHeldError, NotFoundError, StorageFullError } from "../../src/errors.ts";
import type { SessionEvent, SessionHeader } from "../../src/event/mod.ts";
import { deriveMessages, foldEvents, logFold } from "../../src/fold/mod.ts";
import { closers, createSession, openSession, type Session } from "../../src/session/mod.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { appendOpenTurn, appendTurn, draft, seqsOf, turnEnd, turnStart, typesOf, upTo } from "./drafts.ts";

const HEADER: SessionHeader = {
  type: "session",
  version: 3,
  id: "s",
  createdAt: 1,
  isSeeded: false,
  delegationDepth: 0,
};

/** Runs `work` in a session, makes it durable, and crashes: the store as the next process finds it. */
async function crashed(work: (session: Session) => void, store = new FakeStore()): Promise<FakeStore> {
  const session = await createSession({ store, id: "s" });
  work(session);
  await session.flush();
  return store.crash();
}

Deno.test("openSession() ends the seed once, however often it is opened", async () => {
  const store = await crashed((session) => appendTurn(session, 1));
  const before = store.events("s");
  for (let round = 0; round < 3; round++) {
    const { session, resumed } = await openSession({ store, id: "s" });
    assertEquals([resumed.open, resumed.closers, resumed.verdicts], [null, [], []]);
    await session.close();
    assertEquals(typesOf(store.events("s").slice(before.length)), ["session/end-seed"], `round ${round}`);
  }
  assertEquals(store.events("s").at(-1)?.data, {});
  assertEquals(store.calls.map((call) => call.kind), ["append"]);
});

Deno.test("openSession() of an empty session ends the empty seed", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  await session.flush();
  await session.close();
  for (let round = 0; round < 2; round++) await (await openSession({ store, id: "s" })).session.close();
  assertEquals(typesOf(store.events("s")), ["session/end-seed"]);
});

Deno.test("compaction/C-26: a log that ends with session/end-seed is not marked again, and nothing is written", async () => {
  const store = new FakeStore();
  const log = new LogBuilder();
  log.policy();
  log.startTurn();
  log.endTurn();
  log.endSeed();
  store.plant(HEADER, log.events);
  for (let round = 0; round < 2; round++) await (await openSession({ store, id: "s" })).session.close();
  assertEquals(store.events("s").length, 4);
  assertEquals(store.calls, []);
});

Deno.test("openSession() owes a policy to the new lifecycle, and writes it only with the next event", async () => {
  const store = await crashed((session) => appendTurn(session, 1));
  const { session } = await openSession({ store, id: "s" });
  assertEquals(session.folds.lifecycle, { startSeq: 6, barriersOn: false, sawTurnStart: false, salvaged: false });
  session.append(turnStart(2));
  await session.flush();
  assertEquals(typesOf(store.events("s").slice(6)), ["session/end-seed", "checkpoint/policy", "turn/start"]);
  assertEquals(session.folds.lifecycle.barriersOn, true);
  session.append(turnEnd(2));
  await session.close();
});

Deno.test("openSession() says the class of each call, closes the turn, and makes the closers durable in one batch", async () => {
  const store = await crashed((session) => {
    appendOpenTurn(session, { a: "dispatched", b: "recorded", c: "proposed" });
  });
  const found = store.events("s");
  const { session, resumed } = await openSession({ store, id: "s" });
  assertEquals(resumed.open?.turn, 1);
  assertEquals(resumed.calls, [
    { callId: "a", callSeq: 4, name: "pay", class: "outcome_unknown" },
    { callId: "b", callSeq: 6, name: "pay", class: "not_dispatched" },
    { callId: "c", callSeq: null, name: "pay", class: "not_started" },
  ]);
  assertEquals(typesOf(resumed.closers), ["tool/result", "tool/result", "tool/result", "step/end", "turn/end"]);
  assertEquals(resumed.unresolved.map((effect) => [effect.callSeq, effect.isClosed]), [[4, true]]);
  assertEquals(store.calls.map(({ kind, seqs }) => [kind, seqs]), [["recover", [7, 8, 9, 10, 11]]]);
  assertEquals(store.events("s"), [...found, ...resumed.closers.map((event) => JSON.parse(JSON.stringify(event)))]);

  assertEquals(session.durableSeq, 11);
  await session.close();
  const stored = store.events("s");
  assertEquals(stored.at(-1)?.type, "session/end-seed");
  assertEquals(JSON.stringify(foldEvents(logFold, stored)), JSON.stringify(session.folds));
});

Deno.test("a lifecycle without a policy is classed by the conservative rules, whatever earlier ones had", async () => {
  const log = new LogBuilder();
  log.policy();
  log.startTurn();
  log.endTurn();
  log.endSeed(); // another program goes on here
  log.openStep("a", "b");
  log.call("a");
  const store = new FakeStore();
  store.plant(HEADER, log.events);
  const { session, resumed } = await openSession({ store, id: "s" });
  assertEquals(resumed.calls.map((call) => call.class), ["outcome_unknown", "not_started"]);
  await session.close();
});

Deno.test("exec/R13: after repair the surface holds the error result, and nothing was executed", async () => {
  const store = await crashed((session) => appendOpenTurn(session, { a: "dispatched" }));
  const { session } = await openSession({ store, id: "s" });
  const [, answer] = deriveMessages(session.folds.surface);
  assert(JSON.stringify(answer).includes("Its outcome is unknown"));
  assertEquals(answer?.source, { kind: "tool", callId: "a" });
  await session.close();
});

Deno.test("exec/R18: a crash between any two closers ends in a closed log, every call with one result", async () => {
  const whole = await crashed((session) => appendOpenTurn(session, { a: "dispatched", b: "recorded" }));
  const prefix = whole.events("s");
  const all = closers(foldEvents(logFold, prefix));
  for (let kept = 0; kept <= all.length; kept++) {
    const store = new FakeStore();
    store.plant(HEADER, [...prefix, ...all.slice(0, kept)]);
    const { session } = await openSession({ store, id: "s" });
    await session.close();
    const types = typesOf(store.events("s"));
    assertEquals(types, [...typesOf(prefix), ...typesOf(all), "session/end-seed"], `after ${kept} closers`);
  }
});

Deno.test("openSession() recovers a torn tail also when nothing is to be closed, and says how much of it was kept", async () => {
  const store = new FakeStore();
  const log = new LogBuilder();
  log.startTurn();
  log.endTurn();
  store.plant(HEADER, log.events, { offsetBytes: 10, bytes: 5, salvagedEvents: 1 });
  const { session, resumed } = await openSession({ store, id: "s" });
  assertEquals(resumed.salvagedEvents, 1);
  assertEquals(store.calls.map(({ kind, seqs }) => [kind, seqs]), [["recover", []]]);
  await session.close();
});

Deno.test("openSession() that cannot write its closers holds nothing and leaves the log as it was", async () => {
  const store = await crashed((session) => appendOpenTurn(session, { a: "dispatched" }));
  const before = store.events("s");
  store.failure = new StorageFullError("no room");
  await assertRejects(() => openSession({ store, id: "s" }), StorageFullError);
  assertEquals(store.events("s"), before);
  store.failure = null;
  const { session, resumed } = await openSession({ store, id: "s" });
  assertEquals(resumed.closers.length, 3);
  await session.close();
});

Deno.test("openSession() refuses a session that has a writer, is missing or is damaged, and appends nothing", async () => {
  const store = new FakeStore();
  const live = await createSession({ store, id: "s" });
  appendOpenTurn(live, { a: "recorded" });
  await live.flush();
  const before = store.events("s");
  await assertRejects(() => openSession({ store, id: "s" }), LockHeldError);
  assertEquals(store.events("s"), before);
  await assertRejects(() => openSession({ store, id: "none" }), NotFoundError);

  const surface: SessionEvent = {
    type: "user/message",
    seq: 0,
    time: 1,
    data: { id: "u", role: "user", content: [], source: { kind: "user" } },
    surfaceOp: { op: "replace", startSeq: 5, endSeq: 5 },
    sourceEventSeqs: [5],
  };
  store.plant({ ...HEADER, id: "bad" }, [surface]);
  await assertRejects(() => openSession({ store, id: "bad" }), CorruptLogError, "event 0");
  assertEquals((await store.stat("bad"))?.live, false);
  await live.close().catch(() => {});
});

Deno.test("a question left open is closed by repair, and its call was not dispatched", async () => {
  const store = await crashed((session) => {
    appendOpenTurn(session, { a: "recorded" });
    session.append(draft("approval/asked", { id: "q", toolName: "pay", callId: "a" }));
  });
  const { session, resumed } = await openSession({ store, id: "s" });
  assertEquals(resumed.calls.map((call) => call.class), ["not_dispatched"]);
  assertEquals(typesOf(resumed.closers), ["approval/decided", "tool/result", "step/end", "turn/end"]);
  await session.close();
});

Deno.test("a session goes on over many lives, its seqs dense and its turns numbered on", async () => {
  const clock = new FakeClock();
  let store = new FakeStore({ clock });
  let turn = 1;
  const first = await createSession({ store, id: "s" });
  appendTurn(first, turn++);
  await first.flush();
  for (let life = 0; life < 5; life++) {
    store = store.crash();
    const { session } = await openSession({ store, id: "s" });
    if (life % 2 === 0) appendTurn(session, turn++);
    else appendOpenTurn(session, { c: life === 1 ? "recorded" : "dispatched" }), turn++;
    await session.flush();
  }
  const events = store.events("s");
  assertEquals(seqsOf(events), upTo(events.length));
  const folds = foldEvents(logFold, events);
  assertEquals([folds.brackets.problems.count, folds.brackets.lastTurn], [0, turn - 1]);
});
