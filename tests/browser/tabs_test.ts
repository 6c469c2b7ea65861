import { assert, assertEquals } from "@std/assert";
import { seedsFrom } from "../kill/kill_run.ts";
import { wholeLog } from "./support/judge.ts";
import { judgeLog } from "./support/judge_log.ts";
import { Lab } from "./support/lab.ts";
import { ANY_TAKEOVER_MS_MAX, runSchedules, schedulesInWords } from "./support/schedules.ts";
import { verifyLogs } from "./support/verify.ts";

Deno.test("40 random schedules of three tabs: no fork, each input executed once, nobody stuck", async () => {
  const report = await runSchedules(seedsFrom(1, 40), ANY_TAKEOVER_MS_MAX);
  console.log(schedulesInWords(report));
  if (report.schedules < 40) return; // Named seeds are for looking closer.
  assert(report.takeoverMs.length >= 20, `only ${report.takeoverMs.length} takeovers`);
  assert((report.calls.done ?? 0) >= 20, `only ${report.calls.done} calls were done`);
});

Deno.test("an owner that is hidden and idle lets go; who is looked at has the session; a hidden tab opens it at its next input", async () => {
  await using lab = await Lab.open();
  const hidden = await lab.openTab("hidden", { isWindow: true });
  const { id } = await hidden.call("create", {});
  await hidden.converse(id, "first", "first");

  // A second tab of the same window hides the first.
  const shown = await lab.openTab("shown");
  assertEquals(await hidden.tab.evaluate("document.visibilityState"), "hidden");
  await shown.call("attach", { id });
  await shown.untilRole(id, "viewer");
  await shown.untilRole(id, "owner");
  await hidden.untilRole(id, "viewer", hidden.reports.length - 1);
  await hidden.converse(id, "forwarded", "forwarded");

  // The tab stays hidden in its window's background, so nobody takes the session until somebody needs it.
  await lab.openTab("without a session");
  await shown.untilRole(id, "released", shown.reports.length);
  await hidden.untilRole(id, "released");
  await hidden.converse(id, "opens it", "opens it");
  assertEquals((await hidden.untilRole(id, "owner")).role, { kind: "owner" });
  const told = [hidden, shown].flatMap((tab) => tab.toldByEachWorker(id));

  const log = await hidden.export(id);
  const inputs = ["first", "forwarded", "opens it"];
  judgeLog({ rows: wholeLog(log), told, arrivals: [], inputs });
  await verifyLogs(new Map([["the log", log]]));
});
