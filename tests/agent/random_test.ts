import { assert } from "@std/assert";
import { settle } from "../support/fake_clock.ts";
import { emptyTally, runSchedule, useQuickDigests } from "./random_world.ts";

/** How many schedules are run. */
const SCHEDULES = 20_000;
/** In how many tests. */
const PARTS = 10;

useQuickDigests();
const tally = emptyTally();
const started = performance.now();

for (let part = 0; part < PARTS; part++) {
  const count = SCHEDULES / PARTS;
  Deno.test(`random schedules of messages, cancels, faults and crashes leave a valid log and an idle loop (${part + 1} of ${PARTS})`, async () => {
    for (let n = 0; n < count; n++) {
      const seed = part * count + n;
      // Nothing in a schedule lets the event loop turn, and only then is garbage behind weak references collected.
      if (n % 100 === 0) await settle();
      try {
        await runSchedule(seed, tally);
      } catch (error) {
        throw new Error(`schedule ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
      }
    }
  });
}

Deno.test("the random schedules were many, and everything happened in them", () => {
  const seconds = (performance.now() - started) / 1000;
  console.log(`${tally.runs} schedules in ${seconds.toFixed(1)} s: ${JSON.stringify(tally)}`);
  const { classes, reasons, runs, ...counts } = tally;
  assert(runs === SCHEDULES);
  for (const [what, count] of Object.entries({ ...counts, ...classes, ...reasons })) {
    assert(count > SCHEDULES / 200, `only ${count} ${what}`);
  }
  assert(Object.keys(classes).length === 3 && Object.keys(reasons).length >= 4, "not every class, or not every end");
});
