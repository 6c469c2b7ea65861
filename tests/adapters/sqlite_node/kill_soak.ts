import { killRun } from "./kill_run.ts";

const KILLS = 500;

Deno.test(`sqlite: after ${KILLS} kills at random instants nothing acknowledged is lost (field/D12)`, async () => {
  const { kills, between, events, slowestOpenMs } = await killRun(KILLS, 500);
  console.log(
    `${kills} kills, ${events} events, ${between} between commit and word, slowest open ${slowestOpenMs.toFixed(0)} ms`,
  );
});
