import { assertEquals, assertRejects } from "@std/assert";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { EventCursor, type ReadOnce } from "../../../src/journal/generations/event_cursor.ts";

function eventAt(seq: number): SessionEvent {
  return { type: "feedback/record", seq, time: seq, data: { text: "x" } };
}

/** Something that gives events in batches, and counts how often it is read and how many batches were taken. */
function counted(count: number, batch: number, fails?: Error) {
  const seen = { readings: 0, batches: 0, ended: 0 };
  const readOnce: ReadOnce = async (sink, signal) => {
    seen.readings++;
    try {
      for (let seq = 0; seq < count; seq += batch) {
        signal.throwIfAborted();
        seen.batches++;
        const size = Math.min(batch, count - seq);
        await sink(Array.from({ length: size }, (_, index) => eventAt(seq + index)), 100);
      }
      if (fails !== undefined) throw fails;
    } finally {
      seen.ended++;
    }
  };
  return { readOnce, seen };
}

const seqs = (events: readonly SessionEvent[]) => events.map(({ seq }) => seq);

Deno.test("EventCursor gives pages in order from one reading, and begins anew to go back", async () => {
  const { readOnce, seen } = counted(10, 3);
  const cursor = new EventCursor(readOnce);
  assertEquals(seqs(await cursor.read(0, 4)), [0, 1, 2, 3]);
  assertEquals(seqs(await cursor.read(4, 2)), [4, 5]);
  assertEquals(seqs(await cursor.read(7, 9)), [7, 8, 9]);
  assertEquals(await cursor.read(10, 1), []);
  assertEquals(await cursor.read(99, 1), []);
  assertEquals(seen.readings, 1);
  assertEquals(seqs(await cursor.read(2, 2)), [2, 3]);
  assertEquals(seen.readings, 2);
  cursor.close();
});

Deno.test("EventCursor reads no further than it is asked, and ends what it began", async () => {
  const { readOnce, seen } = counted(1000, 1);
  const cursor = new EventCursor(readOnce);
  assertEquals(seqs(await cursor.read(0, 2)), [0, 1]);
  assertEquals(seen.batches <= 4, true, `${seen.batches} batches`);
  cursor.close();
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  assertEquals(seen.ended, 1);
});

Deno.test("EventCursor passes on what a reading fails with, whenever it is asked", async () => {
  const { readOnce } = counted(2, 1, new Error("the disk is gone"));
  const cursor = new EventCursor(readOnce);
  assertEquals(seqs(await cursor.read(0, 2)), [0, 1]);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  for (const from of [2, 2, 5]) await assertRejects(() => cursor.read(from, 1), Error, "the disk is gone");
});
