import { assert } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { killBrowserRuns, killsInWords } from "./support/kill_runs.ts";

for (const [victim, count, first] of [["worker", 400, 100_001], ["browser", 200, 200_001]] as const) {
  Deno.test(`${count} kills of the ${victim} at random instants: nothing lost, no effect without intent, each class seen`, async () => {
    const report = await killBrowserRuns(victim, seedsFrom(first, count));
    console.log(killsInWords(report));
    if (report.kills < count) return; // Named seeds are for looking closer.
    for (const seen of ["not_started", "not_dispatched", "outcome_unknown", "done"] as const) {
      assert(report.calls[seen] >= 5, `only ${report.calls[seen]} calls were ${seen}: ${killsInWords(report)}`);
    }
  });
}
