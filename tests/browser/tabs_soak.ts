import { assert } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { runSchedules, type ScheduleReport, schedulesInWords } from "./support/schedules.ts";

/** How many schedules one browser lives through: what its pages leave behind stays small. */
const PER_BROWSER = 50;

Deno.test("500 random schedules of three tabs: no fork, each input executed once, a takeover within 3 s of the release", async () => {
  const seeds = seedsFrom(300_001, 500);
  const reports: ScheduleReport[] = [];
  for (let first = 0; first < seeds.length; first += PER_BROWSER) {
    const report = await runSchedules(seeds.slice(first, first + PER_BROWSER));
    console.log(schedulesInWords(report));
    reports.push(report);
  }
  if (seeds.length < 500) return; // Named seeds are for looking closer.
  const takeovers = reports.flatMap(({ takeoverMs }) => takeoverMs).sort((a, b) => a - b);
  console.log(
    `${seeds.length} schedules, ${
      reports.reduce((sum, { inputs }) => sum + inputs, 0)
    } inputs, ${takeovers.length} takeovers: ` +
      `p50 ${takeovers[Math.floor(takeovers.length / 2)]} ms, p99 ${
        takeovers[Math.ceil(takeovers.length * 0.99) - 1]
      } ms`,
  );
  assert(takeovers.length >= 250, `only ${takeovers.length} takeovers`);
  assert(reports.some(({ reasonMs }) => reasonMs.length > 0), "no owner was frozen in a turn");
});
