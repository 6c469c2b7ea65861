import { assert } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { runSchedules, schedulesInWords } from "./support/schedules.ts";

Deno.test("500 random schedules of three tabs: no fork, each input executed once, a takeover within 3 s of the release", async () => {
  const report = await runSchedules(seedsFrom(300_001, 500));
  console.log(schedulesInWords(report));
  if (report.schedules < 500) return; // Named seeds are for looking closer.
  assert(report.takeoverMs.length >= 250, `only ${report.takeoverMs.length} takeovers`);
  assert(report.reasonMs.length >= 1, "no owner was frozen in a turn");
});
