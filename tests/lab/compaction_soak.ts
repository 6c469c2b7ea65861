/**
 * The part of the crash lab about long conversations, at length: every crash state of a compaction after an overflow, of one by
 * hand and of a spilled result, on both media in both encodings, and random lives.
 */
import { assert, assertEquals } from "@std/assert";
import { judgesDecoder as decodeFrame } from "../../src/cli/judges_decoder.ts";
import { COMPRESSIONS, MEDIA, parseUnit, replayUnit, runLab } from "../../src/testing/mod.ts";

/** How many states of random lives there are. */
const RANDOM_STATES = 10_000;

for (const letters of ["long", "long-over", "long-fold"]) {
  for (const medium of MEDIA) {
    for (const compression of COMPRESSIONS) {
      Deno.test(`all crash states of ${letters} on ${medium}, ${compression}: nothing false is said`, async () => {
        const trials = await replayUnit(parseUnit(`all:${medium}:${compression}:${letters}`, 1), undefined, {
          decodeFrame,
        });
        assertEquals(trials.flatMap(({ violations }) => violations), []);
        const refused = trials.filter(({ tried }) => tried.refused !== null).length;
        console.log(`${trials.length} states, ${refused} refused as damage`);
        assert(trials.length > 500);
      });
    }
  }
}

Deno.test("random lives with compactions: nothing false is said", async () => {
  const tally = await runLab({ seed: 2, compactionStates: RANDOM_STATES, bench: { decodeFrame } });
  assertEquals(tally.violations, []);
  console.log(
    `${tally.states} states, ${tally.nestedStates} of them after an earlier crash; ${JSON.stringify(tally.classes)}`,
  );
});
