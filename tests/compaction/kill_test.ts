import { killRuns } from "./kill_runs.ts";

Deno.test("a process that is killed while it spills, prunes or compacts leaves a session that goes on", async () => {
  const { runs, sessions } = await killRuns(6, 13);
  console.log(`${runs} kills, ${sessions} of them left a session`);
});
