import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { type ApprovalOptions, type ApprovalRequest, type Approver, requestApproval } from "../../src/approval/mod.ts";
import { StorageFullError } from "../../src/errors.ts";
import { isEvent } from "../../src/event/mod.ts";
import { createSession, type Session } from "../../src/session/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";

async function openTurn() {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s1" });
  session.append({ type: "turn/start", data: { turn: 1 } });
  return { store, session };
}

function options(approvers: readonly Approver[], more: Partial<ApprovalOptions> = {}): ApprovalOptions {
  return { approvers, policy: "ask", signal: new AbortController().signal, ...more };
}

/** The audit events: their types, and the outcome of the last pair. */
async function audit(session: Session): Promise<string[]> {
  const { events } = await session.history();
  return events.flatMap((event) => {
    if (isEvent(event, "approval/decided")) return [event.data.outcome];
    return event.type.startsWith("approval/") ? [event.type] : [];
  });
}

const yes: Approver = () => "allowed-once";

Deno.test("exec/A01: without an open turn nothing is asked and nothing logged", async () => {
  const session = await createSession({ store: new FakeStore(), id: "s1" });
  await assertRejects(
    () => requestApproval(session, { toolName: "pay" }, options([yes])),
    TypeError,
    "no turn is open",
  );
  assertEquals(await audit(session), []);
});

Deno.test("exec/A02: without an approver the outcome is unavailable, under one id", async () => {
  const { store, session } = await openTurn();
  assertEquals(await requestApproval(session, { toolName: "pay" }, options([])), "unavailable");
  const ids = (await session.history()).events.flatMap((event) =>
    isEvent(event, "approval/asked") || isEvent(event, "approval/decided") ? [event.data.id] : []
  );
  assertEquals([ids.length, new Set(ids).size], [2, 1]);
  assertEquals(store.calls, []);
});

Deno.test("exec/A03: what is not given is left out of the question, not null", async () => {
  const { session } = await openTurn();
  const seen: ApprovalRequest[] = [];
  const approver: Approver = (request) => (seen.push(request), "rejected");
  await requestApproval(session, { toolName: "pay" }, options([approver]));
  const asked = (await session.history()).events.find((event) => isEvent(event, "approval/asked"))!;
  assertEquals(Object.keys(asked.data as object), ["id", "toolName"]);
  assertEquals(Object.keys(seen[0]!).sort(), ["id", "sessionId", "toolName"]);
  assertEquals(Object.isFrozen(seen[0]), true);
  assertEquals(await audit(session), ["approval/asked", "rejected"]);
});

Deno.test("exec/A04, exec/A05: an approver that throws, rejects or answers nonsense makes it unavailable", async () => {
  const { session } = await openTurn();
  const broken: Approver[] = [
    () => {
      throw new Error("sync");
    },
    () => Promise.reject(new Error("async")),
    () => "always" as never,
    () => null as never,
  ];
  for (const approver of broken) {
    assertEquals(await requestApproval(session, { toolName: "pay" }, options([approver, yes])), "unavailable");
  }
});

Deno.test("exec/A09: an observer that throws does not cost the answer", async () => {
  const { session } = await openTurn();
  session.subscribe(() => {
    throw new Error("observer");
  });
  assertEquals(await requestApproval(session, { toolName: "pay" }, options([yes])), "allowed-once");
  assertEquals(await audit(session), ["approval/asked", "allowed-once"]);
});

Deno.test("exec/A14, exec/A15: an approver can pass on, and every question has its own id", async () => {
  const { session } = await openTurn();
  const ids: string[] = [];
  const passing: Approver = ({ id }) => void ids.push(id);
  assertEquals(await requestApproval(session, { toolName: "pay" }, options([passing, yes])), "allowed-once");
  assertEquals(await requestApproval(session, { toolName: "pay" }, options([passing, passing])), "unavailable");
  assertEquals(ids.length, 3);
  assertNotEquals(ids[0], ids[1]);
});

