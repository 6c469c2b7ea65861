import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { requestApproval } from "../../src/approval/mod.ts";
import { argumentsDigest, type EffectClass, isEvent } from "../../src/event/mod.ts";
import { outcomeUnknown, type Permission, type ToolCall } from "../../src/tool/mod.ts";
import { commitCall, dispatchCall, prepareCall } from "../../src/tool/pipeline.ts";
import { type Quarantined, quarantineReason } from "../../src/tool/quarantine.ts";
import type { FakeClock } from "../support/fake_clock.ts";
import {
  checkPromises,
  contextOf,
  eventsOf,
  newHooks,
  openStep,
  propose,
  reached,
  run,
  textOf,
  tool,
} from "./tool_support.ts";

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

Deno.test("exec/R19: the quarantine lasts until the outcome is resolved, and is over then", async () => {
  const verdicts = [
    ["happened", "person"],
    ["absent", "person"],
    ["happened", "lookup"],
    ["absent", "lookup"],
  ] as const;
  for (const [verdict, by] of verdicts) {
    const { session } = await openStep();
    const { act, calls } = forgetful("opaque");
    await run(session, [act], { id: "c1", name: "act" });
    const { turn, step, callId, callSeq, effectKey } = calls[0]!;
    const settle = (verdict: "happened" | "absent" | "undecidable") =>
      session.append({
        type: "effect/reconciled",
        data: { turn, step, callId, callSeq, effectKey, verdict, by },
        ignorable: true,
      });
    settle("undecidable");
    for (const id of ["c2", "c3"]) {
      const { outcome } = await run(session, [act], { id, name: "act" });
      assertStringIncludes(textOf(outcome), "may already have taken effect");
    }
    assertEquals(calls.length, 1, "asked again and again, and nobody answers");
    settle(verdict);
    await run(session, [act], { id: "c4", name: "act" });
    assertEquals([calls.length, calls[1]?.retryOf], [2, undefined], `${verdict} by ${by}`);
    assert(calls[1]!.effectKey !== effectKey, "it repeats nothing");
  }
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

Deno.test("exec/R19: no listener can allow an opaque repetition by itself", async () => {
  const { session } = await openStep();
  const { act, calls } = forgetful("opaque");
  const hooks = newHooks();
  hooks.on("tools/pre-execute", () => ({ kind: "allow" }));
  await run(session, [act], { id: "c1", name: "act" }, { hooks });
  const refused = await run(session, [act], { id: "c2", name: "act" }, { hooks });
  assertEquals([calls.length, refused.outcome.isError], [1, true]);
  const asked = await run(session, [act], { id: "c3", name: "act" }, { hooks, approvers: [() => "allowed-once"] });
  assertEquals([calls.length, asked.outcome.isError], [2, false]);
});

Deno.test("exec/R19: a repetition that nobody was asked about is denied by the guard, also when an equal call ends meanwhile", async () => {
  const { session } = await openStep();
  const gate = Promise.withResolvers<void>();
  let bodies = 0;
  const act = tool({
    permission: () => ({ decision: "ask", reason: "pay" }),
    execute: async () => {
      bodies++;
      await gate.promise;
      throw outcomeUnknown("no answer");
    },
  });
  // The first runs while a person thinks about the second: for now that is a second effect, not a repetition.
  const yes = contextOf(session, [act], { approvers: [() => "allowed-once"] });
  propose(session, [{ id: "c1", name: "act", arguments: "{}" }, { id: "c2", name: "act", arguments: "{}" }]);
  const one = await prepareCall({ turn: 1, step: 1, callId: "c1", name: "act", arguments: "{}" }, yes);
  const first = dispatchCall(one, yes);
  const shown = Promise.withResolvers<string | undefined>();
  const thinking = Promise.withResolvers<"allowed-once">();
  const slow = contextOf(session, [act], {
    approvers: [({ reason }) => (shown.resolve(reason), thinking.promise)],
  });
  const second = prepareCall({ turn: 1, step: 1, callId: "c2", name: "act", arguments: "{}" }, slow);
  assertEquals(await shown.promise, "pay");
  gate.resolve();
  await commitCall(await first, yes);
  thinking.resolve("allowed-once");
  const end = await commitCall(await dispatchCall(await second, slow), slow);
  assertStringIncludes(textOf(end.outcome), `the equal call at seq ${one.facts.call.callSeq} ended`);
  assertEquals(bodies, 1);
  // Asked again, with the reason on the table, it runs.
  const reasons: unknown[] = [];
  const again = { approvers: [({ reason }: { reason?: string }) => (reasons.push(reason), "allowed-once" as const)] };
  await run(session, [act], { id: "c3", name: "act" }, again);
  assertEquals([bodies, reasons.length], [2, 1]);
  assertStringIncludes(String(reasons[0]), "may already have taken effect");
  await checkPromises(session);
});

Deno.test("quarantineReason() believes nothing but a grant in the log, for this call and these arguments", async () => {
  const { session } = await openStep();
  propose(session, ["c0", "c1"].map((id) => ({ id, name: "act", arguments: "{}" })));
  const [other, callSeq] = ["c0", "c1"].map((callId) => {
    const data = { turn: 1, step: 1, callId, name: "act", arguments: "{}" };
    return session.append({ type: "tool/call", data }).seq;
  }) as [number, number];
  const digest = await argumentsDigest("{}");
  const now = { retryOf: 2, newestSeq: 2, effectKey: null, isOpaque: true, isGranted: false };
  const about = { callSeq, argumentsDigest: digest, effect: "opaque", asked: now, now } as const;
  const isFree = async (change: Partial<Quarantined> = {}) =>
    await quarantineReason(session, { ...about, ...change }) === null;
  assertEquals(await isFree(), false);
  const signal = new AbortController().signal;
  const ask = async (answer: "allowed-once" | "rejected", argumentsDigest = digest, about = callSeq) => {
    const question = {
      toolName: "act",
      call: { callId: about === callSeq ? "c1" : "c0", callSeq: about, argumentsDigest },
    };
    await requestApproval(session, question, { approvers: [() => answer], policy: "ask", signal });
  };
  await ask("allowed-once", await argumentsDigest('{"a":1}'));
  await ask("allowed-once", digest, other);
  await ask("rejected");
  assertEquals(await isFree(), false, "a grant for other arguments, one for another call, and no grant");
  await ask("allowed-once");
  assertEquals(await isFree(), true);
  assertEquals(await isFree({ asked: null }), false, "the question was another one");
  assertEquals(await isFree({ now: null }), true);
  assertEquals(await isFree({ asked: null, now: { ...now, isGranted: true } }), true, "a verdict of a person");
  assertEquals(await isFree({ effect: "keyed", now: { ...now, isOpaque: false } }), true, "the target deduplicates");
});

Deno.test("a rejected question about a repetition is no grant", async () => {
  const { session } = await openStep();
  const { act, calls } = forgetful("opaque");
  await run(session, [act], { id: "c1", name: "act" });
  await run(session, [act], { id: "c2", name: "act" }, { approvers: [() => "rejected"] });
  assertEquals(calls.length, 1);
});

Deno.test("a grant is spent by the repetition that fails, and the next one asks", async () => {
  const { session } = await openStep();
  let bodies = 0;
  const act = tool({
    execute: () => {
      if (++bodies === 1) throw outcomeUnknown("no answer");
      throw new Error("the bank says no");
    },
  });
  await run(session, [act], { id: "c1", name: "act" });
  const [unknown] = session.folds.unresolved.effects;
  const { turn, step, callId, callSeq, effectKey } = unknown!;
  const data = { turn, step, callId, callSeq, effectKey: effectKey!, verdict: "retry", by: "person" } as const;
  session.append({ type: "effect/reconciled", data, ignorable: true });
  await run(session, [act], { id: "c2", name: "act" });
  assertEquals([bodies, session.folds.unresolved.effects.length], [2, 1]);
  await run(session, [act], { id: "c3", name: "act" });
  assertEquals(bodies, 2);
});

Deno.test("exec/R17: a payment whose outcome is unknown is repeated under its old key, and the bank deduplicates", async () => {
  const { session } = await openStep();
  const paid = new Map<string, number>();
  let isFirst = true;
  const pay = tool({
    name: "pay",
    effect: "keyed",
    execute: (_, { effectKey }) => {
      paid.set(effectKey, 10);
      if (isFirst) {
        isFirst = false;
        throw outcomeUnknown("the connection broke");
      }
      return "paid";
    },
  });
  await run(session, [pay], { id: "c1", name: "pay", arguments: '{"to":"alice"}' });
  const { outcome } = await run(session, [pay], { id: "c2", name: "pay", arguments: '{ "to": "alice" }' });
  assertEquals([textOf(outcome), paid.size], ["paid", 1]);
  const opaque = await openStep();
  const { act, calls } = forgetful("opaque");
  await run(opaque.session, [act], { id: "c1", name: "act" });
  await run(opaque.session, [act], { id: "c2", name: "act" });
  assertEquals(calls.length, 1, "a target that cannot deduplicate needs an explicit yes");
});

Deno.test("ruling 6: a timeout of a tool with an effect is an unknown, and its repetition is recognised", async () => {
  const { session } = await openStep();
  const keys: string[] = [];
  const act = tool({
    effect: "keyed",
    timeoutMs: 50,
    execute: (_, { effectKey, signal }) => {
      keys.push(effectKey);
      if (keys.length === 2) return "done";
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  const running = run(session, [act], { id: "c1", name: "act" });
  await reached(session, "effect/dispatched");
  await (session.clock as FakeClock).advance(50);
  const { outcome } = await running;
  assertEquals(outcome.error?.code, "TOOL_TIMEOUT");
  assertStringIncludes(textOf(outcome), "Whether it took effect is unknown");
  assertEquals(session.folds.unresolved.effects.map((effect) => [effect.callId, effect.isClosed]), [["c1", true]]);
  await run(session, [act], { id: "c2", name: "act" });
  assertEquals(keys[0], keys[1]);
  assertEquals(session.folds.unresolved.effects, []);
});
