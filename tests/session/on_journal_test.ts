/**
 * Sessions on the real journal over the memory disk: what the fake store cannot show.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { MemoryStorage, SimulatedCrashError } from "../../src/adapters/memory/mod.ts";
import { passBarrier } from "../../src/checkpoint/mod.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";
import { CheckpointFailedError, hasCode, LockHeldError, LockLostError } from "../../src/errors.ts";
import type { EventDraft, SessionEvent } from "../../src/event/mod.ts";
import { foldEvents, logFold } from "../../src/fold/mod.ts";
import { createSession, FORK_BATCH_EVENTS_MAX, forkSession, openSession, readSession } from "../../src/session/mod.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { draft as anyDraft } from "../event/arbitraries.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";
import {
  appendOpenTurn,
  appendTurn,
  draft,
  note,
  seqsOf,
  stepStart,
  turnEnd,
  turnStart,
  typesOf,
  upTo,
  userMessage,
} from "./drafts.ts";

function disk(): MemoryStorage {
  return new MemoryStorage({ simulate: "disk" });
}

function storeOn(storage: MemoryStorage): SessionStore {
  return openMemoryStore({ storage, runtime: { clock: new FakeClock(), random: seededRandom(7) } });
}

async function eventsOf(store: SessionStore, id = "s"): Promise<SessionEvent[]> {
  const { log } = await readSession({ store, id });
  const events: SessionEvent[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page: Awaited<ReturnType<typeof log.read>> = await log.read({ from });
    events.push(...page.events);
    from = page.nextFrom;
  }
  await log.close();
  return events;
}

const text = (events: readonly SessionEvent[]) => events.map((event) => JSON.stringify(event));

Deno.test("field/A19: write, close, open: what append() accepted is what comes back", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyDraft, { minLength: 1, maxLength: 15 }), async (drafts) => {
      const storage = disk();
      const store = storeOn(storage);
      const session = await createSession({ store, id: "s" });
      const appended: SessionEvent[] = [];
      session.subscribe((event) => appended.push(event));
      for (const each of [turnStart(), stepStart(), userMessage("a"), ...drafts]) {
        try {
          session.append(each as EventDraft);
        } catch {
          continue;
        }
        if (appended.length % 4 === 0) await session.flush();
      }
      await session.close();
      assertEquals(text(await eventsOf(store)), text(appended));
      const { session: again, resumed } = await openSession({ store, id: "s" });
      assertEquals(text((await again.history()).events.slice(0, appended.length)), text(appended));
      assertEquals(resumed.open?.turn ?? null, foldEvents(logFold, appended).brackets.turn);
      await again.close();
    }),
    { seed: 19, numRuns: 40 },
  );
});

Deno.test("field/A04: a disk that fills in the middle of a turn: no effect, the log intact, and it goes on", async () => {
  const storage = disk();
  const store = storeOn(storage);
  const session = await createSession({ store, id: "s" });
  appendTurn(session, 1);
  await session.flush();
  const before = await eventsOf(store);

  storage.capacityBytes = 0;
  appendOpenTurn(session, { a: "dispatched" });
  for (let round = 0; round < 3; round++) {
    const error = await assertRejects(
      () => passBarrier(session, { barrier: "tool", throughSeq: session.nextSeq - 1 }),
      CheckpointFailedError,
    );
    assert(hasCode(error.cause, "STORAGE_FULL"), String(error.cause));
  }
  assertEquals(text(await eventsOf(store)), text(before));

  storage.capacityBytes = Infinity;
  assertEquals(await passBarrier(session, { barrier: "tool", throughSeq: session.nextSeq - 1 }), session.nextSeq - 1);
  assertEquals(seqsOf(await eventsOf(store)), upTo(session.nextSeq));
  await session.close();
});

Deno.test("field/D04: foreign bytes end the session at once, and its tail can be saved as a fork", async () => {
  const storage = disk();
  const store = storeOn(storage);
  const session = await createSession({ store, id: "s" });
  appendTurn(session, 1);
  await session.flush();
  const { name } = (await store.stat("s"))!;
  storage.stranger.append(name, new Uint8Array([1, 2, 3]));

  appendTurn(session, 2);
  await assertRejects(() => session.flush(), LockLostError);
  assert(hasCode(session.failure, "LOCK_LOST"));
  await assertRejects(
    () => passBarrier(session, { barrier: "tool", throughSeq: 0, effect: "none" }),
    CheckpointFailedError,
  );

  const { session: saved } = await forkSession({ store: storeOn(disk()), session });
  assertEquals(saved.inheritedEventCount, 11);
  assertEquals(typesOf((await saved.history({ limit: 11 })).events), typesOf((await session.history()).events));
  await saved.close();
  await session.close().catch(() => {});
});

Deno.test("a second open in the same process with an open turn is refused and appends nothing", async () => {
  const store = storeOn(disk());
  const session = await createSession({ store, id: "s" });
  appendOpenTurn(session, { a: "dispatched" });
  await session.flush();
  const before = await eventsOf(store);
  await assertRejects(() => openSession({ store, id: "s" }), LockHeldError);
  assertEquals(text(await eventsOf(store)), text(before));
  assertEquals(session.folds.brackets.turn, 1);
  await session.close();
});

/** Twelve events in four flushes: a whole turn, then one that breaks off. */
async function script(store: SessionStore, told: (acknowledged: number, appended: number) => void): Promise<void> {
  const session = await createSession({ store, id: "s" });
  const flush = async () => told(await session.flush(), session.nextSeq);
  appendTurn(session, 1);
  told(-1, session.nextSeq);
  await flush();
  session.append(turnStart(2));
  session.append(stepStart(2));
  told(session.durableSeq, session.nextSeq);
  await flush();
  const content = [{ type: "tool-call" as const, id: "a", name: "pay", arguments: "{}" }];
  const message = {
    id: "m",
    role: "assistant" as const,
    content,
    source: { kind: "model", provider: "p", model: "m" },
  };
  session.append(draft("assistant/message", { turn: 2, step: 1, message, stream: [] }, { surfaceOp: "append" }));
  session.append(draft("tool/call", { turn: 2, step: 1, callId: "a", name: "pay", arguments: "{}" }));
  told(session.durableSeq, session.nextSeq);
  await flush();
  const marker = { turn: 2, step: 1, callId: "a", callSeq: 9, effectKey: "0".repeat(32), effect: "opaque" as const };
  session.append(draft("effect/dispatched", marker, { ignorable: true }));
  session.append(note("last"));
  told(session.durableSeq, session.nextSeq);
  await flush();
}

