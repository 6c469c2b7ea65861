/**
 * Sessions a server has open: opened once, kept while they are needed, closed when nobody does.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { createAgent, scripted } from "../../src/agent/mod.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";
import { SyncFailedError } from "../../src/errors.ts";
import { HostedSessions } from "../../src/server/hosted_sessions.ts";
import { HOSTED_IDLE_MS } from "../../src/server/limits.ts";
import { Refusal } from "../../src/server/problem.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { FakeClock } from "../support/fake_clock.ts";

function hostedOn(store: SessionStore, sessionsMax?: number) {
  const clock = new FakeClock();
  const problems: unknown[] = [];
  const agent = createAgent({ store, model: scripted([[{ text: "Done." }], [{ hang: true }]]) });
  let resumes = 0;
  const sessions = new HostedSessions({
    ...{ store, clock, sessionsMax, onLive: () => {}, report: (error) => void problems.push(error) },
    agent: {
      ...agent,
      resume(id, options) {
        resumes += 1;
        return agent.resume(id, options);
      },
    },
  });
  return { clock, sessions, problems, resumes: () => resumes };
}

Deno.test("HostedSessions: many who need a session at the same time open it once", async () => {
  await using store = openMemoryStore({ simulate: "disk" });
  const first = hostedOn(store);
  await first.sessions.create({ id: "a" });
  await first.sessions.close();
  const { sessions, resumes } = hostedOn(store);
  const found = await Promise.all(Array.from({ length: 20 }, () => sessions.use("a", ({ agent }) => agent)));
  assertEquals([resumes(), new Set(found).size], [1, 1]);
  await assertRejects(() => sessions.use("none", () => {}), Error, "none");
  assertEquals(sessions.count, 1);
  await sessions.close();
});

Deno.test("HostedSessions: an idle session is closed after its time, and opened again when it is needed", async () => {
  await using store = openMemoryStore({ simulate: "disk" });
  const { sessions, clock, resumes } = hostedOn(store);
  await sessions.create({ id: "a" });
  const release = Promise.withResolvers<void>();
  const working = sessions.use("a", () => release.promise);
  await clock.advance(3 * HOSTED_IDLE_MS);
  assertEquals(sessions.count, 1, "one that is worked with stays");
  release.resolve();
  await working;
  await clock.advance(HOSTED_IDLE_MS - 1);
  assertEquals(sessions.count, 1);
  await clock.advance(HOSTED_IDLE_MS + 1);
  assertEquals(sessions.count, 0);
  assertEquals(clock.pendingTimers, 0, "nothing ticks for nobody");
  await sessions.use("a", ({ id }) => assertEquals(id, "a"));
  assertEquals(resumes(), 1);
  await sessions.close();
});

Deno.test("HostedSessions: a session that can write no more is opened again with the next request", async () => {
  await using store = openMemoryStore({ simulate: "disk" });
  let isBroken = false;
  const create = store.create.bind(store);
  store.create = async (header) => {
    const log = await create(header);
    const append = log.append.bind(log);
    log.append = (events, options) =>
      isBroken ? Promise.reject(new SyncFailedError("Cannot sync: the disk refused twice")) : append(events, options);
    return log;
  };
  const { sessions, resumes } = hostedOn(store);
  await sessions.create({ id: "a" });
  isBroken = true;
  await assertRejects(() =>
    sessions.use("a", async ({ agent }) => {
      agent.inject("x");
      await agent.session.flush();
    }), SyncFailedError);
  await sessions.use("a", async ({ agent }) => {
    assertEquals(agent.session.failure, null);
    agent.inject("y");
    await agent.session.flush();
  });
  assertEquals(resumes(), 1);
  await sessions.close();
});

Deno.test("HostedSessions: at the bound the idle one makes room, and when all are busy there is none, however many ask", async () => {
  await using store = openMemoryStore({ simulate: "disk" });
  const { sessions } = hostedOn(store, 3);
  for (const id of ["a", "b", "c", "d", "e"]) await sessions.create({ id });
  assertEquals(sessions.count, 3);
  const release = Promise.withResolvers<void>();
  const working = ["a", "b", "c"].map((id) => sessions.use(id, () => release.promise));
  while (sessions.peek("a") === null || sessions.peek("b") === null || sessions.peek("c") === null) {
    await new Promise((next) => setTimeout(next, 1));
  }
  const refused = await Promise.allSettled(["d", "e", "d"].map((id) => sessions.use(id, () => {})));
  for (const result of refused) {
    assert(result.status === "rejected" && (result.reason as Refusal).status === 429);
  }
  assertEquals(sessions.count, 3);
  release.resolve();
  await Promise.all(working);
  await sessions.use("d", () => {});
  assertEquals(sessions.count, 3);
  await sessions.close();
  await assertRejects(() => sessions.use("a", () => {}), Refusal, "going down");
  await assertRejects(() => sessions.create({}), Refusal, "going down");
});
