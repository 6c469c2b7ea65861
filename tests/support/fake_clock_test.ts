import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { FakeClock } from "./fake_clock.ts";
import { seededRandom } from "./seeded_random.ts";

Deno.test("FakeClock.advance() wakes due timers in order, each at its own time", async () => {
  const clock = new FakeClock(1000);
  const seen: [string, number][] = [];
  clock.schedule(20, () => seen.push(["late", clock.now()]));
  clock.schedule(10, () => seen.push(["first", clock.now()]));
  clock.schedule(10, () => seen.push(["second", clock.now()]));
  clock.schedule(21, () => seen.push(["never", clock.now()]));
  await clock.advance(20);
  assertEquals(seen, [["first", 1010], ["second", 1010], ["late", 1020]]);
  assertEquals([clock.now(), clock.pendingTimers, clock.nextTimerMs], [1020, 1, 1]);
});

Deno.test("FakeClock.advance() wakes timers that woken code and its promises set", async () => {
  const clock = new FakeClock(0);
  const seen: number[] = [];
  const tick = async () => {
    seen.push(clock.now());
    await Promise.resolve();
    clock.schedule(5, tick);
  };
  clock.schedule(5, tick);
  await clock.advance(17);
  assertEquals(seen, [5, 10, 15]);
});

Deno.test("FakeClock.schedule() never wakes a timer that was cancelled, even by the one before it", async () => {
  const clock = new FakeClock(0);
  const cancelOther = clock.schedule(5, () => {
    throw new Error("woken");
  });
  clock.schedule(4, cancelOther);
  await clock.advance(10);
  cancelOther();
  assertThrows(() => clock.schedule(-1, () => {}), RangeError);
});

Deno.test("FakeClock.set() moves the wall clock back without moving timers", async () => {
  const clock = new FakeClock(1000);
  let wokenAt = 0;
  clock.schedule(10, () => wokenAt = clock.now());
  clock.set(0);
  await clock.advance(10);
  assertEquals(wokenAt, 10);
});

Deno.test("seededRandom() repeats for one seed and differs for two", () => {
  assertEquals(seededRandom(7).bytes(32), seededRandom(7).bytes(32));
  assertNotEquals(seededRandom(7).bytes(32), seededRandom(8).bytes(32));
  const random = seededRandom(1);
  const counts = [0, 0, 0, 0];
  for (let draw = 0; draw < 4000; draw++) counts[random.below(4)]!++;
  assertEquals(counts.every((count) => count > 900 && count < 1100), true, counts.join());
});
