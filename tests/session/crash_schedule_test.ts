import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../mod.ts";
import { bundleForNode, findNode } from "../support/node.ts";
import { runSchedule, type ScheduleResult } from "./crash_schedule.ts";

const here = await runSchedule();

Deno.test("the schedule meets every class of evidence, and no payment is made twice or called absent when it was made", () => {
  assert(here.logs.length > 30);
  assertEquals(new Set(here.payments), new Set([0, 1, 2]));
  for (const [index, log] of here.logs.entries()) {
    const events = JSON.parse(log) as SessionEvent[];
    const text = (event: SessionEvent) => JSON.stringify(event.data);
    const known = events.filter((event) => event.type === "tool/result" && text(event).includes("receipt")).length;
    assertEquals(known, here.payments[index], `run ${index}`);
    const unknown = events.filter((event) => text(event).includes("TOOL_OUTCOME_UNKNOWN"));
    assertEquals(unknown, [], `run ${index}: the bank can always tell`);
  }
  for (const found of ["happened", "absent", "TOOL_NOT_STARTED"]) {
    assert(here.logs.some((log) => log.includes(`"${found}"`)), found);
  }
});

async function inBundle(entry: string, run: (bundle: string) => Promise<ScheduleResult>): Promise<ScheduleResult> {
  const bundle = await bundleForNode(entry);
  try {
    return await run(bundle);
  } finally {
    await Deno.remove(bundle.replace(/\/[^/]*$/, ""), { recursive: true });
  }
}

Deno.test("exec/C24: the same crash schedule leaves the same logs in Node", async () => {
  const node = await findNode();
  const there = await inBundle("tests/session/crash_schedule_node.ts", async (bundle) => {
    const { success, stdout, stderr } = await new Deno.Command(node, { args: [bundle] }).output();
    assert(success, new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout));
  });
  assertEquals(there, here);
});

Deno.test("exec/C24: the same crash schedule leaves the same logs in a worker", async () => {
  const there = await inBundle("tests/session/crash_schedule_worker.ts", async (bundle) => {
    const worker = new Worker(new URL(`file://${bundle}`), { type: "module" });
    const answer = Promise.withResolvers<ScheduleResult>();
    worker.onmessage = ({ data }) => answer.resolve(data);
    worker.onerror = (event) => (event.preventDefault(), answer.reject(new Error(event.message)));
    try {
      return await answer.promise;
    } finally {
      worker.terminate();
    }
  });
  assertEquals(there, here);
});
