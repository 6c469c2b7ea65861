import { assert, assertEquals, assertRejects } from "@std/assert";
import { seedsFrom } from "./kill_run.ts";
import { killInLab } from "./lab_harness.ts";
import { DENO_SCOPE, type LabPlan, labPlanFor } from "./lab_plan.ts";
import { LabWorld } from "./lab_world.ts";

Deno.test("kills at failpoints with the pack of tools: no class and no verdict is wrong, nothing happens twice", async () => {
  const report = await killInLab({ plans: seedsFrom(1, 16).map((seed) => labPlanFor(seed, DENO_SCOPE)) });
  console.log(report.inWords());
  if (report.runs < 16) return; // Named seeds are for looking closer.
  assert(report.classes.outcome_unknown >= 1, "no call was unknown");
  assertEquals(report.settledPartWhole, 1, report.inWords());
});

/** A payment that is on its way when its process is killed, and lands when everything is over. */
const LATE_PAYMENT: LabPlan = {
  ...{ seed: 0, id: "lab-0", encoding: "zstd", isParallel: false },
  processes: [{
    calls: [{ id: "lab-0-0-0", tool: "pay", fate: { kind: "late", lands: "end" }, isLookupLost: false }],
    ...{ aim: { kind: "named", point: "turn.end/sync/after", nth: 1 }, kill: "self", tornPart: 0.5, heldMs: 0 },
  }],
};

Deno.test("a payment that lands after its key was closed does nothing", async () => {
  const report = await killInLab({ plans: [LATE_PAYMENT] });
  const { unknowns, absent } = report.total();
  assertEquals([report.kills, report.requestsAfterAsk, unknowns, absent, report.effects], [1, 1, 1, 1, 1]);
});

Deno.test("a bank that forgets which keys were closed is found out", async () => {
  const killing = killInLab({ plans: [LATE_PAYMENT], world: new LabWorld(true) });
  await assertRejects(() => killing, Error, "lab-0-0-0 happened 2 times");
});
