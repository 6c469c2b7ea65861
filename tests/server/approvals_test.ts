/**
 * Questions that outlive their client, and inputs that are sent twice.
 */
import { assert, assertEquals } from "@std/assert";
import { openMemoryStore } from "../../src/entry/memory.ts";
import { StorageFullError, SyncFailedError } from "../../src/errors.ts";
import { Hooks } from "../../src/hooks/mod.ts";
import type { AgentHooks } from "../../src/agent/mod.ts";
import { createServerApp } from "../../src/server/app.ts";
import { knownToken } from "../../src/server/auth.ts";
import { Questions } from "../../src/server/questions.ts";
import { createAgent } from "../../src/agent/mod.ts";
import { defineTool, type Permission, type Tool } from "../../src/tool/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import {
  type AgentParts,
  EventStream,
  eventually,
  payStep,
  payTool,
  scriptedModel,
  startServer,
  type TestServer,
  TOKEN,
} from "./server_support.ts";

interface Shown {
  readonly id: string;
  readonly argumentsDigest: string;
  readonly reason: string | null;
}

/** Says something and waits for the question it leads to. */
async function asked(server: TestServer, id = "a", text = "pay"): Promise<Shown> {
  await using stream = await EventStream.open(server, id);
  const { seq } = await server.json(`/v1/sessions/${id}/inputs`, { body: { text }, status: 202 });
  await stream.event("approval/bound", (event) => event.seq > seq);
  const { questions } = await server.json(`/v1/sessions/${id}/approvals`);
  return questions[0];
}

function decide(server: TestServer, { id, argumentsDigest }: Shown, decision: string, session = "a") {
  return server.ask(`/v1/sessions/${session}/approvals/${id}`, { body: { decision, argumentsDigest } });
}

async function statusAndCode(response: Response): Promise<unknown[]> {
  const document = await response.json();
  return [response.status, document.code ?? document.outcome];
}

