/**
 * The session store contract: pages, watching, and blobs.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import { check, checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { eventsOf, headerOf, readAll, type SessionStoreContext } from "./session_store_context.ts";

/** Longer than any store waits before it looks for what other processes wrote, in milliseconds. */
const POLL_MS = 1000;

/** Reading, following, and blobs. */
export const sessionStoreReadCases: readonly ContractCase<SessionStoreContext>[] = [
  {
    name: "read() gives pages that join without a gap",
    async run({ openStore }) {
      const log = await (await openStore()).create(headerOf("a"));
      for (let from = 0; from < 2500; from += 50) await log.append(eventsOf(from, 50));
      const reader = await (await openStore()).open("a", "read");
      for (const view of [log, reader]) {
        const first = await view.read();
        checkEquals([first.events.length, first.nextFrom], [1000, 1000]);
        checkEquals(await readAll(view), eventsOf(0, 2500));
        for (const [from, limit] of [[0, 1], [49, 2], [50, 50], [1234, 7], [2499, 1], [2499, 9], [2450, 50]] as const) {
          const page = await view.read({ from, limit });
          const wanted = eventsOf(from, Math.min(limit, 2500 - from));
          checkEquals(page.events, wanted, `from ${from}, limit ${limit}`);
          checkEquals(page.nextFrom, from + wanted.length === 2500 ? null : from + wanted.length);
        }
        for (const from of [2500, 9999]) checkEquals(await view.read({ from }), { events: [], nextFrom: null });
        for (const bad of [{ from: -1 }, { from: 0.5 }, { limit: 0 }, { limit: NaN }]) {
          await checkRejects(() => view.read(bad), "RangeError");
        }
      }
    },
  },
  {
    name: "read() sees what was appended since, and what it showed before stays as it was",
    async run({ openStore }) {
      const log = await (await openStore()).create(headerOf("a"));
      await log.append(eventsOf(0, 3));
      const reader = await (await openStore()).open("a", "read");
      checkEquals(await readAll(reader), eventsOf(0, 3));
      for (let round = 0; round < 40; round++) {
        const from = log.state().nextSeq;
        const appended = log.append(eventsOf(from, 1 + round % 3));
        const during = await reader.read();
        check(during.events.length >= from, `${during.events.length} of ${from} acknowledged events`);
        checkEquals(during.events, eventsOf(0, during.events.length));
        await appended;
      }
      checkEquals(await readAll(reader), await readAll(log));
      checkEquals(reader.state().nextSeq, log.state().nextSeq);
    },
  },
  {
    name: "read() sees what another process appended",
    skip: ({ lockScope }) => lockScope === "process" ? "no other process reaches this medium" : null,
    async run({ openStore, other }) {
      const store = await openStore();
      await other.run({ do: "create", id: "a" });
      await other.run({ do: "append", id: "a", from: 0, count: 2 });
      const reader = await store.open("a", "read");
      checkEquals(await readAll(reader), eventsOf(0, 2));
      await other.run({ do: "append", id: "a", from: 2, count: 20 });
      checkEquals(await readAll(reader), eventsOf(0, 22));
    },
  },
  {
    name: "watch() gives every event once and in order while a writer appends (field/A26)",
    async run({ openStore, advance }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await log.append(eventsOf(0, 1));
      const reader = await store.open("a", "read");
      const stranger = await (await openStore()).open("a", "read");
      const seen = [log, reader, stranger].map((view) => collect(view.watch(0), 1000));
      for (let next = 1; next < 1000;) {
        const count = Math.min(1 + next % 9, 1000 - next);
        await log.append(eventsOf(next, count));
        next += count;
        if (next % 7 === 0) await advance(next % 300);
      }
      await advance(POLL_MS);
      for (const events of seen) checkEquals(await events, eventsOf(0, 1000));
    },
  },
  {
    name: "watch() needs no time to pass for what its own store appends",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await log.append(eventsOf(0, 2));
      const reader = await store.open("a", "read");
      const seen = collect(reader.watch(1), 3);
      await log.append(eventsOf(2, 1));
      await log.append(eventsOf(3, 1));
      checkEquals(await seen, eventsOf(1, 3));
    },
  },
  {
    name: "watch() waits for an event that is not there yet, and ends with its signal or its log",
    async run({ openStore, advance }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      const unborn = collect(log.watch(0), 1);
      await log.append(eventsOf(0, 2));
      checkEquals(await unborn, eventsOf(0, 1));

      const abort = new AbortController();
      const late = collect(log.watch(5, { signal: abort.signal }), 99);
      const closed = collect(log.watch(1), 99);
      await advance(POLL_MS);
      await log.append(eventsOf(2, 5));
      await advance(POLL_MS);
      abort.abort();
      checkEquals(await late, eventsOf(5, 2));
      await log.close();
      checkEquals(await closed, eventsOf(1, 6));
      checkEquals(await collect((await store.open("a", "read")).watch(0, { signal: abort.signal }), 99), []);
    },
  },
  {
    name: "watch() follows another process",
    skip: ({ lockScope }) => lockScope === "process" ? "no other process reaches this medium" : null,
    async run({ openStore, other, advance }) {
      const store = await openStore();
      await other.run({ do: "create", id: "a" });
      await other.run({ do: "append", id: "a", from: 0, count: 1 });
      const reader = await store.open("a", "read");
      const seen = collect(reader.watch(0), 10);
      for (let from = 1; from < 10; from += 3) {
        await other.run({ do: "append", id: "a", from, count: 3 });
        await advance(POLL_MS);
      }
      checkEquals(await seen, eventsOf(0, 10));
    },
  },
  {
    name: "putBlob() keeps bytes under their SHA-256, and every view reads them back",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      await log.append(eventsOf(0, 1));
      const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
      checkEquals(await log.putBlob(new Uint8Array(0)), empty);
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * index) >> 3);
      const digest = await log.putBlob(bytes);
      checkEquals(await log.putBlob(bytes), digest);
      const reader = await (await openStore()).open("a", "read");
      for (const view of [log, reader]) {
        checkEquals(await view.getBlob(digest), bytes as Uint8Array<ArrayBuffer>);
        checkEquals((await view.getBlob(empty)).length, 0);
        await checkRejects(() => view.getBlob("0".repeat(64)), "NOT_FOUND");
        for (const bad of ["", "../x", digest.toUpperCase()]) await checkRejects(() => view.getBlob(bad), "TypeError");
      }
    },
  },
  {
    name: "putBlob() may come before the first event",
    async run({ openStore }) {
      const store = await openStore();
      const log = await store.create(headerOf("a"));
      const digest = await log.putBlob(Uint8Array.of(1, 2, 3));
      checkEquals(await store.stat("a"), null);
      await log.append(eventsOf(0, 1));
      checkEquals(await (await store.open("a", "read")).getBlob(digest), Uint8Array.of(1, 2, 3));
    },
  },
];

/** The first events of a watch, or all of them when it ends before. */
async function collect(events: AsyncIterable<SessionEvent>, count: number): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (seen.length === count) break;
  }
  return seen;
}
