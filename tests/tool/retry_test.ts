import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type EffectClass, isEvent } from "../../src/event/mod.ts";
import { outcomeUnknown, type Permission, type ToolCall } from "../../src/tool/mod.ts";
import { eventsOf, openStep, run, tool } from "./tool_support.ts";

/** A tool whose first body does not know what became of its effect. */
function forgetful(effect: EffectClass, permission: Permission = { decision: "allow" }) {
  const calls: ToolCall[] = [];
  const act = tool({
    effect,
    permission: () => permission,
    execute: (_, call) => {
      calls.push(call);
      if (calls.length === 1) throw outcomeUnknown("no answer");
      return "done";
    },
  });
  return { act, calls };
}

Deno.test("a call with equal arguments inherits the key of the one whose outcome is unknown", async () => {
  for (const effect of ["idempotent", "keyed"] as const) {
    const { session } = await openStep();
    const { act, calls } = forgetful(effect);
    await run(session, [act], { id: "c1", name: "act", arguments: '{"a":1,"b":2}' });
    await run(session, [act], { id: "c2", name: "act", arguments: '{ "b": 2, "a": 1.0 }' });
    assertEquals(calls[1]!.effectKey, calls[0]!.effectKey);
    assertEquals(calls[1]!.retryOf, calls[0]!.callSeq);
    const markers = (await eventsOf(session)).flatMap((event) =>
      isEvent(event, "effect/dispatched") ? [event.data] : []
    );
    assertEquals(markers.map((marker) => marker.retryOf), [undefined, calls[0]!.callSeq]);
    // The repetition settled it: the next equal call is a new effect.
    assertEquals(session.folds.unresolved.effects, []);
    await run(session, [act], { id: "c3", name: "act", arguments: '{"a":1,"b":2}' });
    assert(calls[2]!.effectKey !== calls[0]!.effectKey);
    assertEquals(calls[2]!.retryOf, undefined);
  }
});

Deno.test("other arguments, another tool or no effect are no repetition", async () => {
  const { session } = await openStep();
  const { act, calls } = forgetful("keyed");
  await run(session, [act], { id: "c1", name: "act", arguments: '{"a":1}' });
  await run(session, [act], { id: "c2", name: "act", arguments: '{"a":2}' });
  const keys: string[] = [];
  const other = tool({ name: "other", effect: "keyed", execute: (_, call) => (keys.push(call.effectKey), "x") });
  await run(session, [other], { id: "c3", name: "other", arguments: '{"a":1}' });
  assertEquals(new Set([calls[0]!.effectKey, calls[1]!.effectKey, keys[0]]).size, 3);
});

Deno.test("exec/R19: an opaque repetition asks first, although the tool would not, and says why", async () => {
  const { session } = await openStep();
  const { act, calls } = forgetful("opaque");
  await run(session, [act], { id: "c1", name: "act" });
  const refused = await run(session, [act], { id: "c2", name: "act" });
  assertStringIncludes(JSON.stringify(refused.outcome.content), "nobody could be asked");
  const reasons: unknown[] = [];
  const approvers = [(request: { reason?: string }) => (reasons.push(request.reason), "allowed-once" as const)];
  await run(session, [act], { id: "c3", name: "act" }, { approvers });
  assertEquals(reasons, [`an equal earlier call (seq ${calls[0]!.callSeq}) may already have taken effect`]);
  assertEquals(calls.length, 2);
  assertEquals(calls[1]!.effectKey, calls[0]!.effectKey);
});

Deno.test("a grant of a person lets one repetition run without a question", async () => {
  const { session } = await openStep();
  const { act, calls } = forgetful("opaque", { decision: "ask", reason: "pay" });
  const yes = [() => "allowed-once" as const];
  await run(session, [act], { id: "c1", name: "act" }, { approvers: yes });
  const { turn, step, callId, callSeq, effectKey } = calls[0]!;
  session.append({
    type: "effect/reconciled",
    data: { turn, step, callId, callSeq, effectKey, verdict: "retry", by: "person" },
    ignorable: true,
  });
  const asked: string[] = [];
  const no = [() => (asked.push("asked"), "rejected" as const)];
  await run(session, [act], { id: "c2", name: "act" }, { approvers: no });
  assertEquals([calls.length, asked], [2, []]);
});

Deno.test("an opaque effect that is unknown twice asks again, because a grant counts once", async () => {
  const { session } = await openStep();
  const calls: ToolCall[] = [];
  const act = tool({
    execute: (_, call) => {
      calls.push(call);
      throw outcomeUnknown("no answer");
    },
  });
  await run(session, [act], { id: "c1", name: "act" });
  const { turn, step, callId, callSeq, effectKey } = calls[0]!;
  session.append({
    type: "effect/reconciled",
    data: { turn, step, callId, callSeq, effectKey, verdict: "retry", by: "person" },
    ignorable: true,
  });
  await run(session, [act], { id: "c2", name: "act" });
  await run(session, [act], { id: "c3", name: "act" });
  assertEquals(calls.length, 2);
  assertEquals(calls[1]!.retryOf, callSeq);
});
