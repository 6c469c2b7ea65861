import { assertEquals } from "@std/assert";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { fuzzInput } from "./log_fuzz_mutate.ts";
import { checkFuzz, fuzzInputs } from "./log_fuzz_report.ts";
import { fuzzSeeds } from "./log_fuzz_seeds.ts";

const INPUTS = fuzzInputs(100_000);

Deno.test(`fuzz: ${INPUTS} damaged logs through read, verify and salvage give only typed errors, none takes over a second`, async () => {
  if (fixturesDir() === null) {
    casesNotRun(1, "the fuzz ran with one made-up log of an old version instead of real ones");
  }
  await checkFuzz({ inputs: INPUTS, seed: 1 });
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
