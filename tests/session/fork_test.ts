import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  AlreadyExistsError,
  CorruptLogError,
  LockLostError,
  NotFoundError,
  StorageFullError,
} from "../../src/errors.ts";
import { deriveMessages, foldEvents, logFold } from "../../src/fold/mod.ts";
import { createSession, FORK_BATCH_EVENTS_MAX, forkSession, openSession } from "../../src/session/mod.ts";
import type { LogReader } from "../../src/store/session_store.ts";
import { FakeStore } from "../support/fake_store.ts";
import { appendOpenTurn, appendTurn, note, seqsOf, turnEnd, turnStart, typesOf, upTo, userMessage } from "./drafts.ts";

/** A closed session "s" of `turns` turns, six events the first and five each other. */
async function storeWith(turns: number): Promise<FakeStore> {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s", cwd: "/work", agentPreset: "ptc" });
  for (let turn = 1; turn <= turns; turn++) appendTurn(session, turn);
  await session.close();
  return store;
}

Deno.test("forkSession() copies the events, ends them with an inherited end-seed, and goes on", async () => {
  const store = await storeWith(2);
  const source = store.events("s");
  const { session, closers } = await forkSession({ store, sourceId: "s", id: "f" });
  assertEquals(closers, []);
  assertEquals(session.header, {
    ...store.logs.get("s")!.header,
    id: "f",
    createdAt: session.header.createdAt,
    parentSession: "s",
    isSeeded: true,
  });
  assertEquals(session.header.cwd, "/work");
  assertEquals(session.inheritedEventCount, 11);
  assertEquals(session.durableSeq, 11);
  assertEquals(store.events("f").slice(0, 11), source);
  assertEquals(store.events("f")[11], {
    type: "session/end-seed",
    seq: 11,
    time: store.events("f")[11]!.time,
    data: { inherited: true },
  });
  appendTurn(session, 3);
  await session.close();
  assertEquals(typesOf(store.events("f").slice(12, 14)), ["checkpoint/policy", "turn/start"]);
  assertEquals(store.events("s"), source, "the source is not touched");

  const { session: again } = await openSession({ store, id: "f" });
  assertEquals(again.inheritedEventCount, 11);
  await again.close();
});

Deno.test("a fork that was only made is not marked again when it is opened", async () => {
  const store = await storeWith(1);
  await (await forkSession({ store, sourceId: "s", id: "f" })).session.close();
  const before = store.events("f");
  await (await openSession({ store, id: "f" })).session.close();
  assertEquals(store.events("f"), before);
});

Deno.test("forkSession() cuts outside an open turn only, and says where the boundary before is", async () => {
  const store = await storeWith(2);
  const boundaries: number[] = [];
  for (const at of upTo(11)) {
    try {
      const { session } = await forkSession({ store, sourceId: "s", at });
      assertEquals(session.inheritedEventCount, at + 1);
      assertEquals(session.folds.brackets.turn, null);
      boundaries.push(at);
      await session.close();
    } catch (error) {
      assert(error instanceof RangeError, String(error));
    }
  }
  assertEquals(boundaries, [0, 5, 10]);
  await assertRejects(
    () => forkSession({ store, sourceId: "s", at: 8 }),
    RangeError,
    'Cannot fork session "s" at 8: turn 2 is open there; the boundary before it is 5',
  );
  for (const at of [11, -1, 0.5, NaN]) {
    await assertRejects(() => forkSession({ store, sourceId: "s", at }), RangeError, "it holds events 0 to 10");
  }
});

Deno.test("forkSession() without a boundary takes everything before the open turn, of a live session too", async () => {
  const store = new FakeStore();
  const live = await createSession({ store, id: "s" });
  appendTurn(live, 1);
  appendOpenTurn(live, { a: "recorded" });
  await live.flush();
  for (const source of [{ sourceId: "s" }, { session: live }] as const) {
    const { session, closers } = await forkSession({ store, ...source });
    assertEquals([session.inheritedEventCount, closers.length], [6, 0]);
    await session.close();
  }
  const { session } = await forkSession({ store, sourceId: await emptySession(store) });
  assertEquals([session.inheritedEventCount, session.nextSeq], [0, 1]);
  await session.close();
  await live.close();
});

async function emptySession(store: FakeStore): Promise<string> {
  const session = await createSession({ store });
  await session.flush();
  await session.close();
  return session.id;
}

Deno.test("forkSession() takes what a live session has not yet made durable", async () => {
  const store = new FakeStore();
  const live = await createSession({ store, id: "s" });
  appendTurn(live, 1);
  await live.flush();
  appendTurn(live, 2);
  const { session } = await forkSession({ store, session: live });
  assertEquals(session.inheritedEventCount, 11);
  await session.close();
  await live.close();
});

