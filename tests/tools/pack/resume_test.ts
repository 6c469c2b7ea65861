/**
 * The pack behind an agent that is killed: what its log says in the end, beside what really happened.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { StorageLostError } from "../../../src/errors.ts";
import { isEvent, type JsonObject } from "../../../src/event/mod.ts";
import { type RequestFate, SlowTarget } from "../../../src/testing/simulated_target.ts";
import { type KeyedTarget, keyedTool } from "../../../src/tools/pack/mod.ts";
import { logOf, resultsOf, resumed, stage, until } from "../../agent/agent_support.ts";
import { settle } from "../../support/fake_clock.ts";
import { FakeStore } from "../../support/fake_store.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { type Staged, STAGES } from "./pack_support.ts";

const APPROVERS = [() => "allowed-once" as const];

function toolOn(target: KeyedTarget<unknown>) {
  return keyedTool({ name: "act", description: "", parameters: {}, reason: () => "act", target });
}

/** Where the process dies: on the way to the target, or with the answer in its hands. */
type Death = Exclude<RequestFate, "answered"> | "answered, not written down";

/** An agent whose process dies around the one request it makes. */
async function killed(
  on: Staged,
  death: Death,
): Promise<{ store: FakeStore; slow: SlowTarget<unknown>; landed: () => Promise<void> }> {
  const store = new FakeStore();
  let isAsked = false;
  const slow = new SlowTarget(on.target, () => {
    isAsked = true;
    return death === "answered, not written down" ? "answered" : death;
  });
  const target: KeyedTarget<unknown> = {
    close: (...args) => slow.close(...args),
    async perform(...args) {
      const answer = await slow.perform(...args);
      store.failure = new StorageLostError("the machine dies");
      return answer;
    },
  };
  const call = { call: { id: "c1", name: "act", arguments: on.order as JsonObject } };
  const first = await stage([[call]], { store, tools: [toolOn(target)], approvers: APPROVERS });
  const turn = first.session.send("go");
  if (death === "answered, not written down") await turn.catch(() => {});
  await until(() => isAsked);
  // What is on its way goes on without its sender.
  if (death === "unanswered") { while (await on.effects() === 0) await settle(); }
  return { store: store.crash(), slow, landed: () => slow.land() };
}

for (const [name, make] of Object.entries(STAGES)) {
  for (const death of ["lost", "unanswered", "late", "answered, not written down"] as const) {
    Deno.test(`exec/I04, ${name}: killed while the request is ${death}, the log states the true outcome, and nothing happens twice`, async () => {
      for (const landsFirst of death === "late" ? [true, false] : [false]) {
        await using on = await make();
        const { store, landed } = await killed(on, death);
        if (landsFirst) await landed();
        const happened = await on.effects() === 1;
        assertEquals(happened, landsFirst || death === "unanswered" || death === "answered, not written down");

        const again = { call: { id: "c2", name: "act", arguments: on.order as JsonObject } };
        const after = await resumed(store, [[again], [{ text: "done" }]], {
          tools: [toolOn(on.target)],
          approvers: APPROVERS,
        });
        const { verdicts, unresolved } = after.session.resumed!;
        const found = verdicts.flatMap((event) => isEvent(event, "effect/reconciled") ? [event.data.verdict] : []);
        assertEquals(found, [happened ? "happened" : "absent"]);
        assertEquals(unresolved, []);
        // What lands now meets a closed key, or one that is used up.
        await landed();
        assertEquals(await on.effects(), happened ? 1 : 0);

        const [said] = resultsOf(await logOf(after));
        if (happened) assert(said!.startsWith("c1 ok: "), said);
        else assertStringIncludes(said!, "c1 TOOL_NOT_STARTED: ");
        // A model that believes the log calls again only what did not happen; one that does not makes a new effect.
        if (happened) continue;
        await after.session.send("go on");
        assertEquals(await on.effects(), 1);
        await after.session.close();
      }
    });
  }
}

Deno.test("of many kills with every fifth request landing after them, all are settled, none wrongly, and nothing happens twice", async () => {
  const random = seededRandom(5);
  const settled = { happened: 0, absent: 0, undecidable: 0 };
  for (let n = 0; n < 150; n++) {
    await using on = await STAGES.bank!();
    const death = random.pick(["late", "unanswered", "unanswered", "lost", "answered, not written down"] as const);
    const { store, landed } = await killed(on, death);
    if (random.below(2) === 0) await landed();
    const truth = await on.effects() === 1 ? "happened" : "absent";
    const after = await resumed(store, [], { tools: [toolOn(on.target)] });
    for (const event of after.session.resumed!.verdicts) {
      if (!isEvent(event, "effect/reconciled") || event.data.verdict === "retry") continue;
      settled[event.data.verdict]++;
      assertEquals(event.data.verdict, truth);
    }
    await landed();
    assertEquals(await on.effects(), truth === "happened" ? 1 : 0);
    await after.session.close();
  }
  assertEquals(settled.happened + settled.absent, 150);
  assert(settled.happened > 30 && settled.absent > 20, JSON.stringify(settled));
});

Deno.test("a model that repeats the call in the same process meets the old key, and the target deduplicates (exec/R17)", async () => {
  await using on = await STAGES.bank!();
  let tries = 0;
  const slow = new SlowTarget(on.target, () => ++tries === 1 ? "unanswered" : "answered");
  const stopping = new AbortController();
  const target: KeyedTarget<unknown> = {
    close: (...args) => slow.close(...args),
    perform: (key, order, signal) => slow.perform(key, order, AbortSignal.any([signal, stopping.signal])),
  };
  const call = (id: string) => ({ call: { id, name: "act", arguments: on.order as JsonObject } });
  const first = await stage([[call("c1")], [call("c2")], [{ text: "done" }]], {
    tools: [toolOn(target)],
    approvers: APPROVERS,
  });
  const turn = first.session.send("go");
  await until(() => tries === 1);
  stopping.abort(new Error("connection reset"));
  await turn;
  const results = resultsOf(await logOf(first));
  assertStringIncludes(results[0]!, "c1 TOOL_OUTCOME_UNKNOWN: ");
  assertEquals(results[1], "c2 ok: receipt 1");
  assertEquals(await on.effects(), 1);
});
