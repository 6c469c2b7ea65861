import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ScriptPart, ScriptStep } from "../../src/agent/mod.ts";
import { StorageFullError } from "../../src/errors.ts";
import { type EffectClass, isEvent } from "../../src/event/mod.ts";
import type { Tool } from "../../src/tool/mod.ts";
import { FakeStore } from "../support/fake_store.ts";
import { logOf, noting, resumed, type Stage, stage } from "./agent_support.ts";

/** How often a random schedule is tried. */
const RUNS = 300;

const part: fc.Arbitrary<ScriptPart> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("", " ", "some text").map((text) => ({ text })) },
  {
    weight: 5,
    arbitrary: fc.record({
      call: fc.record({
        id: fc.constantFrom("", "c1", "c1", "c2"),
        name: fc.constantFrom("pay", "look", "break", "gone"),
        arguments: fc.constantFrom("", "{oops", '{"n":1}', '{"n":2}'),
      }),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<ScriptPart>({ throws: "broken" }, { cut: true }, { finish: "max-tokens" }) },
);

const schedule = fc.record({
  steps: fc.array(fc.array(part, { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  messages: fc.integer({ min: 1, max: 3 }),
  /** At which events something happens, and what. */
  troubles: fc.array(
    fc.record({
      seq: fc.integer({ min: 0, max: 40 }),
      what: fc.constantFrom("cancel", "full disk", "hung flush"),
    }),
    { maxLength: 3 },
  ),
  crashAt: fc.integer({ min: 1, max: 60 }),
  answers: fc.array(fc.constantFrom("allowed-once" as const, "rejected" as const, "unavailable" as const), {
    minLength: 1,
    maxLength: 3,
  }),
});

function tools(ran: string[]): Tool[] {
  const of = (name: string, effect: EffectClass, execute: () => string) => noting(ran, { name, effect, execute });
  return [
    of("pay", "opaque", () => "paid"),
    of("look", "none", () => "seen"),
    of("break", "keyed", () => {
      throw new Error("broken tool");
    }),
  ];
}

Deno.test("random schedules of answers, calls, cancels, full disks, hung flushes and crashes leave a whole log and an idle loop", async () => {
  const seen = { cancelled: 0, failed: 0, resumed: 0, calls: 0 };
  await fc.assert(
    fc.asyncProperty(schedule, async ({ steps, messages, troubles, crashAt, answers }) => {
      const ran: string[] = [];
      let asked = 0;
      const options = { tools: tools(ran), approvers: [() => answers[asked++ % answers.length]!] };
      const store = new FakeStore();
      const on = await stage([...steps, ...steps, ...steps] as ScriptStep[], { ...options, store });
      let crashed: { store: FakeStore; ran: number } | null = null;
      const held: (() => void)[] = [];
      on.session.session.subscribe((event) => {
        if (event.seq === crashAt) crashed = { store: store.crash(), ran: ran.length };
        const trouble = troubles.find(({ seq }) => seq === event.seq);
        if (trouble?.what === "cancel") on.session.cancel();
        if (trouble?.what === "full disk") store.inject({ fail: new StorageFullError("no room") });
        // A flush that hangs is only left by a cancel; the test lets it go on afterwards.
        if (trouble?.what === "hung flush") {
          held.push(store.hold());
          queueMicrotask(() => on.session.cancel());
        }
      });
      for (let n = 0; n < messages; n++) {
        const { reason } = await on.session.send(`message ${n}`);
        held.splice(0).forEach((release) => release());
        if (reason.kind === "aborted") seen.cancelled++;
        if (reason.kind === "error") seen.failed++;
      }
      await on.session.whenIdle();
      held.splice(0).forEach((release) => release());
      await checkWhole(on);
      seen.calls += ran.length;
      // Faults that no flush has met yet are met now; each is passing.
      for (const _ of troubles) await on.session.session.flush().catch(() => {});
      await on.session.session.flush();
      await checkGoesOn(store.crash(), ran);
      if (crashed !== null) {
        seen.resumed++;
        await checkGoesOn((crashed as { store: FakeStore }).store, ran);
      }
    }),
    { seed: 3, numRuns: RUNS },
  );
  assert(Object.values(seen).every((count) => count > RUNS / 10), JSON.stringify(seen));
});

async function checkWhole(on: Stage): Promise<void> {
  const events = await logOf(on);
  assertEquals(on.session.status, "idle");
  assertEquals(on.session.session.folds.brackets.turn, null);
  const markers = events.flatMap((event) => isEvent(event, "effect/dispatched") ? [event.data] : []);
  const fresh = markers.filter((marker) => marker.retryOf === undefined).map((marker) => marker.effectKey);
  assertEquals(new Set(fresh).size, fresh.length, "two effects share a key");
}

/** A new process on what was durable: closes what is open, runs nothing again, and answers the next message. */
async function checkGoesOn(store: FakeStore, ran: string[]): Promise<void> {
  if (!store.logs.has("s1")) return;
  const before = ran.length;
  const steps: ScriptStep[] = Array.from({ length: 5 }, () => [{ text: "fine" }]);
  const next = await resumed(store, steps, { tools: tools(ran) });
  assertEquals((await next.session.send("continue")).reason, { kind: "completed" });
  assertEquals(ran.length, before);
  await checkWhole(next);
}
