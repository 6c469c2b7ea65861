import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { NotFoundError } from "../../src/errors.ts";
import { check, checkEquals, checkRejects } from "../../src/testing/check.ts";

Deno.test("check() throws with its message when the condition does not hold", () => {
  check(true, "never");
  assertThrows(() => check(0, "zero"), Error, "zero");
});

Deno.test("checkEquals() accepts equal values of every kind it knows", () => {
  checkEquals({ a: [1, { b: null }], c: undefined }, { a: [1, { b: null }] } as never);
  checkEquals(new Uint8Array([1, 2]), new Uint8Array([0, 1, 2, 3]).subarray(1, 3));
  checkEquals(new Map([[1, [2]]]), new Map([[1, [2]]]));
  checkEquals(new Set(["a"]), new Set(["a"]));
  checkEquals(NaN, NaN);
});

Deno.test("checkEquals() refuses values that differ and names the path", () => {
  const different: [unknown, unknown, string][] = [
    [1, 2, "found 1, wanted 2"],
    [1, "1", "found 1, wanted 1"],
    [0, -0, "found 0, wanted -0"],
    [null, undefined, "found null, wanted undefined"],
    [[1], [1, 2], "found 1 items, wanted 2"],
    [{ 0: 1 }, [1], "wanted [1]"],
    [{ a: { b: 1 } }, { a: { b: 2 } }, "at .a.b found 1, wanted 2"],
    [{ a: 1 }, {}, "at .a found 1, wanted undefined"],
    [{}, { a: 1 }, "at .a found undefined, wanted 1"],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3]), "byte 1 is 2, wanted 3"],
    [new Uint8Array([1]), new Uint8Array([1, 3]), "found 1 bytes, wanted 2"],
    [new Uint8Array([1]), [1], "wanted [1]"],
    [new Map([[1, 2]]), new Map([[1, 3]]), "found 2, wanted 3"],
  ];
  for (const [actual, expected, message] of different) {
    assertThrows(() => checkEquals(actual, expected, "it"), Error, message);
  }
});

Deno.test("checkRejects() returns the expected error and refuses everything else", async () => {
  const error = new NotFoundError('Cannot read "a": no such file');
  assertEquals(await checkRejects(() => Promise.reject(error), "NOT_FOUND"), error);
  await checkRejects(() => Promise.reject(new RangeError("x")), "RangeError");
  await assertRejects(() => checkRejects(() => Promise.resolve(1), "NOT_FOUND"), Error, "nothing was thrown");
  await assertRejects(() => checkRejects(() => Promise.reject(error), "LOCK_HELD"), Error, "found NOT_FOUND");
  await assertRejects(() => checkRejects(() => Promise.reject(error), "RangeError"), Error, "found NOT_FOUND");
});
