import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  BufferFullError,
  LockLostError,
  NotFoundError,
  SessionClosedError,
  StorageFullError,
  StorageLostError,
  SyncFailedError,
  UnknownEventError,
} from "../../src/errors.ts";
import { encodeRow, type EventDraft, parseRow, type SessionEvent } from "../../src/event/mod.ts";
import { foldEvents, logFold } from "../../src/fold/mod.ts";
import { createSession, OBSERVERS_MAX, openSession, type SessionProblem } from "../../src/session/mod.ts";
import { draft as anyDraft } from "../event/arbitraries.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import {
  appendTurn,
  draft,
  note,
  seqsOf,
  stepEnd,
  stepStart,
  turnEnd,
  turnStart,
  typesOf,
  upTo,
  userMessage,
} from "./drafts.ts";

Deno.test("append() commits at once: numbered, timed, frozen, folded", async () => {
  const clock = new FakeClock(1000);
  const store = new FakeStore({ clock, traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  const data = { turn: 1 };
  const event = session.append({ type: "turn/start", data });
  data.turn = 7;
  assertEquals(event, { type: "turn/start", seq: 0, time: 1000, data: { turn: 1 } });
  assert(Object.isFrozen(event.data));
  assertEquals(session.folds.brackets.turn, 1);
  assertEquals([session.nextSeq, session.durableSeq], [1, -1]);
  assertEquals(await session.flush(), 0);
  assertEquals(store.events("s"), [event]);
  await session.close();
});

Deno.test("append() puts the policy directly before the first event of a lifecycle, in one batch with it", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  assertEquals(session.nextSeq, 0, "never on its own");
  const first = session.append(turnStart());
  assertEquals(first.seq, 1);
  session.append(turnEnd());
  await session.close();
  const [policy] = store.events("s");
  assertEquals(policy, {
    type: "checkpoint/policy",
    seq: 0,
    time: first.time,
    data: { version: 1, barriers: ["pre-step", "model", "tool", "question"], marker: true },
    ignorable: true,
  });
  assertEquals(store.calls.map((call) => call.types), [["checkpoint/policy", "turn/start", "turn/end"]]);
});

Deno.test("append() leaves the policy owed when the first event is refused", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s" });
  assertThrows(() => session.append(turnEnd()), TypeError);
  assertEquals(session.nextSeq, 0);
  session.append(turnStart());
  assertEquals(session.folds.lifecycle.barriersOn, true);
  await session.close();
});

Deno.test("append() writes no policy where durability is not promised", async () => {
  for (const [sync, volatile] of [["none", false], ["none", true], ["buffered", false], ["device", true]] as const) {
    const store = new FakeStore({ traits: { sync } });
    const session = await createSession({ store, id: "s", volatile });
    assertEquals(session.append(turnStart()).seq, 0, `${sync}, volatile: ${volatile}`);
    assertEquals(session.folds.lifecycle.barriersOn, false);
    await session.close();
  }
});

Deno.test("append() refuses broken nesting and says what was found and wanted", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s" });
  const refused = (draft: EventDraft, ...texts: string[]) => {
    const before = session.nextSeq;
    const error = assertThrows(() => session.append(draft), TypeError);
    for (const text of texts) assert(error.message.includes(text), error.message);
    assertEquals(session.nextSeq, before);
  };
  refused(turnEnd(), '"turn/end" of turn 1', 'session "s"', "no turn is open");
  refused(turnStart(2), "the next turn is 1");
  session.append(turnStart());
  refused(turnStart(2), "turn 1 is open");
  refused(stepStart(1, 2), '"step/start" of turn 1, step 2', "the next step is 1");
  session.append(stepStart());
  refused(turnEnd(), "step 1 is open");
  refused(draft("tool/call", { turn: 1, step: 2, callId: "c", name: "n", arguments: "" }), "step 1 is open");
  refused(draft("approval/decided", { id: "q", outcome: "rejected" }), 'no question "q" is open');
  session.append(stepEnd());
  session.append(turnEnd());
  await session.close();
});

Deno.test("append() refuses a surface operation and an inbox change that a reopen would refuse", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s" });
  session.append(userMessage("hi"));
  const replacing = { ...userMessage("ho"), surfaceOp: { op: "replace", startSeq: 0, endSeq: 0 } as const };
  assertThrows(() => session.append({ ...replacing, sourceEventSeqs: [0] }), TypeError, "user/message");
  const splice = draft("agent/inbox/spliced", { target: "next-step", start: 3, inserted: [] });
  assertThrows(() => session.append(splice), TypeError, "next-step holds 0");
  await session.close();
});

