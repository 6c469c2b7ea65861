import { assert, assertEquals } from "@std/assert";
import { isEvent, type SessionEvent } from "../../src/event/mod.ts";
import { happened, LOG, rehearsal, sweepBytes, sweepOperations } from "./crash_world.ts";

/** Every so many bytes of a log, in the quick run. All of them are the soak's. */
const STRIDE_BYTES = { zstd: 29, none: 97 } as const;

Deno.test("the log of the sweep has everything that may be torn in it", async () => {
  for (const encoding of ["zstd", "none"] as const) {
    const { events } = await rehearsal(encoding);
    const counts = happened(events);
    for (const [what, count] of Object.entries(counts)) assert(count >= 1, `${encoding}: no ${what}`);
    assertEquals(counts.ended, counts.automatic! + counts.manual!);
  }
});

Deno.test("compaction/C-25: a log cut behind any event of a spill, a prune or a bracket goes on, with a request that providers take", async () => {
  const { files } = await rehearsal("none");
  const bytes = files.get(LOG.none)!;
  const ends = new Set<number>();
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x0a) ends.add(at + 1);
  const states = await sweepBytes("none", (cutBytes) => ends.has(cutBytes));
  console.log(`${states} logs that end with an event`);
  assert(states >= 80);
});

for (const encoding of ["zstd", "none"] as const) {
  Deno.test(`a log cut inside of any event goes on, and what it names is there (${encoding})`, async () => {
    const states = await sweepBytes(encoding, (cutBytes) => cutBytes % STRIDE_BYTES[encoding] === 0);
    console.log(`${states} torn logs`);
    assert(states > 50);
  });

  Deno.test(`a machine that dies in any operation leaves no log that names a blob which is not there (${encoding})`, async () => {
    const { states, sessions } = await sweepOperations(encoding, (steps) => new Set([0, steps >> 1, steps]));
    console.log(`${states} states, ${sessions} of them with a session`);
    assert(sessions > states / 2);
  });
}

Deno.test("a spilled result is named by an event before the result that needs it", async () => {
  const { events } = await rehearsal("none");
  for (const event of events) {
    if (!isEvent(event, "result/spilled")) continue;
    const isAnswer = (other: SessionEvent) =>
      isEvent(other, "tool/result") && other.data.message.source.callId === event.data.callId;
    assert(events.findIndex(isAnswer) > event.seq);
  }
});
