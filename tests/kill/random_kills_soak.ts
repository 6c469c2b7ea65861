import { assert } from "@std/assert";
import { inWords, killAtRandom } from "./harness.ts";
import { seedsFrom } from "./kill_run.ts";

Deno.test("240 kills at random instants: no payment without durable intent, no class wrong, 20 of each class", async () => {
  const report = await killAtRandom({ seeds: seedsFrom(10_001, 240) });
  console.log(inWords(report));
  const { calls, kills } = report;
  if (kills < 240) return; // Named seeds are for looking closer.
  for (const seen of ["not_started", "not_dispatched", "outcome_unknown", "done"] as const) {
    assert(calls[seen] >= 20, `only ${calls[seen]} calls were ${seen}: ${inWords(report)}`);
  }
});

Deno.test("80 kills, each with up to four of its repair: the repair that stands is the one of an undisturbed process", async () => {
  const report = await killAtRandom({ seeds: seedsFrom(20_001, 80), repairKills: 4 });
  console.log(inWords(report));
  assert(report.repairsKilled >= 40 || report.kills < 80, `only ${report.repairsKilled} repairs were killed`);
});
