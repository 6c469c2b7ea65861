import { assert, assertEquals } from "@std/assert";
import { inWords, killBatches } from "./batch_harness.ts";
import { seedsFrom } from "./kill_run.ts";

Deno.test("24 kills in a batch with a team, a question, a retry and hung flushes: no payment without intent, no class wrong", async () => {
  const report = await killBatches(seedsFrom(1, 24), { isAimed: true });
  console.log(inWords(report));
  const { calls, nested, situations, kills, nestedUnlisted } = report;
  assertEquals(nestedUnlisted, 0, "open nested calls that verify does not list under their root");
  if (kills < 24) return; // Named seeds are for looking closer.
  for (const seen of ["not_started", "not_dispatched", "outcome_unknown", "done"] as const) {
    assert(calls[seen] + nested[seen] >= 1, `no call was ${seen}: ${inWords(report)}`);
  }
  for (const [name, count] of Object.entries(situations)) assert(count >= 1, `no kill in ${name}: ${inWords(report)}`);
});
