import { assert, assertEquals } from "@std/assert";
import { inWords, killBatches } from "./batch_harness.ts";
import { seedsFrom } from "./kill_run.ts";

Deno.test("300 kills in a batch with a team, a question, a retry and hung flushes: no class wrong, 20 of each class", async () => {
  const report = await killBatches(seedsFrom(30_001, 300));
  console.log(inWords(report));
  const { calls, nested, situations, kills, cancelledInTime, nestedUnlisted } = report;
  assertEquals(nestedUnlisted, 0, "open nested calls that verify does not list under their root");
  if (kills < 300) return; // Named seeds are for looking closer.
  for (const seen of ["not_started", "not_dispatched", "outcome_unknown", "done"] as const) {
    assert(calls[seen] >= 20, `only ${calls[seen]} calls were ${seen}: ${inWords(report)}`);
  }
  // A nested call is recorded when it starts, so that "not started" leaves no trace of it.
  for (const seen of ["not_dispatched", "outcome_unknown", "done"] as const) {
    assert(nested[seen] >= 20, `only ${nested[seen]} nested calls were ${seen}: ${inWords(report)}`);
  }
  for (const [name, count] of Object.entries(situations)) {
    assert(count >= 10, `only ${count} kills in ${name}: ${inWords(report)}`);
  }
  assert(cancelledInTime >= 5, `only ${cancelledInTime} cancelled turns were over before the kill: ${inWords(report)}`);
});
