import { assert } from "@std/assert";
import { crowdOnOne, manySessions } from "./crowd.ts";

Deno.test("60 clients on one session, 10 of which never read: nobody misses an event or gets one twice, and nobody waits", async () => {
  const report = await crowdOnOne(60, 10, 20);
  console.log(JSON.stringify(report));
  assert(report.frames >= 50 * 20 * 8);
});

Deno.test("more than any buffer between us holds: 4 clients that never read neither slow the others nor fill the memory", async () => {
  const report = await crowdOnOne(8, 4, 40, 50_000);
  console.log(JSON.stringify(report));
  const [before, most] = report.heapMiB as [number, number, number];
  assert(most - before <= 60, `the server took ${most - before} MiB`);
});

Deno.test("20 sessions at the same time, each with a client: no event is lost", async () => {
  const report = await manySessions(20, 3);
  console.log(JSON.stringify(report));
  assert(report.events >= 20 * 3 * 8);
});
