/**
 * The session store contract: what is written, and by whom.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import { check, checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { eventsOf, headerOf, readAll, type SessionStoreContext } from "./session_store_context.ts";

/** Creating, appending, recovering, and the one writer. */
export const sessionStoreWriteCases: readonly ContractCase<SessionStoreContext>[] = [
  {
    name: "create() writes nothing before the first append, and closing leaves nothing",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      checkEquals(log.state(), { sizeBytes: null, frames: 0, nextSeq: 0, torn: null, fault: null });
      checkEquals((await log.read()).events, []);
      checkEquals(await store.stat("a"), null);
      for await (const row of store.list()) check(false, `"${row.id}" is listed`);
      await log.close();
      await checkRejects(() => store.open("a", "read"), "NOT_FOUND");
      const again = await store.create(headerOf("a"));
      await again.append(eventsOf(0, 1));
    },
  },
  {
    name: "create() refuses an id that is taken, or created here and not yet written",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await checkRejects(() => store.create(headerOf("a")), "ALREADY_EXISTS");
      await log.append(eventsOf(0, 1));
      await log.close();
      await checkRejects(() => store.create(headerOf("a")), "ALREADY_EXISTS");
      await checkRejects(
        async () => (await openStore()).create(headerOf("a", { cwd: "/elsewhere" })),
        "ALREADY_EXISTS",
      );
    },
  },
  {
    name: "create() refuses a header that would not open again",
    async run({ openStore }) {
      const store = await openStore();
      for (
        const bad of [{ id: "" }, { cwd: "relative" }, { version: 2 }, { createdAt: -1 }, { delegationDepth: 0.5 }]
      ) {
        await checkRejects(() => store.create(headerOf("a", bad)), "TypeError");
      }
      await checkRejects(() => store.create({ ...headerOf("a"), strange: 1 } as never), "TypeError");
    },
  },
  {
    name: "append() loses the race for an id and keeps the first one's events",
    async run({ openStore }) {
      const [first, second] = [await openStore(), await openStore()];
      const [winner, loser] = [await first.create(headerOf("a")), await second.create(headerOf("a"))];
      await winner.append(eventsOf(0, 2));
      await winner.close();
      await checkRejects(() => loser.append(eventsOf(0, 3)), "ALREADY_EXISTS");
      await checkRejects(() => loser.append(eventsOf(0, 3)), "ALREADY_EXISTS");
      await loser.close();
      checkEquals(await readAll(await second.open("a", "read")), eventsOf(0, 2));
    },
  },
  {
    name: "append() acknowledges the last seq, and another store reads exactly what was written",
    async run({ openStore }) {
      const log = await (await openStore()).create(headerOf("a"));
      checkEquals(await log.append(eventsOf(0, 1)), 0);
      checkEquals(await log.append(eventsOf(1, 3)), 3);
      checkEquals(log.state().nextSeq, 4);
      const reader = await (await openStore()).open("a", "read");
      checkEquals(reader.header, headerOf("a"));
      checkEquals(await readAll(reader), eventsOf(0, 4));
      checkEquals(await readAll(log), eventsOf(0, 4));
      checkEquals(reader.state().sizeBytes, log.state().sizeBytes);
      checkEquals(reader.state().fault, null);
    },
  },
  {
    name: "append() refuses a batch that does not continue the log, and goes on with one that does",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await checkRejects(() => log.append(eventsOf(1, 1)), "SEQUENCE_GAP");
      await log.append(eventsOf(0, 2));
      for (const batch of [eventsOf(1, 1), eventsOf(3, 1), [...eventsOf(2, 1), ...eventsOf(4, 1)]]) {
        await checkRejects(() => log.append(batch), "SEQUENCE_GAP");
      }
      checkEquals(await log.append(eventsOf(2, 1)), 2);
      checkEquals(await readAll(await store.open("a", "read")), eventsOf(0, 3));
    },
  },
  {
    name: "append() refuses what a reopen would refuse (field/A08, field/A18)",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      const event = (more: object) => [{ seq: 0, time: 1, data: {}, ...more } as SessionEvent];
      await checkRejects(() => log.append(event({ type: "future/thing" })), "UNKNOWN_EVENT");
      const bad = [
        { type: "turn/start", data: { turn: "one" } },
        { type: "turn/start", data: { turn: 1 }, surfaceOp: "append" },
        { type: "turn/start", data: { turn: 1 }, strange: 1 },
        { type: "turn/start", data: { turn: 1 }, time: 1.5 },
        { type: "turn/start", data: undefined },
        { type: "checkpoint/policy", data: { version: 1, barriers: [], marker: true } },
        { type: "session/end-seed", data: { inherited: true } },
        { type: "user/message", data: { id: "m", role: "user", content: [], source: { kind: "user" } } },
      ];
      for (const more of bad) await checkRejects(() => log.append(event(more)), "TypeError");
      checkEquals(await store.stat("a"), null, "nothing was written");
      await log.append(event({ type: "future/thing", ignorable: true }));
      checkEquals(log.state().nextSeq, 1);
    },
  },
  {
    name: "append() keeps every lossless value, and the next seq comes from the rows, known or not (field/A08)",
    async run({ openStore }) {
      const store = await openStore();
      const data = {
        text: "ünï \ud800 \u0000 \u2028 🐳",
        deep: [[[[{ a: [1e300, 0.1, -5, null, true, {}] }]]]],
        __proto__x: 1,
        "": "",
      };
      const events = eventsOf(0, 6).map((event) =>
        event.seq % 2 === 0 ? event : { ...event, type: `future/${event.seq}`, ignorable: true as const, data }
      );
      const log = await store.create(headerOf("a"));
      await log.append(events);
      await log.close();
      const again = await store.open("a", "write");
      checkEquals(again.state().nextSeq, 6);
      checkEquals(await readAll(again), events);
      checkEquals(await again.append(eventsOf(6, 1)), 6);
    },
  },
  {
    name: "append() takes what it was given when it was called",
    async run({ openStore }) {
      const log = await (await openStore()).create(headerOf("a"));
      const data = { text: "before" };
      const done = log.append([{ type: "feedback/record", seq: 0, time: 1, data }]);
      data.text = "after";
      await done;
      checkEquals((await log.read()).events[0]?.data, { text: "before" });
    },
  },
  {
    name: "append() repeated under the last batch id appends nothing and acknowledges again",
    async run({ openStore }) {
      const log = await (await openStore()).create(headerOf("a"));
      checkEquals(await log.append(eventsOf(0, 2), { batchId: "x" }), 1);
      const { sizeBytes } = log.state();
      checkEquals(await log.append(eventsOf(0, 2), { batchId: "x" }), 1);
      checkEquals(log.state().sizeBytes, sizeBytes);
      await checkRejects(() => log.append(eventsOf(2, 1), { batchId: "x" }), "TypeError");
      checkEquals(await log.append(eventsOf(2, 1), { batchId: "y" }), 2);
      checkEquals(await readAll(log), eventsOf(0, 3));
    },
  },
  {
    name: "append() without events changes nothing",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      checkEquals(await log.append([]), -1);
      checkEquals(await store.stat("a"), null);
      await log.append(eventsOf(0, 2));
      const { sizeBytes } = log.state();
      checkEquals(await log.append([]), 1);
      checkEquals(log.state().sizeBytes, sizeBytes);
    },
  },
  {
    name: "append() called many times at once keeps every event, in the order of the calls (field/D07)",
    async run({ openStore }) {
      const log = await (await openStore()).create(headerOf("a"));
      const acknowledged = await Promise.all(eventsOf(0, 50).map((event) => log.append([event])));
      checkEquals(acknowledged, eventsOf(0, 50).map((event) => event.seq));
      checkEquals(await readAll(await (await openStore()).open("a", "read")), eventsOf(0, 50));
    },
  },
  {
    name: "materialize() publishes a session without events, once",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await log.materialize();
      await log.materialize();
      checkEquals((await store.stat("a"))?.state, "ok");
      checkEquals((await (await store.open("a", "read")).read()).events, []);
      checkEquals(await log.append(eventsOf(0, 1)), 0);
      await log.materialize();
      checkEquals(await readAll(log), eventsOf(0, 1));
    },
  },
  {
    name: "recover() of a healthy log appends its events and nothing else",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await log.append(eventsOf(0, 2));
      const { sizeBytes } = log.state();
      checkEquals(await log.recover([]), 1);
      checkEquals(log.state().sizeBytes, sizeBytes);
      checkEquals(await log.recover(eventsOf(2, 2)), 3);
      await checkRejects(() => log.recover(eventsOf(5, 1)), "SEQUENCE_GAP");
      checkEquals(await readAll(log), eventsOf(0, 4));
    },
  },
  {
    name: "a seeded session is whole when its seed has its end, and damaged before",
    async run({ openStore }) {
      const store = await openStore();
      const header = headerOf("child", { isSeeded: true, parentSession: "a" });
      const log = await store.create(header);
      await log.append(eventsOf(0, 2));
      checkEquals((await store.open("child", "read")).state().fault?.code, "CORRUPT_LOG");
      checkEquals((await store.stat("child"))?.state, "damaged");
      await log.append([{ type: "session/end-seed", seq: 2, time: 9, data: { inherited: true } }]);
      checkEquals(log.inheritedEventCount, 2);
      const reader = await store.open("child", "read");
      checkEquals([reader.state().fault, reader.inheritedEventCount], [null, 2]);
    },
  },
  {
    name: "open() for writing shows every event and goes on behind the last",
    async run({ openStore }) {
      const store = await openStore();
      const created = await store.create(headerOf("a"));
      await created.append(eventsOf(0, 5));
      await created.close();
      const visited: SessionEvent[] = [];
      const log = await store.open("a", "write", { visit: (event) => visited.push(event) });
      checkEquals(visited, eventsOf(0, 5));
      checkEquals(await log.append(eventsOf(5, 2)), 6);
      checkEquals(await readAll(log), eventsOf(0, 7));
    },
  },
  {
    name: "open() for writing is refused while another writer lives, in this store or another (field/D08, field/D14)",
    async run({ openStore }) {
      const [first, second] = [await openStore(), await openStore()];
      const log = await first.create(headerOf("a"));
      await log.append(eventsOf(0, 1));
      await checkRejects(() => first.open("a", "write"), "LOCK_HELD");
      await checkRejects(() => second.open("a", "write"), "LOCK_HELD");
      checkEquals((await second.stat("a"))?.live, true);
      checkEquals(await readAll(await second.open("a", "read")), eventsOf(0, 1));
      const other = await second.create(headerOf("b"));
      checkEquals(await other.append(eventsOf(0, 1)), 0);

      await log.close();
      const next = await second.open("a", "write");
      checkEquals(await next.append(eventsOf(1, 1)), 1);
      await next.close();
      checkEquals((await first.stat("a"))?.live, false);
    },
  },
  {
    name: "open() for writing waits for the lock as long as it is told, and no longer",
    async run({ openStore, advance }) {
      const [first, second] = [await openStore(), await openStore()];
      const log = await first.create(headerOf("a"));
      await log.append(eventsOf(0, 1));
      const refused = checkRejects(() => second.open("a", "write", { waitMs: 1000 }), "LOCK_HELD");
      await advance(1000);
      await refused;

      const abort = new AbortController();
      const aborted = second.open("a", "write", { waitMs: 1000, signal: abort.signal }).catch((error) => error);
      await advance(100);
      abort.abort("enough");
      checkEquals(await aborted, "enough");

      const waiting = second.open("a", "write", { waitMs: 1000 });
      await advance(300);
      await log.close();
      await advance(700);
      checkEquals(await (await waiting).append(eventsOf(1, 1)), 1);
    },
  },
  {
    name: "a session has one writer among processes, and none at once after that process was killed (field/D14)",
    skip: ({ lockScope }) => lockScope === "process" ? "no other process reaches this medium" : null,
    async run({ openStore, other }) {
      const store = await openStore();
      checkEquals(await other.run({ do: "create", id: "a" }), { code: null });
      checkEquals(await other.run({ do: "append", id: "a", from: 0, count: 2 }), { code: null });
      await checkRejects(() => store.open("a", "write"), "LOCK_HELD");
      checkEquals((await store.stat("a"))?.live, true);
      await other.kill();
      const log = await store.open("a", "write");
      checkEquals(await log.append(eventsOf(2, 1)), 2);
      checkEquals(await other.run({ do: "open", id: "a" }), { code: "LOCK_HELD" });
      await log.close();
      checkEquals(await other.run({ do: "open", id: "a" }), { code: null });
      checkEquals(await other.run({ do: "append", id: "a", from: 3, count: 1 }), { code: null });
      checkEquals(await readAll(await store.open("a", "read")), eventsOf(0, 4));
    },
  },
  {
    name: "a closed log and a closed store refuse everything but closing",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await log.append(eventsOf(0, 1));
      const reader = await store.open("a", "read");
      await log.close();
      await log.close();
      const closed = [
        () => log.append(eventsOf(1, 1)),
        () => log.recover([]),
        () => log.read(),
        () => log.materialize(),
        () => log.putBlob(new Uint8Array(1)),
      ];
      for (const call of closed) await checkRejects(call, "SESSION_CLOSED");

      const writer = await store.open("a", "write");
      await store.close();
      await store.close();
      await checkRejects(() => writer.append(eventsOf(1, 1)), "SESSION_CLOSED");
      await checkRejects(() => reader.read(), "SESSION_CLOSED");
      await checkRejects(() => store.open("a", "read"), "SESSION_CLOSED");
      await checkRejects(() => store.create(headerOf("b")), "SESSION_CLOSED");
      const free = await (await openStore()).open("a", "write");
      checkEquals(await free.append(eventsOf(1, 1)), 1);
    },
  },
];
