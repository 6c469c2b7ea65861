import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { NotFoundError } from "../../src/errors.ts";
import { createSession, openSession, settleByPerson } from "../../src/session/mod.ts";
import { FakeStore } from "../support/fake_store.ts";
import { appendOpenTurn, turnEnd, turnStart } from "./drafts.ts";

async function reopened() {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  const { a } = appendOpenTurn(session, { a: "dispatched" });
  await session.flush();
  const next = store.crash();
  return { store: next, callSeq: a!, ...(await openSession({ store: next, id: "s" })) };
}

Deno.test("settleByPerson() writes the verdict and the notice together, durable, and settles the effect", async () => {
  for (const verdict of ["happened", "absent"] as const) {
    const { store, session, callSeq } = await reopened();
    const event = await settleByPerson(session, { callSeq, verdict, note: "it is on the statement" });
    assertEquals(event.type, "effect/reconciled");
    assertEquals(session.durableSeq, session.nextSeq - 1);
    assertEquals(store.calls.at(-1)?.types.slice(-2), ["effect/reconciled", "agent/inbox/spliced"]);
    assertEquals(session.folds.unresolved.effects, []);
    assertStringIncludes(JSON.stringify(session.folds.inbox.nextStep), "Note: it is on the statement");
    await assertRejects(
      () => settleByPerson(session, { callSeq, verdict }),
      NotFoundError,
      "unknown outcomes are none",
    );
    await session.close();
  }
});

Deno.test("settleByPerson() can allow a retry, which settles nothing", async () => {
  const { session, callSeq } = await reopened();
  await settleByPerson(session, { callSeq, verdict: "retry" });
  assertEquals(session.folds.unresolved.effects.map((effect) => effect.retryGranted), [true]);
  assertStringIncludes(JSON.stringify(session.folds.inbox.nextStep), "A person allows the same call once more");
  await settleByPerson(session, { callSeq, verdict: "retry" });
  assertEquals(session.folds.inbox.nextStep.length, 2, "notices have ids of their own");
  await session.close();
});

Deno.test("settleByPerson() settles an effect that never had a key", async () => {
  const store = new FakeStore({ traits: { sync: "buffered" } });
  const session = await createSession({ store, id: "s" });
  const { a } = appendOpenTurn(session, { a: "recorded" });
  await session.flush();
  const next = store.crash();
  const { session: again } = await openSession({ store: next, id: "s" });
  assertEquals(again.folds.unresolved.effects.map((effect) => effect.effectKey), [null]);
  await settleByPerson(again, { callSeq: a!, verdict: "absent" });
  assertEquals(again.folds.unresolved.effects, []);
  await again.close();
});

Deno.test("settleByPerson() refuses a call that may still be running, and one that is not unknown", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s" });
  const { a, b } = appendOpenTurn(session, { a: "dispatched", b: "recorded" });
  const before = session.nextSeq;
  await assertRejects(() => settleByPerson(session, { callSeq: a!, verdict: "happened" }), TypeError, "may be running");
  await assertRejects(() => settleByPerson(session, { callSeq: b!, verdict: "happened" }), NotFoundError, `are ${a}`);
  assertEquals(session.nextSeq, before);
  await session.close();
});

Deno.test("a turn goes on after a verdict", async () => {
  const { session, callSeq } = await reopened();
  await settleByPerson(session, { callSeq, verdict: "absent" });
  session.append(turnStart(2));
  session.append(turnEnd(2));
  await session.close();
});
