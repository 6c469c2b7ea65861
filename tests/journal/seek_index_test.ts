import { assert, assertEquals } from "@std/assert";
import { SeekIndex } from "../../src/journal/seek_index.ts";

Deno.test("find() gives the last place that is not behind the event", () => {
  const index = new SeekIndex();
  assertEquals(index.find(0), null);
  for (let place = 0; place < 1000; place++) index.add(place * 5000, place * 3);
  for (let seq = 0; seq < 3200; seq++) {
    const place = Math.min(999, Math.floor(seq / 3));
    assertEquals(index.find(seq), { offsetBytes: place * 5000, seq: place * 3 });
  }
});

Deno.test("add() leaves out places that are near, and keeps to its bound by getting coarser", () => {
  const index = new SeekIndex(16);
  for (let place = 0; place < 100_000; place++) index.add(place * 100, place);
  assert(index.length <= 16 && index.length >= 8, `${index.length} places`);
  assertEquals(index.find(0), { offsetBytes: 0, seq: 0 });
  const found = index.find(50_000)!;
  assertEquals(found.offsetBytes, found.seq * 100);
  // Never further away than two strides: 16 places over the whole file.
  assert(found.seq <= 50_000 && found.seq > 50_000 - 2 * 100_000 / 8, `${found.seq}`);
});
