import { assert } from "@std/assert";
import { inWords, killAtRandom } from "./harness.ts";
import { seedsFrom } from "./kill_run.ts";

Deno.test("24 kills at random instants: no payment without durable intent, no class wrong, each class seen", async () => {
  const report = await killAtRandom({ seeds: seedsFrom(1, 24) });
  console.log(inWords(report));
  const { calls, kills } = report;
  if (kills < 24) return; // Named seeds are for looking closer.
  for (const seen of ["not_started", "not_dispatched", "outcome_unknown", "done"] as const) {
    assert(calls[seen] >= 1, `no call was ${seen}: ${inWords(report)}`);
  }
});

Deno.test("kills during the repair, again and again: the repair that stands is the one of an undisturbed process", async () => {
  const report = await killAtRandom({ seeds: seedsFrom(1001, 10), repairKills: 3 });
  console.log(inWords(report));
  assert(report.repairsKilled >= 1, "no repair was killed");
});
