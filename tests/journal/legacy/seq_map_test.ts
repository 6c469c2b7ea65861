import { assertEquals } from "@std/assert";
import { SeqMap } from "../../../src/journal/legacy/seq_map.ts";
import { seededRandom } from "../../support/seeded_random.ts";

Deno.test("get() gives the new seq of every event that stayed, and null for the others", () => {
  const random = seededRandom(8);
  const map = new SeqMap();
  const plain = new Map<number, number>();
  let next = 0;
  for (let seq = 0; seq < 2000; seq++) {
    if (random.below(10) === 0) seq += random.below(4);
    if (random.below(20) === 0) next += random.below(3);
    map.add(seq, next);
    plain.set(seq, next++);
  }
  for (let seq = -1; seq < 2010; seq++) assertEquals(map.get(seq), plain.get(seq) ?? null, String(seq));
});
