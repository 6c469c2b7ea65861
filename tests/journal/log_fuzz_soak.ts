/**
 * The fuzz of logs at length: two million damaged logs, or as many as HOLDFAST_FUZZ_INPUTS says.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { runFuzz } from "./log_fuzz.ts";
import { fuzzSeeds } from "./log_fuzz_seeds.ts";
import { FUZZ_GROWTH_BYTES_MAX, printFuzz, SALVAGED_SHARE_MIN } from "./log_fuzz_report.ts";

const INPUTS = Number(Deno.env.get("HOLDFAST_FUZZ_INPUTS") ?? 2_000_000);
const START = Number(Deno.env.get("HOLDFAST_FUZZ_SEED") ?? 20_260_801);
const FROM = Number(Deno.env.get("HOLDFAST_FUZZ_FROM") ?? 0);

/** Every how many inputs a line is printed. */
const PROGRESS_EVERY = 20_000;

Deno.test(`soak: ${INPUTS} damaged logs through read, verify and salvage give only typed errors`, async () => {
  const seeds = await fuzzSeeds();
  const beganMs = performance.now();
  const report = await runFuzz({
    ...{ start: START, from: FROM, count: INPUTS, seeds },
    report(done) {
      if (done % PROGRESS_EVERY !== 0) return;
      const perSecond = Math.round(done / (performance.now() - beganMs) * 1000);
      const { rss } = Deno.memoryUsage();
      console.log(`${done} of ${INPUTS} inputs, ${perSecond} a second, ${Math.round(rss / 2 ** 20)} MiB`);
    },
  });
  printFuzz(report);
  assertEquals(report.failures, []);
  assert(
    report.peakBytes - report.startBytes < FUZZ_GROWTH_BYTES_MAX,
    `from ${report.startBytes} to ${report.peakBytes} bytes`,
  );
  assert(report.salvaged >= SALVAGED_SHARE_MIN * report.undamaged, "too few of the undamaged events were salvaged");
});
