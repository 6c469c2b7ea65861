import { assert } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { inWords, killServers } from "./kill.ts";

Deno.test("300 kills of a hosting server: classes right, each seq sent once with the bytes of the log, 15 of each class", async () => {
  const report = await killServers(seedsFrom(40_001, 300));
  console.log(inWords(report));
  if (report.kills < 300) return; // Named seeds are for looking closer.
  for (const seen of ["not_started", "not_dispatched", "outcome_unknown", "done"] as const) {
    assert(report.calls[seen] >= 15, `only ${report.calls[seen]} calls were ${seen}: ${inWords(report)}`);
  }
});