Deno.test("a crash at every operation of a script, and at every operation of each recovery, loses nothing acknowledged", async () => {
  const dry = disk();
  await script(storeOn(dry), () => {});
  let states = 0;
  for (const { operation, steps } of dry.operations) {
    for (const done of new Set([0, Math.floor(steps / 2), Math.max(0, steps - 1), steps])) {
      for (const keepUnsynced of ["none", "all"] as const) {
        const storage = disk();
        storage.failAt({ operation, kind: "crash", steps: done });
        let acknowledged = -1;
        let appended = 0;
        const told = (seq: number, count: number) => void (acknowledged = seq, appended = count);
        await script(storeOn(storage), told).catch((error) => assert(hasCrash(error), String(error)));

        const label = `operation ${operation}, ${done} steps, unsynced: ${keepUnsynced}`;
        const final = await recoverWithCrashes(storage.crash({ keepUnsynced }), acknowledged, label);
        states++;
        if (final === null) {
          assertEquals(acknowledged, -1, label);
          continue;
        }
        assertEquals(seqsOf(final), upTo(final.length), label);
        const kept = final.findIndex((event) => event.type === "session/end-seed");
        const closers = final.filter((event) =>
          event.type === "turn/end" && JSON.stringify(event.data).includes("interrupted")
        );
        const recovered = kept - closingEvents(final);
        assert(recovered > acknowledged, `${label}: recovered ${recovered}, acknowledged through ${acknowledged}`);
        assert(recovered <= appended, label);
        assert(closers.length <= 1, label);
        assertEquals(foldEvents(logFold, final).brackets.problems.count, 0, label);
      }
    }
  }
  assert(states > 60, `only ${states} states`);
});

