/**
 * A run of the fuzz in a process of its own, whose heap is small: what holds more than it may ends with it.
 *
 * Takes HOLDFAST_FUZZ_SEED, HOLDFAST_FUZZ_FROM and HOLDFAST_FUZZ_INPUTS; the last line is the report, as JSON.
 *
 * @module
 */
import { runFuzz } from "./log_fuzz.ts";
import { fuzzSeeds } from "./log_fuzz_seeds.ts";

/** Every how many inputs a line is printed. */
const PROGRESS_EVERY = 20_000;

const [start, from, count] = ["SEED", "FROM", "INPUTS"].map((name) => Number(Deno.env.get(`HOLDFAST_FUZZ_${name}`)));
const seeds = await fuzzSeeds();
const beganMs = performance.now();
const report = await runFuzz({
  ...{ start: start!, from: from!, count: count!, seeds },
  report(done) {
    if (done % PROGRESS_EVERY !== 0) return;
    const perSecond = Math.round(done / (performance.now() - beganMs) * 1000);
    console.error(`${done} of ${count} inputs, ${perSecond} a second, ${residentMiB()} MiB`);
  },
});
console.log(JSON.stringify({ ...report, ends: [...report.ends], damages: [...report.damages] }));

function residentMiB(): number {
  return Math.round(Deno.memoryUsage().rss / 2 ** 20);
}
