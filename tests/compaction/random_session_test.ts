import { assert } from "@std/assert";
import { runSession, type Tally } from "./random_session.ts";

/** How many sessions, and how many steps each. */
const SESSIONS = 30;
const STEPS = 150;

Deno.test("random sessions keep pairs, generation, meter and past requests, and every request is one that providers take", async () => {
  const tally: Tally = {};
  for (let seed = 1; seed <= SESSIONS; seed++) {
    try {
      await runSession(seed, STEPS, tally);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }
  console.log(`${SESSIONS * STEPS} steps: ${JSON.stringify(tally)}`);
  for (
    const what of ["spilled", "pruned", "replaced", "refused", "compacted", "failed", "killed", "aborted", "resumed"]
  ) {
    assert((tally[what] ?? 0) > SESSIONS / 4, `only ${tally[what]} ${what}`);
  }
});
