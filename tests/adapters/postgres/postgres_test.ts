import { assert, assertEquals, assertRejects } from "@std/assert";
import { hasCode, type SessionEvent } from "../../../mod.ts";
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "../../../src/entry/postgres.ts";
import { type BreakAt, PostgresProxy } from "../../support/postgres_proxy.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { PAUSE_MS_MAX, UNREACHABLE_MS_MAX } from "../../../src/adapters/postgres/backoff.ts";
import { PostgresSql } from "../../../src/adapters/postgres/mod.ts";
import { openSqlStore } from "../../../src/sql/mod.ts";
import { systemClock, systemRandom } from "../../../src/entry/system.ts";
import { administer, freshPlace, type Place, removePlace } from "./context.ts";

/** How much faster time goes while a test waits for a database that is away. */
const PACE_AWAY = 60;

const header = { type: "session", version: 3, createdAt: 1, isSeeded: false, delegationDepth: 0 } as const;

function eventsFrom(seq: number, count: number): SessionEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ type: "feedback/record", seq: seq + index, time: 5, data: { text: `event ${seq + index}` } },
  }));
}

/** What a case works with. Everything it opens is closed behind it. */
interface Case {
  readonly server: TestPostgres;
  readonly place: Place;
  open(options?: Partial<PostgresStoreOptions>): Promise<PostgresStore>;
  readonly proxy: () => PostgresProxy;
}

