import { assert } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { inWords, killServers } from "./kill.ts";

Deno.test("30 kills of a hosting server: classes right, each seq sent once with the bytes of the log, no answer and no input lost", async () => {
  const report = await killServers(seedsFrom(30_001, 30));
  console.log(inWords(report));
  if (report.kills < 30) return; // Named seeds are for looking closer.
  for (const seen of ["not_dispatched", "outcome_unknown", "done"] as const) {
    assert(report.calls[seen] >= 1, `no call was ${seen}: ${inWords(report)}`);
  }
});
