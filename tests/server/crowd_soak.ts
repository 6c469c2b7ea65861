/**
 * The crowd in full. Each connection takes a descriptor here and one in the server; where the limit is too low for 1,000, 400 are
 * taken, and the line says so.
 */
import { assert } from "@std/assert";
import { crowdOnOne, manySessions } from "./crowd.ts";

/** How many MiB of heap a client, or a session, may cost at most. */
const CLIENT_MIB_MAX = 0.1;
const SESSION_MIB_MAX = 1;

async function descriptors(): Promise<number> {
  const limits = await Deno.readTextFile("/proc/self/limits").catch(() => "");
  const found = /Max open files\s+(\S+)/.exec(limits)?.[1] ?? "1024";
  return found === "unlimited" ? Infinity : Number(found);
}

Deno.test("1,000 clients on one session, 50 of which never read: bounded memory, no event lost", async () => {
  const clients = await descriptors() >= 2200 ? 1000 : 400;
  const report = await crowdOnOne(clients, clients / 20, 30);
  console.log(JSON.stringify(report));
  const [before, most] = report.heapMiB as [number, number, number];
  assert(most - before <= clients * CLIENT_MIB_MAX, `${clients} clients took ${most - before} MiB`);
});

Deno.test("more than any buffer between us holds: 50 clients that never read neither slow the others nor fill the memory", async () => {
  const report = await crowdOnOne(60, 50, 40, 50_000);
  console.log(JSON.stringify(report));
  const [before, most] = report.heapMiB as [number, number, number];
  assert(most - before <= 100, `the server took ${most - before} MiB`);
});

Deno.test("200 sessions at the same time, each with a client: bounded memory, no event lost", async () => {
  const report = await manySessions(200, 10);
  console.log(JSON.stringify(report));
  const [before, most] = report.heapMiB as [number, number, number];
  assert(most - before <= 200 * SESSION_MIB_MAX, `200 sessions took ${most - before} MiB`);
});
