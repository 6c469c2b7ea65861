import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { CheckpointFailedError, LockLostError, StorageFullError, StorageLostError } from "../../src/errors.ts";
import type { BarrierName, EffectClass } from "../../src/event/mod.ts";
import { passBarrier } from "../../src/checkpoint/mod.ts";
import { createSession, type Session } from "../../src/session/mod.ts";
import { appendOpenTurn, appendTurn, turnStart } from "../session/drafts.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";

async function sessionOn(store: FakeStore, options: { volatile?: boolean } = {}): Promise<Session> {
  const session = await createSession({ store, id: "s", ...options });
  session.append(turnStart());
  return session;
}

Deno.test("exec/C06, exec/C11: passBarrier() flushes first, and lets through only after the acknowledgement", async () => {
  for (const barrier of ["pre-step", "tool"] as const) {
    const store = new FakeStore();
    const session = await sessionOn(store);
    const release = store.hold();
    const order: string[] = [];
    const body = passBarrier(session, { barrier, throughSeq: 1 }).then((seq) => order.push(`body after ${seq}`));
    await settle();
    assertEquals(order, []);
    assertEquals(store.calls.length, 1, "the flush has begun");
    order.push("flush end");
    release();
    await body;
    assertEquals(order, ["flush end", "body after 1"]);
    await session.close();
  }
});

Deno.test("exec/C12: passBarrier() refuses when the flush rejects, and the cause stays visible", async () => {
  const store = new FakeStore();
  const session = await sessionOn(store);
  const full = store.failure = new StorageFullError("Cannot append: no room");
  const error = await assertRejects(
    () => passBarrier(session, { barrier: "pre-step", throughSeq: 1 }),
    CheckpointFailedError,
    'Cannot pass the pre-step barrier of session "s": events through 1 are not durable: STORAGE_FULL: Cannot append: no room',
  );
  assertStrictEquals(error.cause, full);
  store.failure = null;
  assertEquals(await passBarrier(session, { barrier: "pre-step", throughSeq: 1 }), 1);
  await session.close();
});

Deno.test("field/A04: with a full disk no effect passes, and it does when there is room", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  appendOpenTurn(session, { a: "dispatched" });
  const effects: string[] = [];
  const act = async () => {
    await passBarrier(session, { barrier: "tool", throughSeq: session.nextSeq - 1, effect: "opaque" });
    effects.push("paid");
  };
  store.failure = new StorageFullError("no room");
  for (let round = 0; round < 3; round++) await assertRejects(act, CheckpointFailedError, "STORAGE_FULL");
  assertEquals(effects, []);
  store.failure = null;
  await act();
  assertEquals(effects, ["paid"]);
  await session.close();
});

Deno.test("field/D04: after a permanent failure no barrier is passed, also for what was durable before", async () => {
  const store = new FakeStore();
  const session = await sessionOn(store);
  await session.flush();
  appendTurn(await createSession({ store, id: "other" }), 1);
  store.inject({ fail: new LockLostError("foreign bytes") });
  session.append({ type: "x/y", data: 1, ignorable: true });
  await assertRejects(() => session.flush(), LockLostError);
  for (const barrier of ["pre-step", "model", "tool", "question"] as const) {
    await assertRejects(
      () => passBarrier(session, { barrier, throughSeq: 0, effect: "none" }),
      CheckpointFailedError,
      "LOCK_LOST",
    );
  }
  await session.close().catch(() => {});
});

Deno.test("field/G14: no child starts when the parent's prefix is not durable, although the child's log could be written", async () => {
  const parentStore = new FakeStore();
  const childStore = new FakeStore();
  const parent = await sessionOn(parentStore);
  parentStore.failure = new StorageLostError("EIO");
  const delegate = async () => {
    await passBarrier(parent, { barrier: "tool", throughSeq: parent.nextSeq - 1, effect: "opaque" });
    return await createSession({ store: childStore, id: "child", parentSession: parent.id });
  };
  await assertRejects(delegate, CheckpointFailedError, "STORAGE_LOST");
  assertEquals(childStore.logs.size, 0);
  await parent.close().catch(() => {});
});

