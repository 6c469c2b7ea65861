import { assert } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { killBrowserRuns, killsInWords } from "./support/kill_runs.ts";

Deno.test("40 workers ended at random instants: nothing acknowledged lost, no effect without intent, no class wrong", async () => {
  const report = await killBrowserRuns("worker", seedsFrom(1, 40));
  console.log(killsInWords(report));
  if (report.kills < 40) return; // Named seeds are for looking closer.
  for (const seen of ["not_dispatched", "outcome_unknown", "done"] as const) {
    assert(report.calls[seen] >= 1, `no call was ${seen}: ${killsInWords(report)}`);
  }
});

Deno.test("20 browsers killed at random instants: nothing acknowledged lost, no effect without intent, no class wrong", async () => {
  const report = await killBrowserRuns("browser", seedsFrom(501, 20));
  console.log(killsInWords(report));
  if (report.kills < 20) return;
  for (const seen of ["not_dispatched", "outcome_unknown", "done"] as const) {
    assert(report.calls[seen] >= 1, `no call was ${seen}: ${killsInWords(report)}`);
  }
});
