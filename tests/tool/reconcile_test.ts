import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonValue } from "../../src/event/mod.ts";
import type { UnresolvedEffect } from "../../src/fold/mod.ts";
import { createSession, type Lookup, openSession } from "../../src/session/mod.ts";
import {
  defineTool,
  type EffectLookup,
  type LookupAnswer,
  neverHappens,
  outcomeUnknown,
  reconcileWith,
  type Tool,
  type ToolOutput,
} from "../../src/tool/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { appendOpenTurn } from "../session/drafts.ts";
import { openStep, run, textOf, tool } from "./tool_support.ts";

const EFFECT: UnresolvedEffect = {
  ...{ turn: 1, step: 1, callId: "c1", callSeq: 7, name: "act", arguments: '{"to":"alice"}' },
  ...{ effectKey: "k".repeat(32), effect: "keyed", isClosed: true, retryGranted: false },
};

function ask(tools: readonly Tool[], effect: Partial<UnresolvedEffect> = {}): Promise<Lookup | null> | null {
  return reconcileWith(tools, new FakeClock())({ ...EFFECT, ...effect }, new AbortController().signal);
}

function answering(answer: unknown, asked: EffectLookup<unknown>[] = []): Tool {
  const reconcile = (lookup: EffectLookup<JsonValue>) => {
    asked.push(lookup);
    return answer as LookupAnswer<ToolOutput>;
  };
  return tool({ parameters: { type: "object", required: ["to"] }, reconcile });
}

Deno.test("reconcileWith() asks the tool with key, checked arguments and class, and passes its answer on", async () => {
  const asked: EffectLookup<unknown>[] = [];
  const found = await ask([answering({ verdict: "happened", result: "receipt 7", note: "by the bank" }, asked)]);
  assertEquals(found, { verdict: "happened", content: [{ type: "text", text: "receipt 7" }], note: "by the bank" });
  const [{ signal, ...facts }] = asked as [EffectLookup<unknown>];
  assertEquals(facts, { effectKey: EFFECT.effectKey!, args: { to: "alice" }, effect: "keyed", callSeq: 7 });
  assert(signal instanceof AbortSignal);
  assertEquals(await ask([answering({ verdict: "happened" })]), { verdict: "happened" });
  assertEquals(await ask([answering({ verdict: "absent", note: "closed" })]), { verdict: "absent", note: "closed" });
  assertEquals(await ask([answering({ verdict: "undecidable" })]), { verdict: "undecidable" });
});

Deno.test("reconcileWith() asks nobody about a tool that is gone or offers no lookup, nor without a key", () => {
  assertEquals(ask([]), null);
  assertEquals(ask([tool()]), null);
  assertEquals(ask([answering({ verdict: "absent" })], { effectKey: null }), null);
});

Deno.test("an answer that is none, arguments the tool no longer takes and a broken result are undecidable", async () => {
  const answers = [undefined, null, "absent", {}, { verdict: "retry" }, { verdict: "happened", result: 7 }];
  for (const answer of answers) {
    const found = await Promise.resolve(ask([answering(answer)])).catch((error) => {
      assert(error instanceof TypeError, "only what cannot even be looked at fails");
      return { verdict: "undecidable" };
    });
    assertEquals(found?.verdict, "undecidable", JSON.stringify(answer));
  }
  assertEquals((await ask([answering({ verdict: "absent" })], { arguments: "{}" }))?.verdict, "undecidable");
  assertEquals((await ask([answering({ verdict: "absent" })], { arguments: '{"to":-0}' }))?.verdict, "undecidable");
});

Deno.test("a recovered value is checked and rendered as if the body had returned it", async () => {
  const balance = (value: unknown) =>
    defineTool({
      name: "act",
      description: "",
      parameters: {},
      output: { schema: { type: "integer" }, render: (_args, value) => `balance ${value}` },
      execute: () => 1,
      reconcile: () => ({ verdict: "happened", result: value }),
    });
  assertEquals((await ask([balance(3)]))?.content, [{ type: "text", text: "balance 3" }]);
  assertEquals((await ask([balance("much")]))?.verdict, "undecidable");
});

Deno.test("what a lookup failed with is on record, and a late answer is dropped", async () => {
  const clock = new FakeClock();
  const store = new FakeStore({ clock });
  const session = await createSession({ store, id: "s" });
  appendOpenTurn(session, { a: "dispatched" });
  await session.flush();
  const next = store.crash();
  const failing = tool({ name: "pay", reconcile: () => Promise.reject(new Error("the bank answered 503")) });
  const first = await openSession({ store: next, id: "s", reconcile: reconcileWith([failing], clock) });
  assertStringIncludes(JSON.stringify(first.resumed.verdicts), "the bank answered 503");
  await first.session.close();

  const late = Promise.withResolvers<LookupAnswer<ToolOutput>>();
  const slow = tool({ name: "pay", reconcile: () => late.promise });
  const opening = openSession({ store: next, id: "s", reconcile: reconcileWith([slow], clock) });
  await clock.advance(60_000);
  const { session: again, resumed } = await opening;
  late.resolve({ verdict: "absent" });
  await clock.advance(0);
  assertEquals(resumed.unresolved.map((effect) => effect.callId), ["a"]);
  assertEquals(again.folds.unresolved.effects.length, 1);
  await again.close();
});

Deno.test("a body that meets a closed key settles it, and an equal call is a new effect", async () => {
  const { session } = await openStep();
  const keys: string[] = [];
  const act = tool({
    effect: "keyed",
    execute: (_, { effectKey }) => {
      keys.push(effectKey);
      if (keys.length === 1) throw outcomeUnknown("no answer");
      if (keys.length === 2) throw neverHappens("the bank closed this key");
      return "paid";
    },
  });
  for (let n = 0; n < 2; n++) await run(session, [act]);
  assertEquals(session.folds.unresolved.effects, []);
  assertEquals(textOf((await run(session, [act])).outcome), "paid");
  assertEquals(keys[0], keys[1]);
  assert(keys[2] !== keys[0]);
});