Deno.test("exec/C19, exec/C25: passBarrier() asks for the seq, not for somebody who listened", async () => {
  const store = new FakeStore();
  const session = await sessionOn(store);
  const error = await assertRejects(
    () => passBarrier(session, { barrier: "tool", throughSeq: 2, effect: "none" }),
    CheckpointFailedError,
  );
  assertStringIncludes(error.message, "the store acknowledged seq 1, wanted 2");
  await assertRejects(() => passBarrier(session, { barrier: "tool", throughSeq: NaN }), CheckpointFailedError);

  // A store that says yes to everything but the last seq is not believed.
  store.inject({ acknowledge: 99 });
  session.append({ type: "x/y", data: 1, ignorable: true });
  await assertRejects(
    () => passBarrier(session, { barrier: "tool", throughSeq: 2 }),
    CheckpointFailedError,
    "SEQUENCE_GAP",
  );
  await session.close().catch(() => {});
});

Deno.test("exec/C23: a flush that never settles does not block a cancel", async () => {
  const store = new FakeStore();
  const session = await sessionOn(store);
  const release = store.hold();
  const controller = new AbortController();
  const waiting = passBarrier(session, { barrier: "tool", throughSeq: 1, signal: controller.signal });
  await settle();
  controller.abort({ kind: "user" });
  assertEquals(await waiting.catch((reason) => reason), { kind: "user" });
  release();
  await session.close();
});

Deno.test("passBarrier() refuses with the signal's reason before the flush, after it, and when both come together", async () => {
  const store = new FakeStore();
  const session = await sessionOn(store);
  const aborted = AbortSignal.abort("before");
  assertEquals(
    await passBarrier(session, { barrier: "tool", throughSeq: 1, signal: aborted }).catch((reason) => reason),
    "before",
  );
  assertEquals(store.calls, [], "nothing was flushed for it");

  // Aborted at every point between the start of the flush and its end, and some after it.
  const outcomes = new Set<unknown>();
  for (let turns = 0; turns < 40; turns++) {
    session.append({ type: "x/y", data: turns, ignorable: true });
    const controller = new AbortController();
    const passing = passBarrier(session, { barrier: "tool", throughSeq: 1, signal: controller.signal })
      .then(() => "passed", (reason) => reason);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    controller.abort("during");
    const outcome = await passing;
    outcomes.add(outcome);
    if (turns === 0) assertEquals(outcome, "during");
  }
  assertEquals(outcomes, new Set(["during", "passed"]));

  store.inject({ fail: new StorageFullError("no room") });
  session.append({ type: "x/y", data: 1, ignorable: true });
  const controller = new AbortController();
  const both = passBarrier(session, { barrier: "tool", throughSeq: 1, signal: controller.signal });
  controller.abort("cancelled");
  assertEquals(await both.catch((reason) => reason), "cancelled");
  await session.close();
});

Deno.test("on a medium that promises nothing only what has no effect passes, unless the session is volatile", async () => {
  const outcome = async (
    barrier: BarrierName,
    effect: EffectClass | undefined,
    volatile: boolean,
    sync: "none" | "buffered",
  ) => {
    const store = new FakeStore({ traits: { sync, medium: "memory" } });
    const session = await sessionOn(store, { volatile });
    try {
      await passBarrier(session, { barrier, throughSeq: 0, effect });
      return "passes";
    } catch (error) {
      assert(error instanceof CheckpointFailedError);
      assertStringIncludes(error.message, "volatile: true");
      assertEquals(store.calls, [], "refused before the flush");
      return "refused";
    } finally {
      await session.close();
    }
  };
  for (const effect of ["idempotent", "keyed", "opaque", undefined] as const) {
    assertEquals(await outcome("tool", effect, false, "none"), "refused");
    assertEquals(await outcome("tool", effect, true, "none"), "passes");
    assertEquals(await outcome("tool", effect, false, "buffered"), "passes");
  }
  assertEquals(await outcome("tool", "none", false, "none"), "passes");
  assertEquals(await outcome("question", "opaque", false, "none"), "refused");
  for (const barrier of ["pre-step", "model", "question"] as const) {
    assertEquals(await outcome(barrier, undefined, false, "none"), "passes");
  }
});

Deno.test("exec/C16: calls that pass together write no seq twice, and each passes only behind its own event", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  appendOpenTurn(session, { a: "proposed", b: "proposed" });
  const run = async (callId: string) => {
    const call = { turn: 1, step: 1, callId, name: "pay", arguments: "{}" };
    const { seq } = session.append({ type: "tool/call", data: call });
    await passBarrier(session, { barrier: "tool", throughSeq: seq });
    return session.durableSeq >= seq && store.events("s").some((event) => event.seq === seq);
  };
  assertEquals(await Promise.all([run("a"), run("b")]), [true, true]);
  const seqs = store.calls.flatMap((call) => call.seqs);
  assertEquals(seqs, [...new Set(seqs)]);
  await session.close();
});
