import { assertEquals, assertThrows } from "@std/assert";
import {
  effectivePolicy,
  type Policy,
  policyText,
  requestApproval,
  setApprovalPolicy,
} from "../../src/approval/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { createSession, type Session } from "../../src/session/mod.ts";
import { FakeStore } from "../support/fake_store.ts";

async function open(): Promise<Session> {
  return await createSession({ store: new FakeStore(), id: "s1" });
}

async function policies(session: Session): Promise<unknown[]> {
  return (await session.history()).events.flatMap((event) => isEvent(event, "approval/policy") ? [event.data] : []);
}

Deno.test("exec/A12: setting a policy logs it once and leaves one notice for the next step; setting it again does nothing", async () => {
  const session = await open();
  assertEquals(setApprovalPolicy(session, "never"), true);
  assertEquals(setApprovalPolicy(session, "never"), false);
  assertEquals(await policies(session), [{ policy: "never" }]);
  const { nextStep, nextTurn } = session.folds.inbox;
  assertEquals(nextStep.map(({ role, source, content }) => [role, source.kind, source.plugin, content]), [
    ["user", "plugin", "user-approval", [{ type: "text", text: policyText("never") }]],
  ]);
  // Nothing that wakes a loop.
  assertEquals(nextTurn, []);
});

Deno.test("what applies already is no change, also when only the deployment says so", async () => {
  const session = await open();
  assertEquals(setApprovalPolicy(session, "ask"), false);
  assertEquals(setApprovalPolicy(session, "never", { fallback: "never" }), false);
  assertEquals(session.nextSeq, 0);
  assertEquals(setApprovalPolicy(session, "ask", { fallback: "never", source: "delegation" }), true);
  assertEquals(setApprovalPolicy(session, "never"), true);
  assertEquals(setApprovalPolicy(session, "ask"), true);
  assertEquals((await policies(session))[0], { policy: "ask", source: "delegation" });
  assertEquals(session.folds.inbox.nextStep.length, 3);
  assertEquals([effectivePolicy(session, "never"), effectivePolicy(await open(), "never")], ["ask", "never"]);
});

Deno.test("exec/A13: any other policy throws before the log changes", async () => {
  const session = await open();
  for (const policy of ["always", "", null, undefined, 1, {}]) {
    assertThrows(() => setApprovalPolicy(session, policy as Policy), TypeError, "approval policy");
  }
  assertEquals(session.nextSeq, 0);
});

Deno.test("a policy holds from the next question on, without a loop", async () => {
  const session = await open();
  session.append({ type: "turn/start", data: { turn: 1 } });
  const asked: string[] = [];
  const approvers = [() => (asked.push("asked"), "allowed-once" as const)];
  const ask = () =>
    requestApproval(session, { toolName: "pay" }, { approvers, policy: "ask", signal: new AbortController().signal });
  setApprovalPolicy(session, "never");
  assertEquals(await ask(), "rejected");
  setApprovalPolicy(session, "ask");
  assertEquals(await ask(), "allowed-once");
  assertEquals(asked, ["asked"]);
});