Deno.test("append() refuses the events that only opening writes", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s" });
  const drafts: EventDraft[] = [
    draft("session/end-seed", {}),
    draft("session/end-seed", { inherited: true }),
    draft("checkpoint/policy", { version: 1, barriers: [], marker: true }, { ignorable: true }),
  ];
  for (const each of drafts) assertThrows(() => session.append(each), TypeError, "written by the session itself");
  assertEquals(session.nextSeq, 0);
  await session.close();
});

Deno.test("field/A19: append() refuses a type that a reopen would refuse, at once", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  assertThrows(() => session.append({ type: "my/event", data: {} }), UnknownEventError, "my/event");
  session.append({ type: "my/event", data: {}, ignorable: true });
  await session.close();
  const { session: again } = await openSession({ store, id: "s" });
  assertEquals(typesOf((await again.history()).events), ["checkpoint/policy", "my/event", "session/end-seed"]);
  await again.close();
});

Deno.test("field/A19: whatever append() accepts can be reopened", async () => {
  const opening = [turnStart(), stepStart(), userMessage("a"), userMessage("b")];
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyDraft, { minLength: 1, maxLength: 12 }), async (drafts) => {
      const store = new FakeStore();
      const session = await createSession({ store, id: "s" });
      const appended: SessionEvent[] = [];
      for (const each of [...opening, ...drafts]) {
        try {
          appended.push(session.append(each as EventDraft));
        } catch (error) {
          assert(error instanceof TypeError || error instanceof UnknownEventError, String(error));
        }
      }
      accepted += appended.length - opening.length;
      const { folds } = session;
      await session.close();

      const stored = store.events("s");
      // Compared as text: a member named "constructor" confuses assertEquals.
      assertEquals(
        stored.slice(1).map((event) => JSON.stringify(event)),
        appended.map((event) => JSON.stringify(event)),
      );
      for (const event of stored) assertEquals(JSON.stringify(parseRow(encodeRow(event))), JSON.stringify(event));
      const refolded = foldEvents(logFold, stored);
      assertEquals(refolded.surface.fault, null);
      assertEquals(refolded.brackets.problems.count, 0);
      assertEquals(JSON.stringify(refolded), JSON.stringify(folds));
      const { session: again } = await openSession({ store, id: "s" });
      await again.close();
    }),
    { seed: 19, numRuns: 150 },
  );
  assert(accepted > 100, `only ${accepted} drafts were accepted: the property is idle`);
});

Deno.test("field/A25: events of interleaved callers get contiguous numbers, each caller's in its order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ caller: fc.nat({ max: 3 }), count: fc.integer({ min: 1, max: 3 }), flush: fc.boolean() }), {
        maxLength: 30,
      }),
      fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 10 }),
      async (steps, waits) => {
        const store = new FakeStore({ traits: { sync: "buffered" } });
        const session = await createSession({ store, id: "s" });
        const counters = [0, 0, 0, 0];
        let total = 0;
        const flushes: Promise<unknown>[] = [];
        for (const [index, { caller, count, flush }] of steps.entries()) {
          for (let i = 0; i < count; i++, total++) session.append(note(`${caller}:${counters[caller]!++}`));
          if (flush) flushes.push(session.flush());
          const ms = waits[index];
          if (ms !== undefined) await (session.clock as FakeClock).advance(ms);
        }
        await Promise.all(flushes);
        await session.close();
        if (total === 0) return;
        const events = store.events("s") as SessionEvent<string, { text: string }>[];
        assertEquals(events.map((event) => event.seq), upTo(total));
        for (const caller of [0, 1, 2, 3]) {
          const own = events.map((event) => event.data.text.split(":")).filter(([name]) => name === String(caller));
          assertEquals(own.map(([, number]) => Number(number)), upTo(counters[caller]!));
        }
      },
    ),
    { seed: 25, numRuns: 60 },
  );
});

Deno.test("field/D07: of 50 concurrent updates in one process all 50 are there", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  await Promise.all(
    upTo(50).map(async (number) => {
      await Promise.resolve();
      session.append({
        type: "session/title",
        data: { title: `t${number}`, messageSeqs: [], source: { kind: "user" } },
      });
      await session.flush();
    }),
  );
  await session.close();
  const titles = store.events("s").filter((event) => event.type === "session/title");
  assertEquals(new Set(titles.map((event) => JSON.stringify(event.data))).size, 50);
});

