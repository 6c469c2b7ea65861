import { assert } from "@std/assert";
import { runSchedule } from "./schedules.ts";

/** How many seeds are run. */
const SCHEDULES = 40;

Deno.test(`three tabs: no fork, and every input once, over ${SCHEDULES} random schedules`, async () => {
  let inputs = 0;
  let takeovers = 0;
  let paid = 0;
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const result = await runSchedule(seed).catch((error) => {
      throw new Error(`schedule ${seed}: ${error.message}`, { cause: error });
    });
    inputs += result.inputs;
    takeovers += result.takeovers;
    paid += result.paid;
  }
  // Schedules in which nothing happens would show nothing.
  assert(inputs > 5 * SCHEDULES && takeovers > 2 * SCHEDULES && paid > SCHEDULES / 2, `${inputs} ${takeovers} ${paid}`);
});
