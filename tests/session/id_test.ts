import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { newSessionId } from "../../src/session/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";

Deno.test("newSessionId() gives 14 characters that nobody misreads", () => {
  const random = seededRandom(1);
  for (let round = 0; round < 200; round++) {
    assertMatch(newSessionId(new FakeClock(random.below(2 ** 31) * 1000), random), /^[0-9a-hjkmnp-tv-z]{14}$/);
  }
});

Deno.test("newSessionId() sorts by time, as text", () => {
  const random = seededRandom(2);
  const times = [0, 1, 31, 32, 999, 1_700_000_000_000, 1_700_000_000_001, 4_102_444_800_000, 2 ** 50 - 1];
  const ids = times.map((time) => newSessionId(new FakeClock(time), random));
  assertEquals(ids, ids.toSorted());
});

Deno.test("newSessionId() differs within one millisecond", () => {
  const clock = new FakeClock(5);
  const random = seededRandom(3);
  assertNotEquals(newSessionId(clock, random), newSessionId(clock, random));
});
