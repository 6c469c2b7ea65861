import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { CorruptLogError } from "../../src/errors.ts";
import { decodeSourceEventSeqs, encodeSourceEventSeqs, SOURCE_SEQS_MAX } from "../../src/event/mod.ts";
import { sourceSeqs } from "./arbitraries.ts";

Deno.test("encodeSourceEventSeqs() makes a pair of three or more, two numbers of two, and leaves other orders alone", () => {
  const cases: [number[], unknown][] = [
    [[4], [4]],
    [[4, 5], [4, 5]],
    [[4, 5, 6], [[4, 6]]],
    [[0, 1, 2, 3, 7, 8, 10, 12, 13, 14], [[0, 3], 7, 8, 10, [12, 14]]],
    [[3, 1, 2], [3, 1, 2]],
    [[9, 10, 11, 1], [9, 10, 11, 1]],
    [[1, 2, 2], [1, 2, 2]],
    [[], []],
  ];
  for (const [seqs, physical] of cases) assertEquals(encodeSourceEventSeqs(seqs) as unknown, physical);
});

Deno.test("decodeSourceEventSeqs() undoes encodeSourceEventSeqs(), through text", () => {
  fc.assert(
    fc.property(sourceSeqs, (seqs) => {
      const physical = JSON.parse(JSON.stringify(encodeSourceEventSeqs(seqs)));
      assertEquals([...decodeSourceEventSeqs(physical, 20)], seqs);
      assert(physical.length <= seqs.length);
    }),
    { seed: 3, numRuns: 500 },
  );
});

Deno.test("decodeSourceEventSeqs() accepts short ranges that another writer may have made", () => {
  assertEquals([...decodeSourceEventSeqs([[2, 2], [3, 4]], 5)], [2, 3, 4]);
  assertEquals([...decodeSourceEventSeqs([4, 1, 3], 5)], [4, 1, 3]);
});

Deno.test("decodeSourceEventSeqs() refuses every broken list with one clear error", () => {
  const cases: [unknown, string][] = [
    [null, "found null, expected a list"],
    [{}, "found an object, expected a list"],
    [3, "found 3, expected a list"],
    [[], "found an empty list"],
    [["1"], 'found "1", expected a seq'],
    [[-1], "found -1, expected a seq"],
    [[-0], "found -0, expected a seq"],
    [[1.5], "found 1.5, expected a seq"],
    [[null], "found null, expected a seq"],
    [[7], "found seq 7, which is not before the event itself"],
    [[[1, 7]], "found seq 7, which is not before the event itself"],
    [[[1]], "found a range of 1 numbers"],
    [[[1, 2, 3]], "found a range of 3 numbers"],
    [[[3, 1]], "found a range that runs from 3 down to 1"],
    [[[1, "2"]], 'found "2", expected a seq'],
    [[2, 2], "found the same seq twice"],
    [[3, 1, 3], "found the same seq twice"],
    [[[1, 3], 3], "found ranges in a list that does not rise strictly"],
    [[5, [1, 3]], "found ranges in a list that does not rise strictly"],
    [[[0, 5], [0, 5]], "found more than 7 seqs"],
  ];
  for (const [value, message] of cases) {
    const error = assertThrows(() => decodeSourceEventSeqs(value, 7), CorruptLogError, message);
    assertEquals(error.seq, 7);
  }
});

Deno.test("decodeSourceEventSeqs() allocates no more than its bound, whatever seq the row claims", () => {
  const far = Number.MAX_SAFE_INTEGER;
  assertThrows(
    () => decodeSourceEventSeqs([[0, far - 1]], far),
    CorruptLogError,
    `found more than ${SOURCE_SEQS_MAX} seqs`,
  );
});
