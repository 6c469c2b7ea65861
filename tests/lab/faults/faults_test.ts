import { assert, assertEquals } from "@std/assert";
import { faultTable, FaultyEngine } from "./run_faults.ts";
import { SEEDED_FAULTS } from "./seeded_faults.ts";

const SEED = 1;
/** How many states of the engine as it is are tried, and how many may pass before a fault of the short list is found. */
const STATES_MAX = 1_500;
/** Faults of all parts of the engine that are found soon. The soak looks for every one. */
const SHORT_LIST = [
  "barrier-does-not-flush",
  "marker-after-body",
  "refusal-is-a-grant",
  "marked-call-reads-not-dispatched",
  "repair-leaves-the-turn-open",
  "absent-without-tombstone",
  "undecidable-settles",
  "second-sync-is-believed",
  "torn-tail-is-written-behind",
  "snapshot-believed-unseen",
  "snapshot-is-the-whole-log",
];

Deno.test("a fault in the engine is found by the lab, and the engine as it is passes", async (t) => {
  await using engine = await FaultyEngine.create();
  const sound = await engine.look(null, SEED, STATES_MAX);
  assertEquals([sound.foundBy, sound.message], [null, ""]);
  for (const name of SHORT_LIST) {
    await t.step(name, async () => {
      const report = await engine.look(SEEDED_FAULTS.find((fault) => fault.name === name)!, SEED, STATES_MAX);
      assert(report.foundBy !== null, faultTable([report]));
    });
  }
});

Deno.test("every seeded fault has a name of its own, and at least twenty-five there are", () => {
  assertEquals(new Set(SEEDED_FAULTS.map(({ name }) => name)).size, SEEDED_FAULTS.length);
  assert(SEEDED_FAULTS.length >= 25, `${SEEDED_FAULTS.length} faults`);
});
