/**
 * Whole turns on OPFS, in a browser worker: barrier, approval, sudden death and repair.
 *
 * The agent that dies runs in a worker of its own, from this same module.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { type AgentSession, createAgent, scripted } from "../../../src/agent/mod.ts";
import type { Approver } from "../../../src/approval/mod.ts";
import { openOpfsStore } from "../../../src/entry/opfs.ts";
import { isEvent, type SessionEvent } from "../../../src/event/mod.ts";
import type { SessionStore } from "../../../src/store/session_store.ts";
import { defineTool } from "../../../src/tool/mod.ts";
import { type BrowserCase, reportCases } from "../../support/browser/cases.ts";
import { childWorker, isChild, type Scope, workerScope } from "../../support/browser/child_worker.ts";

const ID = "s1";
const PAY = { call: { id: "c1", name: "pay", arguments: { to: "alice", amount: 10 } } };
const SCRIPT = [[PAY], [{ text: "Paid." }]];

/** Where the agent stops and says so, to be killed there. */
type Place = "question" | "body";

interface Parts {
  readonly approver?: Approver;
  readonly body?: (effectKey: string) => string | Promise<string>;
  readonly script?: Parameters<typeof scripted>[0];
}

function agentOn(store: SessionStore, { approver, body = () => "paid", script = SCRIPT }: Parts) {
  const pay = defineTool({
    name: "pay",
    description: "Pays somebody",
    parameters: { type: "object" },
    effect: "opaque",
    execute: (_, call) => body(call.effectKey),
  });
  const approvers = approver === undefined ? [] : [approver];
  return createAgent({ store, model: scripted(script), tools: [pay], approvers });
}

/** What another store of this origin reads: nothing that is only in the writer's memory. */
async function stored(root: string): Promise<SessionEvent[]> {
  await using store = await openOpfsStore({ root });
  const events: SessionEvent[] = [];
  await using log = await store.open(ID, "read", { visit: (event) => events.push(event) });
  assertEquals(log.state().fault, null);
  return events;
}

const typesOf = (events: readonly SessionEvent[]) => events.map(({ type }) => type);

/** Runs the agent in a worker until it says that it is at the place, and ends that worker at once. */
async function dieAt(root: string, place: Place): Promise<void> {
  const child = childWorker("agent");
  try {
    child.post({ root, place });
    assertEquals(await child.next(), place);
  } finally {
    child.terminate();
  }
}

/** The other side of {@linkcode dieAt}. */
function serveAgent(scope: Scope): void {
  scope.onmessage = async ({ data }) => {
    const { root, place } = data as { root: string; place: Place };
    const stop = (at: Place): Promise<never> => {
      scope.postMessage(at);
      return new Promise(() => {});
    };
    const agent = agentOn(await openOpfsStore({ root }), {
      approver: () => place === "question" ? stop("question") : "allowed-once",
      body: () => place === "body" ? stop("body") : "paid",
    });
    await (await agent.create({ id: ID })).send("pay alice");
    scope.postMessage("it went on to its end");
  };
}

/** Opens a session as a new worker does. The lock of a killed one may take a moment to be free. */
function resume(store: SessionStore, parts: Parts): Promise<AgentSession> {
  return agentOn(store, parts).resume(ID, { waitMs: 3000 });
}

