import { killRun } from "./kill_run.ts";

// The same with 500 kills is kill_soak.ts.
Deno.test("sqlite: after 20 kills at random instants nothing acknowledged is lost (field/D12)", async () => {
  const { kills, between, events, slowestOpenMs } = await killRun(20, 12);
  console.log(
    `${kills} kills, ${events} events, ${between} between commit and word, slowest open ${slowestOpenMs.toFixed(0)} ms`,
  );
});