// One test with steps, because they share the server.
Deno.test("the store in PostgreSQL", async (t) => {
  const server = await startPostgres();
  const step = (name: string, run: (parts: Case) => Promise<void>, ignore = false) =>
    t.step({
      ...{ name, ignore, sanitizeOps: false, sanitizeResources: false },
      async fn() {
        const place = freshPlace(server.url);
        const stores: PostgresStore[] = [];
        const proxies: PostgresProxy[] = [];
        try {
          await run({
            ...{ server, place },
            async open(options = {}) {
              const store = await openPostgresStore({ ...place, ...options });
              stores.push(store);
              return store;
            },
            proxy() {
              proxies.push(new PostgresProxy(server.url));
              return proxies.at(-1)!;
            },
          });
        } finally {
          for (const store of stores) await store.close();
          for (const proxy of proxies) await proxy.close();
          await removePlace(place);
        }
      },
    });

  try {
    for (const at of ["before", "after"] as const satisfies readonly BreakAt[]) {
      const found = at === "before" ? "that was not done is written again" : "that was done is not written again";
      await step(
        `a COMMIT whose connection broke ${at} the server did it: a batch ${found}`,
        async ({ open, proxy, place }) => {
          const broken = proxy();
          const store = await open({ url: broken.url, connectionsMax: 1 });
          const log = await store.create({ ...header, id: "a" });
          await log.append(eventsFrom(0, 2), { batchId: "b0" });
          broken.breakCommit(at);
          assertEquals(await log.append(eventsFrom(2, 3), { batchId: "b1" }), 4);
          assertEquals(broken.broken, 1);
          assertEquals(await log.append(eventsFrom(5, 1), { batchId: "b2" }), 5);
          assertEquals(await log.read().then(({ events }) => events), eventsFrom(0, 6));
          const [count] = await administer(place, "SELECT count(*)::int AS n FROM event");
          assertEquals(count!["n"], 6);
        },
      );
    }

    await step("a first COMMIT whose connection broke publishes a session once", async ({ open, proxy }) => {
      for (const at of ["before", "after"] as const) {
        const broken = proxy();
        const store = await open({ url: broken.url, connectionsMax: 1 });
        const log = await store.create({ ...header, id: at });
        await log.putBlob(Uint8Array.of(1));
        broken.breakCommit(at);
        assertEquals(await log.append(eventsFrom(0, 2)), 1);
        assertEquals(await log.append(eventsFrom(2, 1)), 2);
        await log.close();
      }
    });

    await step(
      "an append waits for a database that is started anew, and a watcher goes on",
      async ({ open, place }) => {
        const store = await open();
        const log = await store.create({ ...header, id: "a" });
        await log.append(eventsFrom(0, 1));
        const reader = await (await open()).open("a", "read");
        const seen = firstOf(reader.watch(0), 60);
        for (const how of ["fast", "crash"] as const) {
          const restarted = server.restart(how);
          let seq = log.state().nextSeq;
          // Some before, some while it is away, some after.
          for (let count = 0; count < 30; count++, seq++) assertEquals(await log.append(eventsFrom(seq, 1)), seq);
          await restarted;
          assertEquals(await log.append(eventsFrom(seq, 1)), seq);
        }
        assertEquals((await seen).map(({ seq }) => seq), Array.from({ length: 60 }, (_, index) => index));
        const [count] = await administer(place, "SELECT count(*)::int AS n FROM event");
        assertEquals(count!["n"], log.state().nextSeq);
        assert((await (await open()).stat("a"))?.live, "the owner says again that it lives");
        await assertRejectsCode(async () => (await open()).open("a", "write"), "LOCK_HELD");
      },
      !server.isOwn,
    );

    await step(
      "an owner whose lease ended is fenced by its next append, and by everything after it",
      async ({ open, place }) => {
        const old = await open({ leaseMs: 60_000 });
        const log = await old.create({ ...header, id: "a" });
        await log.append(eventsFrom(0, 2));
        await assertRejectsCode(async () => (await open()).open("a", "write"), "LOCK_HELD");
        // As if nothing had been heard of it for longer than it may be silent.
        await administer(place, "UPDATE holder SET lease_ms = 0");
        const next = await (await open()).open("a", "write");
        assertEquals(await next.append(eventsFrom(2, 1)), 2);
        await assertRejectsCode(() => log.append(eventsFrom(2, 1)), "FENCED");
        await assertRejectsCode(() => log.append(eventsFrom(3, 1)), "FENCED");
        await assertRejectsCode(() => log.recover([]), "FENCED");
        await assertRejectsCode(() => log.putBlob(Uint8Array.of(1)), "FENCED");
        await log.close();
        // What the old owner gives back is not the new one's.
        await assertRejectsCode(async () => (await open()).open("a", "write"), "LOCK_HELD");
        assertEquals(await next.append(eventsFrom(3, 1)), 3);
      },
    );

    await step(
      "a store is opened also when every one of its first statements meets a broken connection",
      async ({ open, proxy }) => {
        const log = await (await open()).create({ ...header, id: "a" });
        await log.append(eventsFrom(0, 3));
        const firsts = ["BEGIN ISOLATION", "server_version_num", "pg_catalog.pg_class", ".schema_version", "LISTEN"];
        for (const at of ["before", "after"] as const satisfies readonly BreakAt[]) {
          for (const text of firsts) {
            const broken = proxy();
            broken.breakStatement(text, at);
            const store = await open({ url: broken.url, connectionsMax: 1 });
            assertEquals([broken.broken, (await store.stat("a"))?.state], [1, "ok"], `${text} ${at}`);
          }
        }
      },
    );

    await step(
      "what is read on a connection that breaks in the middle is read again, and nothing is shown twice",
      async ({ open, proxy }) => {
        const direct = await open();
        const log = await direct.create({ ...header, id: "a" });
        await log.append(eventsFrom(0, 700));
        const digest = await log.putBlob(Uint8Array.of(7));
        for (const at of ["before", "after"] as const satisfies readonly BreakAt[]) {
          const broken = proxy();
          const store = await open({ url: broken.url, connectionsMax: 1 });
          const breakAt = (...texts: readonly string[]) => {
            for (const text of texts) broken.breakStatement(text, at);
          };
          breakAt("FROM event", "count(*) AS behind");
          const seen: number[] = [];
          const reader = await store.open("a", "read", { visit: ({ seq }) => seen.push(seq) });
          assertEquals(seen, eventsFrom(0, 700).map(({ seq }) => seq));
          breakAt("FROM event", "FROM event");
          assertEquals((await reader.read({ limit: 700 })).events, eventsFrom(0, 700));
          breakAt("FROM blob");
          assertEquals(await reader.getBlob(digest), Uint8Array.of(7));
          breakAt("FROM event", "FROM claim");
          const rows = await Array.fromAsync(store.list());
          assertEquals(rows.map(({ id, state, live }) => [id, state, live]), [["a", "ok", true]]);
          breakAt("FROM claim");
          await assertRejectsCode(() => store.open("a", "write"), "LOCK_HELD");
          assertEquals(broken.broken, 8);
        }
      },
    );

    await step(
      "a store that is opened while the server is started anew is opened, and its first read and write succeed",
      async ({ server, open }) => {
        await (await open()).create({ ...header, id: "a" }).then((log) => log.append(eventsFrom(0, 1)));
        for (const how of ["fast", "crash"] as const) {
          let isOver = false;
          const restarted = server.restart(how).finally(() => isOver = true);
          let opened = 0;
          while (!isOver || opened === 0) {
            const store = await open();
            assertEquals((await store.stat("a"))?.state, "ok");
            const log = await store.create({ ...header, id: `${how}${opened++}` });
            assertEquals(await log.append(eventsFrom(0, 1)), 0);
            await store.close();
          }
          await restarted;
        }
      },
      !server.isOwn,
    );

    await step("where nobody answers, opening ends after a bounded time", async ({ server }) => {
      const { port } = new URL(server.url);
      const url = new URL(server.url);
      // Nobody listens there: it was free a moment ago.
      url.port = String(freePort());
      assert(url.port !== port);
      const delays: number[] = [];
      // The pauses are the same, and pass faster.
      const schedule = (delayMs: number, wake: () => void) => {
        delays.push(delayMs);
        return systemClock.schedule(delayMs / PACE_AWAY, wake);
      };
      const bytes = systemRandom.bytes;
      const error = await PostgresSql.open({ url: url.href, schedule, bytes }).catch((error) => error);
      assert(hasCode(error, "STORAGE_LOST") && !error.message.includes(url.password), String(error));
      assert(delays.filter((ms) => ms === PAUSE_MS_MAX).length > 1, "it was tried again");
      assert(delays.includes(UNREACHABLE_MS_MAX), "the bound is the one that is documented");
    });

    await step(
      "an acknowledgement that is lost while the database goes away is unknown, and the next owner finds the batch whole",
      async ({ open, proxy, place }) => {
        for (const at of ["before", "after"] as const satisfies readonly BreakAt[]) {
          const broken = proxy();
          // Half a minute is passed over, and only when it is waited for: a busy machine is no database that went away.
          let pace = 1;
          const schedule = (delayMs: number, wake: () => void) => systemClock.schedule(delayMs / pace, wake);
          const sql = await PostgresSql.open({ ...place, url: broken.url, schedule, bytes: systemRandom.bytes });
          const store = openSqlStore({ sql, clock: systemClock, random: systemRandom });
          const log = await store.create({ ...header, id: at });
          await log.append(eventsFrom(0, 1), { batchId: "b0" });
          pace = PACE_AWAY;
          broken.breakCommit(at);
          broken.stopAfterBreak();
          const error = await log.append(eventsFrom(1, 2), { batchId: "b1" }).catch((error) => error);
          // Neither acknowledged nor denied: whoever waits is not told that nothing happened.
          assert(hasCode(error, "STORAGE_LOST"), String(error));
          assert(!/nothing was (written|done)|not written/.test(error.message), error.message);
          // Nothing else is written before it is known.
          await assertRejectsCode(() => log.append(eventsFrom(1, 1), { batchId: "b2" }), "STORAGE_LOST");
          await store.close();
          await administer(place, "UPDATE holder SET lease_ms = 0");
          const next = await (await open()).open(at, "write");
          const there = at === "after" ? 3 : 1;
          assertEquals((await next.read()).events, eventsFrom(0, there));
          assertEquals(await next.append(eventsFrom(there, 1)), there);
        }
      },
    );

    await step(
      "clocks of the machines do not matter: a lease goes by the clock of the database",
      async ({ open }) => {
        const skewed = (ms: number) => ({
          clock: { ...systemClock, now: () => systemClock.now() + ms, schedule: systemClock.schedule },
          random: systemRandom,
        });
        const day = 86_400_000;
        const ahead = await open({ runtime: skewed(day) });
        const behind = await open({ runtime: skewed(-day) });
        const log = await ahead.create({ ...header, id: "a" });
        await log.append(eventsFrom(0, 1));
        await assertRejectsCode(() => behind.open("a", "write"), "LOCK_HELD");
        await log.close();
        const next = await behind.open("a", "write");
        assertEquals(await next.append(eventsFrom(1, 1)), 1);
        await assertRejectsCode(() => ahead.open("a", "write"), "LOCK_HELD");
      },
    );

    await step("what the server does not sync is said to be buffered", async ({ open, place }) => {
      assertEquals((await open()).traits, {
        ...{ medium: "postgres", sync: "device", names: "synced", publish: "transaction" },
        ...{ lockScope: "database", persistence: "persistent" },
      });
      const url = new URL(place.url);
      url.searchParams.set("synchronous_commit", "off");
      const store = await open({ url: url.href });
      assertEquals([store.traits.sync, store.server.synchronousCommit], ["buffered", "off"]);
    });

    await step("another version of the tables is refused, and the message names both", async ({ open, place }) => {
      const log = await (await open()).create({ ...header, id: "a" });
      await log.append(eventsFrom(0, 1));
      await administer(place, "UPDATE schema_version SET version = 999");
      const error = await open().catch((error) => error);
      assert(hasCode(error, "UNSUPPORTED_FORMAT") && /999.*wanted 1\b/.test(error.message), String(error));
    });

    await step("a schema's name that could be more than a name is refused", async ({ open }) => {
      await assertRejects(() => open({ schema: 'a"; DROP' }), RangeError);
    });

    await step(
      "a database that cannot be reached is lost, with its address and without its password",
      async ({ open }) => {
        const error = await openPostgresStore({ url: "not a url" }).catch((error) => error);
        assert(hasCode(error, "STORAGE_LOST"), String(error));
        const url = new URL(server.url);
        url.password = "wrong-password";
        const refused = await open({ url: url.href }).catch((error) => error);
        assert(hasCode(refused, "STORAGE_LOST") && !refused.message.includes("wrong-password"), String(refused));
      },
    );
  } finally {
    await server.stop();
  }
});

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function firstOf(events: AsyncIterable<SessionEvent>, count: number): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (seen.length === count) break;
  }
  return seen;
}

async function assertRejectsCode(work: () => Promise<unknown>, code: Parameters<typeof hasCode>[1]): Promise<void> {
  const error = await work().then(() => null, (error) => error);
  assert(hasCode(error, code), `found ${error}`);
}
