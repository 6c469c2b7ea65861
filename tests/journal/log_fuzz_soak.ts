/**
 * The fuzz of logs at length: two million damaged logs, or as many as HOLDFAST_FUZZ_INPUTS says.
 *
 * @module
 */
import { checkFuzz, fuzzInputs } from "./log_fuzz_report.ts";

const INPUTS = fuzzInputs(2_000_000);

Deno.test(`soak: ${INPUTS} damaged logs through read, verify and salvage give only typed errors`, async () => {
  await checkFuzz({ inputs: INPUTS, seed: 20_260_801 });
});