/** How many events at the end, before the end-seed, repair wrote. */
function closingEvents(events: readonly SessionEvent[]): number {
  const isCloser = (event: SessionEvent) =>
    JSON.stringify(event.data).includes('"interrupted') ||
    (event.type === "step/end" && (event.data as { turn: number }).turn === 2);
  return events.filter(isCloser).length;
}

/**
 * Opens the session; then, on machines of their own, with a crash at every operation of that, and once more.
 *
 * A killed process leaves the same log in the end. A power cut may take back what was never acknowledged, and nothing else.
 */
async function recoverWithCrashes(
  storage: MemoryStorage,
  acknowledged: number,
  label: string,
): Promise<SessionEvent[] | null> {
  const plain = storage.crash({ keepUnsynced: "all" });
  const expected = await resumed(plain);
  if (expected === null) return null;
  for (const { operation, steps } of plain.operations) {
    for (const done of new Set([0, steps])) {
      const machine = storage.crash({ keepUnsynced: "all" });
      machine.failAt({ operation, kind: "crash", steps: done });
      await resumed(machine).catch((error) => assert(hasCrash(error), `${label}: ${error}`));

      const where = `${label}; recovery crashed at ${operation} after ${done}`;
      assertEquals(text(await resumed(machine.crash({ keepUnsynced: "all" })) ?? []), text(expected), where);
      const afterPowerCut = await resumed(machine.crash()) ?? [];
      assertEquals(seqsOf(afterPowerCut), upTo(afterPowerCut.length), where);
      const kept = text(afterPowerCut.slice(0, acknowledged + 1));
      assertEquals(kept, text(expected.slice(0, acknowledged + 1)), where);
      assert(afterPowerCut.filter((event) => event.type === "session/end-seed").length <= 1, where);
    }
  }
  return expected;
}

async function resumed(storage: MemoryStorage): Promise<SessionEvent[] | null> {
  const store = storeOn(storage);
  if (await store.stat("s") === null) return null;
  const { session } = await openSession({ store, id: "s" });
  await session.close();
  return await eventsOf(store);
}

function hasCrash(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof SimulatedCrashError) return true;
    if (cause instanceof AggregateError) return cause.errors.some(hasCrash);
  }
  return false;
}

Deno.test("a fork of many batches, and a fork of that fork, open again with what they inherited", async () => {
  const store = storeOn(disk());
  const session = await createSession({ store, id: "s" });
  for (let number = 1; number < 2 * FORK_BATCH_EVENTS_MAX + 5; number++) session.append(note(`${number}`));
  await session.close();
  const { session: fork } = await forkSession({ store, sourceId: "s", id: "f" });
  assertEquals(fork.inheritedEventCount, 2005);
  appendTurn(fork, 1);
  await fork.close();
  const { session: second } = await forkSession({ store, sourceId: "f", id: "g" });
  assertEquals([second.header.parentSession, second.inheritedEventCount], ["f", 2012]);
  await second.close();

  const { session: again } = await openSession({ store, id: "g" });
  assertEquals([again.inheritedEventCount, again.nextSeq], [2012, 2013]);
  again.append(turnStart(2));
  again.append(turnEnd(2));
  await again.close();
  const states = [];
  for await (const row of store.list()) states.push([row.id, row.state]);
  assertEquals(states.map(([id]) => id), ["f", "g", "s"]);
  assert(states.every(([, state]) => state !== "damaged"), JSON.stringify(states));
});
