/**
 * Random sessions, many.
 *
 * @module
 */
import { runSession, type Tally } from "./random_session.ts";

const SESSIONS = 800;
const STEPS = 150;

Deno.test(`random sessions, ${SESSIONS * STEPS} steps, keep pairs, generation, meter and past requests`, async () => {
  const tally: Tally = {};
  for (let seed = 1; seed <= SESSIONS; seed++) {
    try {
      await runSession(1_000_000 + seed, STEPS, tally);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }
  console.log(`${SESSIONS * STEPS} steps: ${JSON.stringify(tally)}`);
});
