import { assert, assertEquals } from "@std/assert";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { runFuzz } from "./log_fuzz.ts";
import { fuzzInput } from "./log_fuzz_mutate.ts";
import { fuzzSeeds } from "./log_fuzz_seeds.ts";
import { FUZZ_GROWTH_BYTES_MAX, printFuzz, SALVAGED_SHARE_MIN } from "./log_fuzz_report.ts";

/** How many damaged logs a test run looks at; HOLDFAST_FUZZ_INPUTS changes it, for whoever looks for something. */
const INPUTS = Number(Deno.env.get("HOLDFAST_FUZZ_INPUTS") ?? 100_000);

/** Seed of the run, and the first input: what a failure names makes it again. */
const START = Number(Deno.env.get("HOLDFAST_FUZZ_SEED") ?? 1);
const FROM = Number(Deno.env.get("HOLDFAST_FUZZ_FROM") ?? 0);

Deno.test(`fuzz: ${INPUTS} damaged logs through read, verify and salvage give only typed errors, none takes over a second`, async () => {
  const seeds = await fuzzSeeds();
  if (fixturesDir() === null) {
    casesNotRun(1, "the fuzz ran with one made-up log of an old version instead of real ones");
  }
  const report = await runFuzz({ start: START, from: FROM, count: INPUTS, seeds });
  printFuzz(report);
  assertEquals(report.failures, []);
  assert(
    report.peakBytes - report.startBytes < FUZZ_GROWTH_BYTES_MAX,
    `from ${report.startBytes} to ${report.peakBytes} bytes`,
  );
  assert(report.salvaged >= SALVAGED_SHARE_MIN * report.undamaged, "too few of the undamaged events were salvaged");
});

Deno.test("fuzz: an input is made again by its seed and number alone, and every kind of damage comes up", async () => {
  const [first, second] = [await fuzzSeeds(), await fuzzSeeds()];
  const kinds = new Set<string>();
  for (let number = 0; number < 500; number++) {
    const [a, b] = [fuzzInput(9, number, first), fuzzInput(9, number, second)];
    assertEquals([a.damages, a.seed.name, a.bytes.toBase64()], [b.damages, b.seed.name, b.bytes.toBase64()]);
    for (const name of a.damages) kinds.add(name);
  }
  assertEquals(kinds.size, 18);
});
