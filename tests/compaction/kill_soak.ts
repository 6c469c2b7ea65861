/**
 * A kill at every event of the script from the first turn on, on a real disk.
 *
 * @module
 */
import { killRuns } from "./kill_runs.ts";

Deno.test("a process that is killed at any event leaves a session that goes on", async () => {
  const { runs, sessions } = await killRuns(6, 1);
  console.log(`${runs} kills, ${sessions} of them left a session`);
});