Deno.test("the question is shown only when it is durable, and the answer counts only when it is", async () => {
  const { store, session } = await openTurn();
  const call = { callId: "c1", callSeq: 3, argumentsDigest: "0".repeat(64) };
  session.append({ type: "step/start", data: { turn: 1, step: 1 } });
  const recorded = { turn: 1, step: 1, callId: "c1", name: "pay", arguments: "{}" };
  session.append({ type: "tool/call", data: recorded });
  const shown: unknown[] = [];
  const approver: Approver = () => (shown.push(store.events("s1").at(-1)?.type), "allowed-once");
  const releaseQuestion = store.hold();
  let outcome: unknown = null;
  const done = requestApproval(session, { toolName: "pay", call }, options([approver])).then((found) =>
    outcome = found
  );
  await settle();
  assertEquals([shown, outcome], [[], null]);
  const stop = session.subscribe((event) => event.type === "approval/decided" && (releaseAnswer = store.hold()));
  let releaseAnswer = () => {};
  releaseQuestion();
  await settle();
  assertEquals([shown, outcome], [["approval/bound"], null]);
  stop();
  releaseAnswer();
  await done;
  assertEquals([outcome, store.events("s1").at(-1)?.type], ["allowed-once", "approval/decided"]);
});

Deno.test("a question that cannot be made durable is never shown, an answer that cannot is never returned", async () => {
  const { store, session } = await openTurn();
  const shown: string[] = [];
  const approver: Approver = () => (shown.push("shown"), "allowed-once");
  store.inject({ fail: new StorageFullError("no room") });
  const refused = await assertRejects(() => requestApproval(session, { toolName: "pay" }, options([approver])));
  assertEquals((refused as { code?: string }).code, "CHECKPOINT_FAILED");
  assertEquals([shown, await audit(session)], [[], ["approval/asked", "unavailable"]]);

  const stop = session.subscribe((event) => {
    if (event.type === "approval/decided") store.inject({ fail: new StorageFullError("no room") });
  });
  await assertRejects(() => requestApproval(session, { toolName: "pay" }, options([approver])), Error, "STORAGE_FULL");
  stop();
  assertEquals(shown, ["shown"]);
  await session.flush();
  assertEquals(store.events("s1").at(-1)?.type, "approval/decided");
});

Deno.test("policy never refuses without asking anybody, from the log or from the host", async () => {
  const { store, session } = await openTurn();
  const asked: string[] = [];
  const approver: Approver = () => (asked.push("asked"), "allowed-once");
  assertEquals(
    await requestApproval(session, { toolName: "pay" }, options([approver], { policy: "never" })),
    "rejected",
  );
  session.append({ type: "approval/policy", data: { policy: "never" } });
  assertEquals(await requestApproval(session, { toolName: "pay" }, options([approver])), "rejected");
  session.append({ type: "approval/policy", data: { policy: "ask" } });
  assertEquals(
    await requestApproval(session, { toolName: "pay" }, options([approver], { policy: "never" })),
    "allowed-once",
  );
  assertEquals([asked.length, store.calls.length], [1, 2]);
});

Deno.test("a cancel before, while it becomes durable, and while it is open, cancels the question", async () => {
  const { store, session } = await openTurn();
  const before = { signal: AbortSignal.abort() };
  assertEquals(await requestApproval(session, { toolName: "pay" }, options([yes], before)), "cancelled");

  const release = store.hold();
  const during = new AbortController();
  const pending = requestApproval(session, { toolName: "pay" }, options([yes], { signal: during.signal }));
  await settle();
  during.abort();
  assertEquals(await pending, "cancelled");
  release();

  const open = new AbortController();
  const late = Promise.withResolvers<"allowed-once">();
  const approver: Approver = (_, signal) => {
    signal.addEventListener("abort", () => late.resolve("allowed-once"));
    queueMicrotask(() => open.abort());
    return late.promise;
  };
  assertEquals(
    await requestApproval(session, { toolName: "pay" }, options([approver], { signal: open.signal })),
    "cancelled",
  );
  assertEquals((await audit(session)).filter((entry) => entry === "cancelled").length, 3);
});