Deno.test("exec/E14: an observer that appends is refused, and the append it watches is committed", async () => {
  const store = new FakeStore({ traits: { sync: "buffered" } });
  const problems: SessionProblem[] = [];
  const session = await createSession({ store, id: "s", report: (problem) => problems.push(problem) });
  const seen: number[] = [];
  session.subscribe(() => session.append(note("nested")));
  session.subscribe((event) => seen.push(event.seq));
  session.append(note("a"));
  session.append(note("b"));
  assertEquals(seen, [0, 1]);
  assertEquals(problems.map(({ kind, error }) => [kind, error instanceof TypeError]), [["observer", true], [
    "observer",
    true,
  ]]);
  await session.close();
  assertEquals(store.events("s").map((event) => event.data), [{ text: "a" }, { text: "b" }]);
});

Deno.test("append() refuses to be entered again while a draft is read", async () => {
  const session = await createSession({ store: new FakeStore({ traits: { sync: "buffered" } }), id: "s" });
  const hostile = {
    get text() {
      session.append(note("inner"));
      return "outer";
    },
  };
  assertThrows(() => session.append({ type: "x/y", data: hostile, ignorable: true }), TypeError, "not finished");
  assertEquals(session.append(note("next")).seq, 0);
  await session.close();
});

Deno.test("subscribe() tells every event after its commit, policy included, and failures harm nobody", async () => {
  const problems: SessionProblem[] = [];
  const session = await createSession({
    store: new FakeStore(),
    id: "s",
    report: (problem) => {
      problems.push(problem);
      throw new Error("even the reporter fails");
    },
  });
  const seen: [string, number][] = [];
  session.subscribe(() => {
    throw new Error("sync");
  });
  session.subscribe(() => Promise.reject(new Error("async")));
  const unsubscribe = session.subscribe((event) => seen.push([event.type, session.nextSeq]));
  session.append(turnStart());
  await settle();
  assertEquals(seen, [["checkpoint/policy", 2], ["turn/start", 2]]);
  assertEquals(problems.map(({ error }) => (error as Error).message).sort(), ["async", "async", "sync", "sync"]);
  unsubscribe();
  unsubscribe();
  session.append(turnEnd());
  assertEquals(seen.length, 2);
  await session.close();
});

Deno.test("subscribe() bounds the observers and takes the same function twice", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s" });
  let calls = 0;
  const observer = () => calls++;
  const ends = upTo(OBSERVERS_MAX).map(() => session.subscribe(observer));
  assertThrows(() => session.subscribe(observer), RangeError);
  for (const end of ends.slice(2)) end();
  session.append(turnStart());
  assertEquals(calls, 4);
  await session.close();
});

Deno.test("flush() gives the last durable seq, writes once for many callers, and makes an empty session's file", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  assertEquals(await Promise.all([session.flush(), session.flush()]), [-1, -1]);
  assertEquals(store.calls.map((call) => call.kind), ["materialize"]);
  assertEquals(await session.flush(), -1);
  assertEquals(store.calls.length, 1);

  session.append(turnStart());
  session.append(turnEnd());
  assertEquals(await Promise.all([session.flush(), session.flush()]), [2, 2]);
  assertEquals(store.calls.length, 2);
  assertEquals(session.durableSeq, 2);
  await session.close();
});

Deno.test("flush() stops waiting when its signal is aborted, and the flush goes on", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  const release = store.hold();
  session.append(turnStart());
  const controller = new AbortController();
  const waiting = session.flush({ signal: controller.signal });
  await settle();
  controller.abort("cancelled");
  assertEquals(await waiting.catch((reason) => reason), "cancelled");
  release();
  await settle();
  assertEquals(session.durableSeq, 1);
  await session.close();
});

Deno.test("a background write that fails is reported, and the next event tries again", async () => {
  const clock = new FakeClock();
  const store = new FakeStore({ clock });
  const problems: SessionProblem[] = [];
  const session = await createSession({ store, id: "s", report: (problem) => problems.push(problem) });
  store.failure = new StorageLostError("EIO");
  session.append(turnStart());
  await clock.advance(200);
  assertEquals(problems, [{ kind: "write", error: store.failure }]);
  assertEquals(session.failure, null);
  store.failure = null;
  session.append(turnEnd());
  await clock.advance(200);
  assertEquals(seqsOf(store.events("s")), [0, 1, 2]);
  await session.close();
});

