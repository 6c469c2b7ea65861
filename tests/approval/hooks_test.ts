import { assert, assertEquals } from "@std/assert";
import {
  type ApprovalHooks,
  type ApprovalOptions,
  type ApprovalRequest,
  canAsk,
  requestApproval,
} from "../../src/approval/mod.ts";
import type { ApprovalOutcome } from "../../src/event/mod.ts";
import { Hooks } from "../../src/hooks/mod.ts";
import { createSession, type Session } from "../../src/session/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";

async function openTurn(id = "s1"): Promise<Session> {
  const session = await createSession({ store: new FakeStore(), id });
  session.append({ type: "turn/start", data: { turn: 1 } });
  return session;
}

function ask(session: Session, options: Partial<ApprovalOptions>) {
  const question = { toolName: "pay", reason: "10 to alice" };
  return requestApproval(session, question, {
    approvers: [],
    policy: "ask",
    signal: new AbortController().signal,
    ...options,
  });
}

async function types(session: Session): Promise<string[]> {
  return (await session.history()).events.map(({ type }) => type).filter((type) => type.startsWith("approval/"));
}

Deno.test("exec/A14: listeners stand before the host's approvers, each can pass on, and at the end nobody answers", async () => {
  const session = await openTurn();
  const order: string[] = [];
  const hooks = new Hooks<ApprovalHooks>();
  hooks.on("approval/request", (_, __, next) => (order.push("first"), next()));
  const remove = hooks.on("approval/request", () => (order.push("second"), "rejected"));
  const approvers = [() => (order.push("approver"), "allowed-once" as const)];
  assertEquals(await ask(session, { hooks, approvers }), "rejected");
  remove();
  assertEquals(await ask(session, { hooks, approvers }), "allowed-once");
  assertEquals(await ask(session, { hooks }), "unavailable");
  assertEquals(order, ["first", "second", "first", "approver", "first"]);
});

Deno.test("exec/A16: a listener bound to another session is not consulted", async () => {
  const [session, other] = [await openTurn("s1"), await openTurn("s2")];
  const hooks = new Hooks<ApprovalHooks>();
  const asked: string[] = [];
  hooks.on("approval/request", ({ sessionId }) => (asked.push(sessionId), "allowed-once"), { subject: other });
  assertEquals(await ask(session, { hooks }), "unavailable");
  assertEquals(await ask(other, { hooks }), "allowed-once");
  assertEquals(asked, ["s2"]);
});

Deno.test("exec/A18, exec/T04: whoever answers is given session, tool, call, reason and signal, and no arguments", async () => {
  const session = await openTurn();
  const seen: [ApprovalRequest, AbortSignal][] = [];
  const hooks = new Hooks<ApprovalHooks>();
  hooks.on("approval/request", (request, signal) => (seen.push([request, signal]), "rejected"));
  const { signal } = new AbortController();
  session.append({ type: "step/start", data: { turn: 1, step: 1 } });
  const recorded = { turn: 1, step: 1, callId: "c1", name: "pay", arguments: '{"to":"alice"}' };
  const { seq } = session.append({ type: "tool/call", data: recorded });
  const call = { callId: "c1", callSeq: seq, argumentsDigest: "0".repeat(64) };
  await requestApproval(session, { toolName: "pay", reason: "why", call }, {
    approvers: [],
    policy: "ask",
    hooks,
    signal,
  });
  const [request, given] = seen[0]!;
  const { id, ...rest } = request;
  assertEquals(rest, {
    toolName: "pay",
    callId: "c1",
    reason: "why",
    sessionId: "s1",
    callSeq: seq,
    argumentsDigest: "0".repeat(64),
  });
  assert(given === signal && id.length === 32 && Object.isFrozen(request));
});

Deno.test("exec/A04, exec/A05: a listener that throws, rejects or answers nonsense makes it unavailable, and it is logged", async () => {
  const session = await openTurn();
  const broken: (() => unknown)[] = [
    () => {
      throw new Error("sync");
    },
    () => Promise.reject(new Error("async")),
    () => "always",
    () => undefined,
    () => ({ outcome: "allowed-once" }),
  ];
  for (const listener of broken) {
    const hooks = new Hooks<ApprovalHooks>();
    hooks.on("approval/request", () => listener() as ApprovalOutcome);
    assertEquals(await ask(session, { hooks, approvers: [() => "allowed-once"] }), "unavailable");
  }
  assertEquals((await types(session)).filter((type) => type === "approval/decided").length, broken.length);
});

Deno.test("the policy never is decided before any listener, whatever its order", async () => {
  const session = await openTurn();
  const hooks = new Hooks<ApprovalHooks>();
  hooks.on("approval/request", () => "allowed-once", { prepend: true });
  assertEquals(await ask(session, { hooks, policy: "never" }), "rejected");
});

Deno.test("a cancel closes the question at once; what a listener says or asks later is dropped", async () => {
  const session = await openTurn();
  const controller = new AbortController();
  const shown: string[] = [];
  const gate = Promise.withResolvers<void>();
  const late = Promise.withResolvers<ApprovalOutcome>();
  const hooks = new Hooks<ApprovalHooks>();
  hooks.on("approval/request", async (_, __, next) => {
    await gate.promise;
    late.resolve(next());
    return "allowed-once" as const;
  });
  const pending = ask(session, {
    hooks,
    approvers: [() => (shown.push("shown"), "allowed-once")],
    signal: controller.signal,
  });
  await settle();
  controller.abort();
  assertEquals(await pending, "cancelled");
  gate.resolve();
  assertEquals([await late.promise, shown], ["cancelled", []]);
  assertEquals(await types(session), ["approval/asked", "approval/decided"]);
});

Deno.test("exec/A09: an observer that throws or appends does not cost the pair", async () => {
  const session = await openTurn();
  session.subscribe(() => {
    session.append({ type: "session/title", data: { title: "x" } });
  });
  assertEquals(await ask(session, { approvers: [() => "allowed-once"] }), "allowed-once");
  assertEquals(await types(session), ["approval/asked", "approval/decided"]);
});

Deno.test("an audit event that the log refuses grants nothing", async () => {
  for (const refused of ["approval/asked", "approval/bound", "approval/decided"]) {
    const session = await openTurn();
    session.append({ type: "step/start", data: { turn: 1, step: 1 } });
    const recorded = { turn: 1, step: 1, callId: "c1", name: "pay", arguments: "{}" };
    const { seq } = session.append({ type: "tool/call", data: recorded });
    const append = session.append.bind(session);
    session.append = (draft) => {
      if (draft.type === refused) throw new TypeError(`no ${refused}`);
      return append(draft);
    };
    const call = { callId: "c1", callSeq: seq, argumentsDigest: "0".repeat(64) };
    const options: ApprovalOptions = {
      approvers: [() => "allowed-once"],
      policy: "ask",
      signal: new AbortController().signal,
    };
    const answer = await requestApproval(session, { toolName: "pay", call }, options).catch((error) => error.message);
    assertEquals(answer, `no ${refused}`);
  }
});

Deno.test("canAsk() counts listeners and approvers", () => {
  const hooks = new Hooks<ApprovalHooks>();
  assertEquals([canAsk({ approvers: [] }), canAsk({ approvers: [], hooks })], [false, false]);
  hooks.on("approval/request", () => "rejected");
  assertEquals([canAsk({ approvers: [], hooks }), canAsk({ approvers: [() => "rejected"] })], [true, true]);
});
