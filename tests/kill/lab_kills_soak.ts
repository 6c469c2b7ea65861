import { assert, assertEquals } from "@std/assert";
import { seedsFrom } from "./kill_run.ts";
import { killInLab } from "./lab_harness.ts";
import { DENO_SCOPE, labPlanFor } from "./lab_plan.ts";

/** How many kills; and of how many runs they may be. */
const KILLS = 2000;
const RUNS_MAX = 2000;

Deno.test(`${KILLS} kills on each side of each barrier, with the pack of tools: no class and no verdict is wrong, nothing happens twice`, async () => {
  const report = await killInLab({
    plans: seedsFrom(10_001, RUNS_MAX).map((seed) => labPlanFor(seed, DENO_SCOPE)),
    killsMax: KILLS,
  });
  console.log(report.inWords());
  if (report.kills < KILLS) return; // Named seeds are for looking closer.
  assertEquals(report.missedSides(), []);
  assert(report.latePart >= 0.2, `only ${report.latePart} of the requests landed after the kill`);
  assert(report.settledPartWhole >= 0.99, `only ${report.settledPartWhole} of the unknowns were settled`);
  assert(report.settledPartKeyed >= 0.99, `only ${report.settledPartKeyed} were settled where targets keep keys`);
});