Deno.test("a question stays open while nobody is connected, is seen by every client, and is answered from another one", async () => {
  const { tool, keys } = payTool();
  await using server = await startServer({ model: scriptedModel([payStep(), [{ text: "Paid." }]]), tools: [tool] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const question = await asked(server);
  await eventually(() => server.serving.counts().tails === 0);
  await using one = await EventStream.open(server, "a");
  await using two = await EventStream.open(server, "a");
  for (const stream of [one, two]) {
    const event = await stream.event("approval/asked");
    assertEquals(event.data.id, question.id);
  }
  assertEquals(keys.length, 0);
  assertEquals(await statusAndCode(await decide(server, question, "allowed-once")), [200, "allowed-once"]);
  for (const stream of [one, two]) await stream.event("turn/end");
  assertEquals(keys.length, 1);
  assertEquals((await server.json("/v1/sessions/a/approvals")).questions, []);
});

Deno.test("field/C02: the same decision again is answered with the first, another one is refused", async () => {
  const { tool, keys } = payTool();
  // The request behind the payment fails, and the client asks again.
  const failing = [{ error: { message: "no", code: "SERVER" } }] as const;
  const model = scriptedModel([payStep(), failing, [{ text: "Paid." }]]);
  await using server = await startServer({ model, tools: [tool] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const question = await asked(server);
  await using stream = await EventStream.open(server, "a");
  const raced = await Promise.all([1, 2, 3].map(async () => {
    return await (await decide(server, question, "allowed-once")).json();
  }));
  assertEquals(raced.map(({ outcome }) => outcome), ["allowed-once", "allowed-once", "allowed-once"]);
  assertEquals(raced.filter(({ already }) => !already).length, 1);
  const end = await stream.event("turn/end");
  assertEquals(end.data.reason.kind, "error");

  const again = await (await decide(server, question, "allowed-once")).json();
  assertEquals([again.outcome, again.already], ["allowed-once", true]);
  const other = await decide(server, question, "rejected");
  const problem = await other.json();
  assertEquals([other.status, problem.code, problem.outcome], [409, "ALREADY_DECIDED", "allowed-once"]);
  assertEquals(keys.length, 1);
  // The turn goes on from the recorded result.
  await server.json("/v1/sessions/a/inputs", { body: { text: "go on" }, status: 202 });
  await stream.event("turn/end", ({ data }) => data.reason.kind === "completed");
  assertEquals(keys.length, 1);
});

Deno.test("an answer about other arguments, or about none, is refused, and the question stays open", async () => {
  const { tool, keys } = payTool();
  await using server = await startServer({ model: scriptedModel([payStep(), [{ text: "Paid." }]]), tools: [tool] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const question = await asked(server);
  const changed = { ...question, argumentsDigest: "0".repeat(64) };
  assertEquals(await statusAndCode(await decide(server, changed, "allowed-once")), [422, "ARGUMENTS_CHANGED"]);
  const path = `/v1/sessions/a/approvals/${question.id}`;
  assertEquals(
    (await server.json(path, { body: { decision: "allowed-once" }, status: 422 })).code,
    "ARGUMENTS_CHANGED",
  );
  assertEquals((await server.json("/v1/sessions/a/approvals")).questions.length, 1);
  assertEquals(keys.length, 0);
  await using stream = await EventStream.open(server, "a");
  assertEquals(await statusAndCode(await decide(server, question, "rejected")), [200, "rejected"]);
  await stream.event("turn/end");
  assertEquals(keys.length, 0);
  assertEquals(await statusAndCode(await decide(server, changed, "rejected")), [422, "ARGUMENTS_CHANGED"]);
});

Deno.test("a cancelled turn closes its question, and an answer comes too late", async () => {
  const { tool, keys } = payTool();
  await using server = await startServer({ model: scriptedModel([payStep()]), tools: [tool] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const question = await asked(server);
  await using stream = await EventStream.open(server, "a");
  await server.json("/v1/sessions/a/cancel", { body: {}, status: 202 });
  await stream.event("turn/end");
  const late = await decide(server, question, "allowed-once");
  assertEquals((await late.json()).outcome, "cancelled");
  assertEquals(late.status, 409);
  assertEquals(keys.length, 0);
});

/** A root as a kill leaves it, with a question open, and the server that goes on with it. */
async function killedAtQuestion(
  parts: () => AgentParts,
  then: (server: TestServer, question: Shown) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    let question: Shown;
    {
      await using server = await startServer(parts(), { root });
      await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
      question = await asked(server);
      await Deno.mkdir(`${root}/after`);
      const copied = await new Deno.Command("cp", { args: ["-r", `${root}/tokens`, `${root}/after`] }).output();
      assert(copied.success);
    }
    await using server = await startServer(parts(), { root: `${root}/after` });
    await then(server, question);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("field/C01, exec/A21: after a kill an answer to the old question is refused as cancelled, and the call is asked about again", async () => {
  const { tool, keys } = payTool();
  const parts = () => ({ model: scriptedModel([payStep(), [{ text: "Paid." }]]), tools: [tool] });
  await killedAtQuestion(parts, async (server, old) => {
    const late = await decide(server, old, "allowed-once");
    const problem = await late.json();
    assertEquals([late.status, problem.code, problem.outcome], [409, "ALREADY_DECIDED", "cancelled"]);
    const fresh = await asked(server, "a", "go on");
    assert(fresh.id !== old.id);
    assertEquals(fresh.argumentsDigest, old.argumentsDigest);
    await using stream = await EventStream.open(server, "a");
    await decide(server, fresh, "allowed-once").then((response) => response.body?.cancel());
    await stream.event("turn/end", ({ data }) => data.reason.kind === "completed");
    assertEquals(keys.length, 1);
  });
});

Deno.test("field/C04, exec/A22: whether the tool asks, a policy or an escalation, after a restart it is asked again and runs once", async () => {
  const escalating = (args: unknown): Permission =>
    (args as { to?: string }).to === "alice"
      ? { decision: "ask", reason: "workspace-write: to install packages" }
      : { decision: "allow" };
  const gate = () => {
    const hooks = new Hooks<AgentHooks>();
    hooks.on("tools/pre-execute", () => ({ kind: "ask", reason: "policy" }));
    return hooks;
  };
  const ways: {
    readonly effect: "opaque" | "none";
    permission?: Tool["permissionFor"];
    hooks?: typeof gate;
    reason: string | null;
  }[] = [
    { effect: "opaque", reason: null },
    { effect: "none", hooks: gate, reason: "policy" },
    { effect: "opaque", permission: escalating, reason: "workspace-write: to install packages" },
  ];
  for (const { effect, permission, hooks, reason } of ways) {
    let runs = 0;
    const tool = defineTool({
      ...{ name: "pay", description: "Pays.", parameters: { type: "object" }, effect },
      ...(permission === undefined ? {} : { permission: (args: unknown, found) => permission(args as never, found) }),
      execute: () => `done, the ${++runs}. time`,
    });
    const parts = () => ({
      model: scriptedModel([payStep(), [{ text: "Paid." }]]),
      tools: [tool],
      ...(hooks === undefined ? {} : { hooks: hooks() }),
    });
    await killedAtQuestion(parts, async (server, old) => {
      assertEquals(old.reason, reason);
      const fresh = await asked(server, "a", "go on");
      assertEquals(runs, 0);
      await using stream = await EventStream.open(server, "a");
      await decide(server, fresh, "allowed-once").then((response) => response.body?.cancel());
      await stream.event("turn/end", ({ data }) => data.reason.kind === "completed");
      assertEquals(runs, 1);
    });
  }
});

Deno.test("field/B10: of three calls each runs once, after its own answer; what was not answered before a restart is asked again", async () => {
  const { tool, keys } = payTool();
  const three = [1, 2, 3].map((n) => ({ call: { id: `c${n}`, name: "pay", arguments: { to: `p${n}` } } }));
  const parts = () => ({ model: scriptedModel([three, [{ text: "Paid." }]]), tools: [tool] });
  await killedAtQuestion(parts, async (server) => {
    assertEquals(keys.length, 0);
    let question = await asked(server, "a", "go on");
    await using stream = await EventStream.open(server, "a");
    for (let answered = 1; answered <= 3; answered++) {
      await decide(server, question, "allowed-once").then((response) => response.body?.cancel());
      await stream.event("tool/result", ({ data }) => data.error === undefined);
      assertEquals(keys.length, answered);
      if (answered === 3) break;
      await stream.event("approval/bound");
      [question] = (await server.json("/v1/sessions/a/approvals")).questions;
    }
    await stream.event("turn/end");
  });
});

/** A server over a medium that can be made to refuse. */
async function refusingServer() {
  const store = openMemoryStore({ simulate: "disk" });
  const { tool, keys } = payTool();
  const model = scriptedModel([payStep(), [{ text: "Paid." }], [{ text: "Again." }]]);
  const medium: { refusal: Error | null } = { refusal: null };
  const create = store.create.bind(store);
  store.create = async (header) => {
    const log = await create(header);
    const append = log.append.bind(log);
    log.append = (events, options) =>
      medium.refusal === null ? append(events, options) : Promise.reject(medium.refusal);
    return log;
  };
  const server = createServerApp({
    clock: store.runtime.clock,
    tokens: [await knownToken(TOKEN)],
    tenantFor: () => ({
      store,
      agentWith: (approver) => createAgent({ store, model, tools: [tool], approvers: [approver] }),
      withLog: () => Promise.reject(new Error("nothing is imported here")),
    }),
    isHost: (host) => host === "localhost",
  });
  const ask = (path: string, body?: unknown) =>
    server.fetch(
      new Request(`http://localhost${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { host: "localhost", authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  assertEquals((await ask("/v1/sessions", { id: "a" })).status, 201);
  await ask("/v1/sessions/a/inputs", { text: "pay" });
  let question: Shown | undefined;
  await eventually(async () => {
    [question] = (await (await ask("/v1/sessions/a/approvals")).json()).questions;
    return question !== undefined;
  });
  const answer = (decision: string) =>
    ask(`/v1/sessions/a/approvals/${question!.id}`, { decision, argumentsDigest: question!.argumentsDigest });
  return { server, keys, medium, ask, answer };
}

Deno.test("field/C01: on a full disk an answer is not acknowledged, nothing runs, and the client is told why", async () => {
  const { server, keys, medium, answer } = await refusingServer();
  medium.refusal = new StorageFullError("Cannot append: the disk is full");
  assertEquals(await statusAndCode(await answer("allowed-once")), [507, "STORAGE_FULL"]);
  medium.refusal = null;
  assertEquals(await server.shutdown(1000), true);
  assertEquals(keys.length, 0);
});

Deno.test("field/C01: an answer that the medium lost is not remembered as given when its session was opened anew", async () => {
  const { server, keys, medium, ask, answer } = await refusingServer();
  medium.refusal = new SyncFailedError("Cannot sync: the disk refused");
  assertEquals(await statusAndCode(await answer("allowed-once")), [503, "SYNC_FAILED"]);
  await eventually(async () => (await (await ask("/v1/sessions/a")).json()).status !== "running");
  medium.refusal = null;
  // Whoever writes next opens it anew, and what was open is closed.
  assertEquals((await ask("/v1/sessions/a/inputs", { text: "go on" })).status, 202);
  assertEquals(await statusAndCode(await answer("allowed-once")), [409, "ALREADY_DECIDED"]);
  assertEquals(await statusAndCode(await answer("rejected")), [409, "ALREADY_DECIDED"]);
  await server.shutdown(1000);
  assertEquals(keys.length, 0);
});

Deno.test("Questions: of two answers at the same time the first counts, and both hear what is in the log", async () => {
  const questions = new Questions({ clock: new FakeClock(), deadlineMs: null });
  const asked = questions.approver({ id: "q", sessionId: "s", toolName: "pay" }, new AbortController().signal);
  const yes = questions.decide("s", "q", "allowed-once", null);
  const no = questions.decide("s", "q", "rejected", null);
  assertEquals(await asked, "allowed-once");
  const data = { id: "q", outcome: "allowed-once" };
  questions.hear("s", { kind: "event", event: { type: "approval/decided", seq: 7, time: 0, data } });
  const decided = { outcome: "allowed-once" as const, seq: 7, argumentsDigest: null };
  assertEquals(await yes, { ...decided, already: false });
  assertEquals(await no, { ...decided, already: true });
  assertEquals(await questions.decide("s", "q", "rejected", null), { ...decided, already: true });
  assertEquals(await questions.decide("s", "other", "rejected", null), null);
});

Deno.test("Questions: one that waits too long counts as unanswered", async () => {
  const clock = new FakeClock();
  const questions = new Questions({ clock, deadlineMs: 60_000 });
  const request = { id: "q", sessionId: "s", toolName: "pay" };
  const outcome = questions.approver(request, new AbortController().signal);
  assertEquals(questions.of("s").length, 1);
  await clock.advance(60_000);
  assertEquals(await outcome, "unavailable");
  assertEquals(questions.of("s"), []);
  // Without a deadline nothing ticks.
  const patient = new Questions({ clock, deadlineMs: null });
  void patient.approver(request, new AbortController().signal);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("Idempotency-Key: a repeated input is one, also after a restart; with another body it is refused", async () => {
  const root = await Deno.makeTempDir();
  try {
    const headers = { "idempotency-key": "order 17".replace(" ", "-") };
    const body = { text: "hello" };
    let first: { messageId: string; seq: number };
    {
      await using server = await startServer({ model: scriptedModel([[{ text: "Done." }]]) }, { root });
      await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
      const both = await Promise.all([1, 2].map(() => {
        return server.json("/v1/sessions/a/inputs", { body, headers, status: 202 });
      }));
      first = both.find(({ repeated }) => !repeated);
      assertEquals(both.map(({ repeated }) => repeated).sort(), [false, true]);
      assertEquals(both[0].messageId, both[1].messageId);
      assertEquals(both[0].seq, both[1].seq);
      await using stream = await EventStream.open(server, "a");
      await stream.event("turn/end");
      const other = { text: "something else" };
      const refused = await server.json("/v1/sessions/a/inputs", { body: other, headers, status: 422 });
      assertEquals(refused.code, "IDEMPOTENCY_MISMATCH");
      const mode = { ...body, mode: "inject" };
      await server.json("/v1/sessions/a/inputs", { body: mode, headers, status: 422 });
    }
    await using server = await startServer({ model: scriptedModel([[{ text: "Again." }]]) }, { root });
    const again = await server.json("/v1/sessions/a/inputs", { body, headers, status: 202 });
    assertEquals(again, { ...first, repeated: true });
    const text = await (await server.ask("/v1/sessions/a/export")).text();
    assertEquals(text.split('"type":"user/message"').length - 1, 1);
    for (const key of ["", "a b", "x".repeat(201), "é"]) {
      const wrong = await server.ask("/v1/sessions/a/inputs", { body, headers: { "idempotency-key": key } });
      assertEquals(wrong.status, 400, key);
      await wrong.body?.cancel();
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
