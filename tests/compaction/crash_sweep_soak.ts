/**
 * The crash sweep over every byte of the log, and over many of every operation of the disk.
 *
 * @module
 */
import { sweepBytes, sweepOperations } from "./crash_world.ts";

for (const encoding of ["zstd", "none"] as const) {
  Deno.test(`a log cut at any byte goes on (${encoding})`, async () => {
    console.log(`${await sweepBytes(encoding, () => true)} torn logs`);
  });

  Deno.test(`a machine that dies inside of any operation leaves a session that goes on (${encoding})`, async () => {
    const { states, sessions } = await sweepOperations(encoding, function* (steps) {
      // The bytes of the log are swept above; here the other files and the names matter.
      for (let step = 0; step < steps; step += Math.max(1, steps >> 5)) yield step;
      yield steps;
    });
    console.log(`${states} states, ${sessions} of them with a session`);
  });
}
