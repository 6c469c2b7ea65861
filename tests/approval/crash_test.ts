/**
 * Questions that a crash leaves open, and answers that a crash makes void.
 *
 * A decision whose call has no marker dies with the process: the call is closed as not dispatched, and when the model makes it
 * again it is asked about again.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ApprovalRequest, Approver } from "../../src/approval/mod.ts";
import { StorageFullError } from "../../src/errors.ts";
import { NOT_DISPATCHED_TEXT, type SessionEvent } from "../../src/event/mod.ts";
import { bracketsFold, foldEvents } from "../../src/fold/mod.ts";
import { openSession, type Session } from "../../src/session/mod.ts";
import type { Permission, Tool } from "../../src/tool/mod.ts";
import { commitCall, dispatchCall, type PipelineContext, prepareCall } from "../../src/tool/pipeline.ts";
import { settle } from "../support/fake_clock.ts";
import type { FakeStore } from "../support/fake_store.ts";
import {
  checkPromises,
  contextOf,
  dataOf,
  newHooks,
  openStep,
  propose,
  run,
  textOf,
  tool,
} from "../tool/tool_support.ts";

const ASK = { permission: (): Permission => ({ decision: "ask", reason: "why" }) };

/** An approver that is shown a question and never answers, and who resolves when it is. */
function silent(): { approver: Approver; shown: Promise<ApprovalRequest> } {
  const shown = Promise.withResolvers<ApprovalRequest>();
  const approver: Approver = (request) => (shown.resolve(request), new Promise(() => {}));
  return { approver, shown: shown.promise };
}

async function reopened(store: FakeStore) {
  const after = store.crash();
  const { session, resumed } = await openSession({ store: after, id: "s1" });
  return { store: after, session, resumed };
}

/** Turn 2, in which the model makes a call again. */
async function callAgain(session: Session, tools: readonly Tool[], context: Partial<PipelineContext>) {
  const id = `again-${session.nextSeq}`;
  if (session.folds.brackets.turn === null) {
    session.append({ type: "turn/start", data: { turn: 2 } });
    session.append({ type: "step/start", data: { turn: 2, step: 1 } });
  }
  const message = {
    role: "assistant",
    content: [{ type: "tool-call", id, name: "act", arguments: "{}" }],
    source: { kind: "model", provider: "p", model: "m" },
    id: `a${session.nextSeq}`,
  };
  session.append({ type: "assistant/message", data: { turn: 2, step: 1, message, stream: [] }, surfaceOp: "append" });
  const parts = contextOf(session, tools, context);
  const proposed = { turn: 2, step: 1, callId: id, name: "act", arguments: "{}" };
  return await commitCall(await dispatchCall(await prepareCall(proposed, parts), parts), parts);
}

Deno.test("exec/A21, exec/C22: a question that a crash leaves open is closed as cancelled, and its call was not dispatched", async () => {
  const { store, session } = await openStep();
  const { approver, shown } = silent();
  let runs = 0;
  const act = tool({ ...ASK, execute: () => (runs++, "done") });
  void run(session, [act], { id: "c1" }, { approvers: [approver] });
  const { id } = await shown;
  const after = await reopened(store);
  assertEquals(after.resumed.calls.map(({ callId, class: found }) => [callId, found]), [["c1", "not_dispatched"]]);
  assertEquals(await dataOf(after.session, "approval/decided"), [{ id, outcome: "cancelled" }]);
  const [result] = await dataOf(after.session, "tool/result");
  assertEquals(result?.error?.code, "TOOL_NOT_STARTED");
  assertStringIncludes(JSON.stringify(result), NOT_DISPATCHED_TEXT);
  // Closed for good: opening once more finds nothing.
  assertEquals((await reopened(after.store)).resumed.calls, []);
  assertEquals(runs, 0);
  await checkPromises(after.session);
});

Deno.test("exec/A22, field/C04: whoever asks, the tool, a policy or an escalation, the question comes before the marker", async () => {
  const escalating = (args: unknown): Permission =>
    (args as { wider?: boolean }).wider === true
      ? { decision: "ask", reason: "workspace-write: to install packages" }
      : { decision: "allow" };
  const gate = newHooks();
  gate.on("tools/pre-execute", () => ({ kind: "ask", reason: "policy" }));
  const ways = [
    { definition: ASK, hooks: newHooks(), args: "{}" },
    { definition: {}, hooks: gate, args: "{}" },
    { definition: { permission: escalating }, hooks: newHooks(), args: '{"wider":true}' },
  ];
  for (const { definition, hooks, args } of ways) {
    let runs = 0;
    const act = tool({ ...definition, execute: () => (runs++, "done") });
    const { store, session } = await openStep();
    const { approver, shown } = silent();
    void run(session, [act], { id: "c1", arguments: args }, { hooks, approvers: [approver] });
    await shown;
    const after = await reopened(store);
    assertEquals(after.resumed.calls.map(({ class: found }) => found), ["not_dispatched"]);

    // The turn goes on: the call is asked about once more, and runs once.
    const reasons: unknown[] = [];
    const yes: Approver = ({ reason }) => (reasons.push(reason), "allowed-once");
    const again = tool({
      ...definition,
      permission: definition.permission ? () => ASK.permission() : undefined,
      execute: () => (runs++, "done"),
    });
    const end = await callAgain(after.session, [again], { hooks, approvers: [yes] });
    assertEquals([textOf(end.outcome), reasons.length, runs], ["done", 1, 1]);
  }
});

