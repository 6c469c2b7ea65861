/**
 * The crash sweep over simulated media, with many states of each moment.
 *
 * @module
 */
import { someOf, sweepMedium } from "./crash_world.ts";

const STATES_PER_MOMENT = 120;

for (const kind of ["posix", "opfs"] as const) {
  for (const encoding of ["zstd", "none"] as const) {
    Deno.test(`whatever a power cut leaves of a medium goes on (${kind}, ${encoding})`, async () => {
      const { states, sessions, refused } = await sweepMedium(kind, encoding, someOf(STATES_PER_MOMENT));
      console.log(`${states} states, ${sessions} with a session, ${refused} refused as damage`);
    });
  }
}