Deno.test("field/D04: the tail of a session that failed can be saved as another session, its open turn closed", async () => {
  const store = new FakeStore();
  const live = await createSession({ store, id: "s" });
  appendTurn(live, 1);
  await live.flush();
  store.inject({ fail: new LockLostError("foreign bytes") });
  const { b } = appendOpenTurn(live, { a: "recorded", b: "dispatched" });
  await assertRejects(() => live.flush(), LockLostError);

  const spare = new FakeStore();
  const { session, closers } = await forkSession({ store: spare, session: live, id: "saved" });
  assertEquals(session.header.parentSession, "s");
  assertEquals(typesOf(closers), ["tool/result", "tool/result", "step/end", "turn/end"]);
  assertEquals(closers.map((event) => (event.data as { error?: { code: string } }).error?.code), [
    "TOOL_NOT_STARTED",
    "TOOL_OUTCOME_UNKNOWN",
    undefined,
    undefined,
  ]);
  const events = spare.events("saved");
  assertEquals(seqsOf(events), upTo(events.length));
  assertEquals(events.slice(0, live.nextSeq).map((event) => event.type), typesOf((await live.history()).events));
  assertEquals(session.folds.unresolved.effects.map((effect) => effect.callSeq), [b]);
  assertEquals(deriveMessages(session.folds.surface).length, 4);
  session.append(turnStart(3));
  session.append(turnEnd(3));
  await session.close();
  assertEquals(foldEvents(logFold, spare.events("saved")).brackets.problems.count, 0);
  await live.close().catch(() => {});
});

Deno.test("forkSession() copies in batches of bounded size", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  const count = 2 * FORK_BATCH_EVENTS_MAX + 10;
  for (let number = 1; number < count; number++) session.append(note(`${number}`));
  await session.close();
  store.calls.length = 0;
  const { session: fork } = await forkSession({ store, sourceId: "s" });
  assertEquals(store.calls.map((call) => call.seqs.length), [1000, 1000, 11]);
  await fork.close();

  // Each message holds its text twice, as content and as id: 5 Mi characters.
  const big = await createSession({ store, id: "big" });
  for (let number = 0; number < 3; number++) big.append(userMessage("x".repeat(2.5 * 1024 * 1024) + number));
  await big.close();
  store.calls.length = 0;
  await (await forkSession({ store, sourceId: "big" })).session.close();
  assertEquals(store.calls.map((call) => call.seqs), [[0, 1, 2], [3, 4]]);
});

Deno.test("forkSession() that fails half-way leaves nothing and holds nothing", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  for (let number = 0; number < 2 * FORK_BATCH_EVENTS_MAX; number++) session.append(note(`${number}`));
  await session.close();
  for (const failing of [0, 1, 2]) {
    for (let batch = 0; batch < failing; batch++) store.inject({ acknowledge: 0 });
    store.inject({ fail: new StorageFullError("no room") });
    await assertRejects(() => forkSession({ store, sourceId: "s", id: "f" }), StorageFullError);
    assertEquals(await store.stat("f"), null, `batch ${failing}`);
  }
  assertEquals(store.openLogs, 0);
  await (await forkSession({ store, sourceId: "s", id: "f" })).session.close();
});

Deno.test("forkSession() refuses a taken id, a missing source, and a relative cwd", async () => {
  const store = await storeWith(1);
  await assertRejects(() => forkSession({ store, sourceId: "s", id: "s" }), AlreadyExistsError);
  await assertRejects(() => forkSession({ store, sourceId: "none" }), NotFoundError);
  await assertRejects(() => forkSession({ store, sourceId: "s", cwd: "x" }), TypeError);
  assertEquals([...store.logs.keys()], ["s"]);
});

Deno.test("forkSession() of a damaged session wants to be told how much of it", async () => {
  class Damaged extends FakeStore {
    // deno-lint-ignore no-explicit-any -- both overloads are one here
    override async open(id: string, mode: any): Promise<any> {
      const log: LogReader = await super.open(id, mode);
      const fault = { code: "CORRUPT_FRAME", offsetBytes: 99, seq: 11, message: "a checksum is wrong" } as const;
      return { ...log, state: () => ({ ...log.state(), fault }) };
    }
  }
  const store = new Damaged();
  store.logs = (await storeWith(2)).logs;
  await assertRejects(() => forkSession({ store, sourceId: "s" }), CorruptLogError, "a checksum is wrong");
  const { session } = await forkSession({ store, sourceId: "s", at: 10 });
  assertEquals(session.inheritedEventCount, 11);
  await session.close();
});

Deno.test("forkSession() does not copy a source that yields anything but the next event", async () => {
  for (const from of [0, 2]) {
    class Gapped extends FakeStore {
      // deno-lint-ignore no-explicit-any -- both overloads are one here
      override async open(id: string, mode: any): Promise<any> {
        const log: LogReader = await super.open(id, mode);
        const read: LogReader["read"] = async (options) => {
          const page = await log.read(options);
          return { ...page, events: page.events.slice(from === 0 ? 99 : 0).filter((event) => event.seq !== from) };
        };
        return { ...log, read };
      }
    }
    const store = new Gapped();
    store.logs = (await storeWith(1)).logs;
    await assertRejects(() => forkSession({ store, sourceId: "s" }), CorruptLogError, `event ${from} of 5 is missing`);
    assertEquals([...store.logs.keys()], ["s"]);
  }
});