Deno.test("field/A04: with a full disk flush() rejects, the log is intact, and the session goes on when there is room", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  appendTurn(session, 1);
  await session.flush();
  const durable = store.events("s");
  store.failure = new StorageFullError("no room");
  session.append(turnStart(2));
  for (let round = 0; round < 3; round++) await assertRejects(() => session.flush(), StorageFullError);
  assertEquals(store.events("s"), durable);
  session.append(turnEnd(2));
  store.failure = null;
  assertEquals(await session.flush(), 7);
  assertEquals(seqsOf(store.events("s")), upTo(8));
  await session.close();
});

Deno.test("field/B11: a result that could not be stored is kept and stored before anything newer", async () => {
  const store = new FakeStore({ traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  session.append(note("call"));
  await session.flush();
  store.inject({ fail: new StorageLostError("EIO") });
  session.append(note("result"));
  await assertRejects(() => session.flush(), StorageLostError);
  assertEquals((await session.history()).events.length, 2, "one view, not done here and missing there");
  session.append(note("next"));
  await session.flush();
  assertEquals(store.events("s").map((event) => event.data), [{ text: "call" }, { text: "result" }, { text: "next" }]);
  assertEquals(store.calls.map((call) => call.seqs), [[0], [1], [1], [2]]);
  await session.close();
});

Deno.test("a batch that the store took before it failed is acknowledged on the retry, not written twice", async () => {
  const store = new FakeStore({ traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  session.append(note("a"));
  store.inject({ takeAndFail: new StorageLostError("the connection broke") });
  await assertRejects(() => session.flush(), StorageLostError);
  session.append(note("b"));
  assertEquals(await session.flush(), 1);
  assertEquals(store.events("s").map((event) => event.data), [{ text: "a" }, { text: "b" }]);
  await session.close();
});

Deno.test("field/D04: after a permanent failure the session is read-only at once, with the reason, and readable", async () => {
  for (const failure of [new LockLostError("foreign bytes"), new SyncFailedError("EIO"), { code: "FENCED" }]) {
    const clock = new FakeClock();
    const store = new FakeStore({ clock });
    const session = await createSession({ store, id: "s" });
    appendTurn(session, 1);
    await session.flush();
    session.append(turnStart(2));
    store.inject({ fail: failure });
    await clock.advance(200); // in the background, with nobody waiting

    assertStrictEquals(session.failure, failure);
    for (let input = 0; input < 3; input++) {
      assertEquals(thrownBy(() => session.append(userMessage("more"))), failure);
      assertEquals(await session.flush().catch((error) => error), failure);
      assertEquals(await session.putBlob(new Uint8Array(1)).catch((error) => error), failure);
    }
    assertEquals(session.nextSeq, 7);
    const { events, nextFrom } = await session.history();
    assertEquals([seqsOf(events), nextFrom], [upTo(7), null]);
    assertEquals(await session.close().catch((error) => error), failure);
    assertEquals((await store.stat("s"))?.live, false, "released nevertheless");
  }
});

Deno.test("history() joins what is stored and what is pending, page by page", async () => {
  const store = new FakeStore({ traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  for (const number of upTo(5)) session.append(note(`${number}`));
  await session.flush();
  for (const number of upTo(4)) session.append(note(`${number + 5}`));

  for (const limit of [1, 2, 3, 4, 5, 6, 8, 9, 100]) {
    const seqs: number[] = [];
    for (let from: number | null = 0; from !== null;) {
      const page: Awaited<ReturnType<typeof session.history>> = await session.history({ from, limit });
      assert(page.events.length <= limit);
      seqs.push(...seqsOf(page.events));
      from = page.nextFrom;
    }
    assertEquals(seqs, upTo(9), `pages of ${limit}`);
  }
  assertEquals(await session.history({ from: 7 }), {
    events: (await session.history()).events.slice(7),
    nextFrom: null,
  });
  assertEquals(await session.history({ from: 99 }), { events: [], nextFrom: null });
  await assertRejects(() => session.history({ from: -1 }), RangeError);
  await assertRejects(() => session.history({ limit: 0 }), RangeError);
  await session.close();
});

Deno.test("history() loses nothing while events become durable under it", async () => {
  const store = new FakeStore({ traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  for (const number of upTo(3)) session.append(note(`${number}`));
  await session.flush();
  for (const number of upTo(3)) session.append(note(`${number + 3}`));
  const page = session.history();
  await session.flush();
  session.append(note("6"));
  assertEquals(seqsOf((await page).events).slice(0, 6), upTo(6));
  await session.close();
});

Deno.test("field/A26: follow() replays and goes on: each event once, in order, none in between missed", async () => {
  const clock = new FakeClock();
  const store = new FakeStore({ clock, traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  const seen: number[] = [];
  const done = Promise.withResolvers<void>();
  for (const number of upTo(200)) session.append(note(`${number}`));
  (async () => {
    for await (const event of session.follow(0)) {
      seen.push(event.seq);
      // Now and then slower than the writer.
      if (event.seq % 97 === 0) await settle();
      if (event.seq === 999) return done.resolve();
    }
  })();
  for (let next = 200; next < 1000;) {
    for (let burst = 0; burst <= next % 7 && next < 1000; burst++) session.append(note(`${next++}`));
    if (next % 50 < 3) await clock.advance(next % 300);
    else await Promise.resolve();
  }
  await done.promise;
  assertEquals(seen, upTo(1000));
  await session.close();
});

Deno.test("follow() ends with its signal and with the session", async () => {
  const session = await createSession({ store: new FakeStore({ traits: { sync: "buffered" } }), id: "s" });
  session.append(note("a"));
  const controller = new AbortController();
  const collect = async (signal?: AbortSignal) => {
    const seqs: number[] = [];
    for await (const event of session.follow(0, { signal })) seqs.push(event.seq);
    return seqs;
  };
  const stopped = collect(controller.signal);
  const ended = collect();
  await settle();
  controller.abort();
  assertEquals(await stopped, [0]);
  session.append(note("b"));
  await settle();
  await session.close();
  assertEquals(await ended, [0, 1]);
});

Deno.test("a full buffer refuses the event and nothing else", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s", pendingEventsMax: 3 });
  session.append(turnStart());
  session.append(userMessage("a"));
  assertThrows(() => session.append(turnEnd()), BufferFullError, "flush first");
  assertEquals(session.folds.brackets.turn, 1);
  assertEquals(session.nextSeq, 3);
  await session.flush();
  assertEquals(session.append(turnEnd()).seq, 3);
  await session.close();
});

Deno.test("putBlob() and getBlob() pass bytes through", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s" });
  const digest = await session.putBlob(new Uint8Array([1, 2]));
  assertEquals(await session.getBlob(digest), new Uint8Array([1, 2]));
  await assertRejects(() => session.getBlob("0".repeat(64)), NotFoundError);
  await session.close();
});

Deno.test("close() makes everything durable, releases, and refuses what comes later", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  session.append(turnStart());
  const close = session.close();
  assertStrictEquals(session.close(), close);
  assertThrows(() => session.append(turnEnd()), SessionClosedError);
  await close;
  assertEquals(seqsOf(store.events("s")), [0, 1]);
  assertEquals((await store.stat("s"))?.live, false);
  await assertRejects(() => session.flush(), SessionClosedError);
  await assertRejects(() => session.history(), SessionClosedError);
  await assertRejects(() => session.getBlob(""), SessionClosedError);
});

Deno.test("close() releases even when the last events cannot be written, and reports every failure", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  appendTurn(session, 1);
  await session.flush();
  session.append(turnStart(2));
  store.failure = new StorageFullError("no room");
  await assertRejects(() => session.close(), StorageFullError);
  assertEquals((await store.stat("s"))?.live, false);

  const twice = await createSession({ store: new FailingToClose(), id: "t" });
  twice.append(turnStart());
  (twice.clock as FakeClock).set(0);
  const error = await assertRejects(() => twice.close(), AggregateError);
  assertEquals(error.errors.map((each) => each.message), ["no room", "cannot release"]);
});

Deno.test("close() of a session without events leaves nothing", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  await session.close();
  assertEquals(await store.stat("s"), null);
  assertEquals(store.calls, []);
});

class FailingToClose extends FakeStore {
  override async create(...args: Parameters<FakeStore["create"]>) {
    const log = await super.create(...args);
    this.failure = new StorageFullError("no room");
    return { ...log, close: () => Promise.reject(new StorageLostError("cannot release")) };
  }
}

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