const cases: BrowserCase[] = [
  {
    name: "OPFS: question, answer and marker are on the disk before the body runs, and the whole turn after it",
    async run() {
      const root = "turn-approved";
      await using store = await openOpfsStore({ root });
      assertEquals(store.traits.sync, "device");
      const seen: string[][] = [];
      const keys: string[] = [];
      const approver: Approver = async () => {
        seen.push(typesOf(await stored(root)));
        return "allowed-once" as const;
      };
      const agent = agentOn(store, {
        approver,
        body: async (key) => {
          const events = await stored(root);
          seen.push(typesOf(events));
          const marker = events.find((event) => isEvent(event, "effect/dispatched"));
          keys.push(key, (marker!.data as { effectKey: string }).effectKey);
          return "paid";
        },
      });
      await using session = await agent.create({ id: ID });
      assertEquals((await session.send("pay alice")).reason, { kind: "completed" });
      const [atQuestion, atBody] = seen;
      assert(atQuestion!.includes("tool/call") && atQuestion!.includes("approval/asked"), String(atQuestion));
      assert(!atQuestion!.includes("approval/decided") && !atQuestion!.includes("effect/dispatched"));
      assert(atBody!.includes("approval/decided") && atBody!.includes("effect/dispatched"), String(atBody));
      assertEquals(keys[0], keys[1]);
      await session.session.flush();
      const events = await stored(root);
      assertEquals(events.map(({ seq }) => seq), events.map((_, index) => index));
      assertEquals(typesOf(events).filter((type) => type === "tool/result"), ["tool/result"]);
      assert(typesOf(events).includes("checkpoint/policy") && typesOf(events).includes("turn/end"));
    },
  },
  {
    name: "OPFS: a rejected call does not run, and its answer is on the disk",
    async run() {
      const root = "turn-rejected";
      await using store = await openOpfsStore({ root });
      let bodies = 0;
      const agent = agentOn(store, { approver: () => "rejected", body: () => `${++bodies}` });
      {
        await using session = await agent.create({ id: ID });
        await session.send("pay alice");
      }
      assertEquals(bodies, 0);
      const events = await stored(root);
      const decided = events.find((event) => isEvent(event, "approval/decided"));
      assertEquals((decided!.data as { outcome: string }).outcome, "rejected");
      assert(!typesOf(events).includes("effect/dispatched"));
    },
  },
  {
    name: "OPFS: a worker killed during the question: the call is not dispatched, and repair says so once",
    async run() {
      const root = "turn-killed-question";
      await dieAt(root, "question");
      const before = await stored(root);
      await using store = await openOpfsStore({ root });
      let repaired: SessionEvent[];
      {
        await using session = await resume(store, {});
        assertEquals(session.resumed!.calls.map((call) => [call.callId, call.class]), [["c1", "not_dispatched"]]);
        await session.session.flush();
        repaired = await stored(root);
      }
      assertEquals(repaired.slice(0, before.length), before);
      const added = repaired.slice(before.length);
      const decided = added.find((event) => isEvent(event, "approval/decided"));
      assertEquals((decided!.data as { outcome: string }).outcome, "cancelled");
      assert(added.some((event) => event.type === "tool/result") && added.some((event) => event.type === "turn/end"));
      {
        await using session = await resume(store, {});
        assertEquals(session.resumed!.calls, []);
        assertEquals(session.resumed!.closers, []);
      }
    },
  },
  {
    name: "OPFS: a worker killed in the body: the outcome is unknown, nothing runs again, and the session goes on",
    async run() {
      const root = "turn-killed-body";
      await dieAt(root, "body");
      const before = await stored(root);
      assert(typesOf(before).includes("effect/dispatched"), String(typesOf(before)));
      await using store = await openOpfsStore({ root });
      let bodies = 0;
      await using session = await resume(store, { body: () => `${++bodies}`, script: [[{ text: "I see." }]] });
      assertEquals(session.resumed!.calls.map((call) => [call.callId, call.class]), [["c1", "outcome_unknown"]]);
      assertEquals(session.resumed!.unresolved.length, 1);
      assertEquals((await session.send("what happened?")).reason, { kind: "completed" });
      assertEquals(bodies, 0);
      await session.session.flush();
      const events = await stored(root);
      assertEquals(events.slice(0, before.length), before);
      assertEquals(typesOf(events).filter((type) => type === "tool/result").length, 1);
    },
  },
];

if (isChild("agent")) serveAgent(workerScope);
else await reportCases(cases);
