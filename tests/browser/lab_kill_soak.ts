import { assert } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { BROWSER_SCOPE, labPlanFor } from "../kill/lab_plan.ts";
import { killBrowsersInLab } from "./lab_kill_runs.ts";

/** How many kills; and of how many runs they may be. */
const KILLS = 200;
const RUNS_MAX = 200;

Deno.test(`${KILLS} browsers killed at failpoints, with the pack of tools: no class and no verdict is wrong, nothing happens twice`, async () => {
  const report = await killBrowsersInLab({
    plans: seedsFrom(10_001, RUNS_MAX).map((seed) => labPlanFor(seed, BROWSER_SCOPE)),
    killsMax: KILLS,
  });
  console.log(report.inWords());
  if (report.kills < KILLS) return; // Named seeds are for looking closer.
  assert(report.latePart >= 0.2, `only ${report.latePart} of the requests landed after the kill`);
  assert(report.settledPartWhole >= 0.99, `only ${report.settledPartWhole} of the unknowns were settled`);
  assert(report.settledPartKeyed >= 0.99, `only ${report.settledPartKeyed} were settled where targets keep keys`);
});
