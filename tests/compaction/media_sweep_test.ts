import { assert } from "@std/assert";
import { someOf, sweepMedium } from "./crash_world.ts";

/** How many states of one moment are tried here; the soak takes more. */
const STATES_PER_MOMENT = 3;

for (const kind of ["posix", "opfs"] as const) {
  for (const encoding of ["zstd", "none"] as const) {
    Deno.test(`compaction, prune and spill: whatever a power cut leaves of a medium goes on (${kind}, ${encoding})`, async () => {
      const { states, sessions, refused } = await sweepMedium(kind, encoding, someOf(STATES_PER_MOMENT));
      console.log(`${states} states, ${sessions} with a session, ${refused} refused as damage`);
      assert(sessions > states / 2, `${sessions} of ${states}`);
    });
  }
}
