import { assertEquals } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { BROWSER_SCOPE, labPlanFor } from "../kill/lab_plan.ts";
import { killBrowsersInLab } from "./lab_kill_runs.ts";

Deno.test("12 browsers killed at failpoints, with the pack of tools: no class and no verdict is wrong, nothing happens twice", async () => {
  const report = await killBrowsersInLab({
    plans: seedsFrom(1, 12).map((seed) => labPlanFor(seed, BROWSER_SCOPE)),
    killsMax: 12,
  });
  console.log(report.inWords());
  if (report.kills < 12) return; // Named seeds are for looking closer.
  assertEquals(report.settledPartWhole, 1, report.inWords());
});
