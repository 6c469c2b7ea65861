import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { pairedRatio, percentile, summarize } from "../../bench/statistics.ts";

Deno.test("percentile() takes the nearest rank of samples in any order, and never a value between two", () => {
  const samples = [30, 10, 20, 50, 40];
  assertEquals([1, 20, 21, 50, 80, 81, 99, 100].map((percent) => percentile(samples, percent)), [
    ...[10, 10, 20, 30, 40, 50, 50, 50],
  ]);
  assertEquals(samples, [30, 10, 20, 50, 40]);
  // Of ten samples in text order, 10 comes before 2.
  assertEquals(percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 100), 10);
});

Deno.test("percentile() is a sample that at least so many do not exceed, and the next smaller one is not", () => {
  const samples = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(samples, fc.integer({ min: 1, max: 100 }), (samples, percent) => {
      const found = percentile(samples, percent);
      const wanted = (percent / 100) * samples.length;
      const smaller = samples.filter((sample) => sample < found).length;
      return samples.includes(found) && samples.filter((sample) => sample <= found).length >= wanted - 1e-9 &&
        smaller < wanted;
    }),
    { seed: 1, numRuns: 300 },
  );
});

Deno.test("percentile() refuses no samples and percentages outside of the range", () => {
  assertThrows(() => percentile([], 50), RangeError, "no samples");
  for (const percent of [0, -1, 101, NaN]) assertThrows(() => percentile([1], percent), RangeError, "percentile");
  assertThrows(() => summarize([]), RangeError);
});

Deno.test("summarize() gives count, p50, p90, p99 and the largest", () => {
  const samples = Array.from({ length: 1000 }, (_, index) => 1000 - index);
  assertEquals(summarize(samples), { count: 1000, p50: 500, p90: 900, p99: 990, max: 1000 });
  assertEquals(summarize([7]), { count: 1, p50: 7, p90: 7, p99: 7, max: 7 });
});

Deno.test("pairedRatio() compares round by round, so that a slow stretch that meets both does not show", () => {
  const baseline = [1, 1, 50, 50, 1, 2, 1];
  const twice = baseline.map((sample) => 2 * sample);
  assertEquals(pairedRatio(twice, baseline), { pairs: 7, p25: 2, p50: 2, p75: 2 });
  // The quotient of the medians would be 100 here: most rounds of one are slow, of the other fast.
  assertEquals(pairedRatio([100, 100, 100, 1, 1], [100, 100, 1, 1, 1])?.p50, 1);
});

Deno.test("pairedRatio() leaves out rounds that only one has and rounds that the clock could not see", () => {
  assertEquals(pairedRatio([4, 9, 9], [2]), { pairs: 1, p25: 2, p50: 2, p75: 2 });
  assertEquals(pairedRatio([4, 6, 8], [0, 3, 0]), { pairs: 1, p25: 2, p50: 2, p75: 2 });
  assertEquals(pairedRatio([1], [0]), null);
  assertEquals(pairedRatio([], []), null);
});