Deno.test("field/B10: of three calls that need approval each runs once, after its own answer, also across a restart", async () => {
  const { store, session } = await openStep();
  const bodies: string[] = [];
  const act = tool({ ...ASK, execute: (args) => (bodies.push(String(args)), "done") });
  const ids = ["c1", "c2", "c3"];
  propose(session, ids.map((id, n) => ({ id, name: "act", arguments: `${n + 1}` })));
  // Only the second is answered; the others wait when the process dies.
  const { approver: never, shown } = silent();
  const approver: Approver = (request, signal) => request.callId === "c2" ? "allowed-once" : never(request, signal);
  const context = contextOf(session, [act], { approvers: [approver] });
  const proposed = (callId: string, n: number) => ({ turn: 1, step: 1, callId, name: "act", arguments: `${n}` });
  void prepareCall(proposed("c1", 1), context);
  await shown;
  const second = await prepareCall(proposed("c2", 2), context);
  assertEquals([bodies, second.plan !== null], [[], true]);

  const after = await reopened(store);
  assertEquals(after.resumed.calls.map(({ callId, class: found }) => [callId, found]), [
    ["c1", "not_dispatched"],
    ["c2", "not_dispatched"],
    ["c3", "not_started"],
  ]);
  // The answer to c2 died with the process: its call is asked about again.
  const asked: string[] = [];
  const yes: Approver = ({ callId }) => (asked.push(callId!), "allowed-once");
  for (const n of [1, 2, 3]) {
    const again = tool({ ...ASK, execute: () => (bodies.push(`again ${n}`), "done") });
    await callAgain(after.session, [again], { approvers: [yes] });
  }
  assertEquals([asked.length, bodies], [3, ["again 1", "again 2", "again 3"]]);
});

Deno.test("field/C01: an answer counts only when it is durable; on a full disk nothing runs, and it is asked again", async () => {
  const { store, session } = await openStep();
  let runs = 0;
  const act = tool({ ...ASK, execute: () => (runs++, "done") });
  const onFullDisk: Approver = () => (store.failure = new StorageFullError("no room"), "allowed-once");
  const end = await run(session, [act], { id: "c1" }, { approvers: [onFullDisk] });
  assertEquals([runs, (end.refusal as { code?: string }).code], [0, "CHECKPOINT_FAILED"]);
  assertStringIncludes(textOf(end.outcome), "STORAGE_FULL");

  const after = await reopened(store);
  assertEquals(after.resumed.calls.map(({ class: found }) => found), ["not_dispatched"]);
  let asked = 0;
  const again = await callAgain(after.session, [act], { approvers: [() => (asked++, "allowed-once")] });
  assertEquals([textOf(again.outcome), asked, runs], ["done", 1, 1]);
});

Deno.test("field/C01: killed between a durable answer and the marker, the call has not run and can run once", async () => {
  const { store, session } = await openStep();
  let runs = 0;
  const act = tool({ ...ASK, execute: () => (runs++, "done") });
  const stopHere = Promise.withResolvers<void>();
  // The guard is looked at directly after the answer is durable. From then on the disk takes nothing.
  const holding = () => {
    store.hold();
    stopHere.resolve();
    return undefined;
  };
  void run(session, [act], { id: "c1" }, { approvers: [() => "allowed-once"], guards: [holding] });
  await stopHere.promise;
  await settle();
  assertEquals(store.events("s1").at(-1)?.type, "approval/decided");
  const after = await reopened(store);
  assertEquals(after.resumed.calls.map(({ class: found }) => found), ["not_dispatched"]);
  const end = await callAgain(after.session, [act], { approvers: [() => "allowed-once"] });
  assertEquals([textOf(end.outcome), runs], ["done", 1]);
});

Deno.test("exec/A19: an answer without a question, and an audit event outside a turn, make a log invalid", () => {
  const event = (
    seq: number,
    type: string,
    data: unknown,
  ): SessionEvent => ({ seq, time: 1, type, data } as SessionEvent);
  const problems = (events: SessionEvent[]) =>
    foldEvents(bracketsFold, events).problems.first.map(({ message }) => message);
  const asked = { id: "q1", toolName: "pay" };
  const decided = { id: "q1", outcome: "rejected" };
  const turn = event(0, "turn/start", { turn: 1 });
  assertEquals(problems([turn, event(1, "approval/asked", asked), event(2, "approval/decided", decided)]), []);
  assertEquals(problems([turn, event(1, "approval/decided", decided)]), ['no question "q1" is open']);
  assertEquals(problems([event(0, "approval/asked", asked)]), ["no turn is open"]);
  assertEquals(problems([event(0, "approval/decided", decided)]), ["no turn is open"]);
});
