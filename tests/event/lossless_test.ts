import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { deepEqualJson, freezeJson, JSON_DEPTH_MAX, type JsonValue, snapshotJson } from "../../src/event/mod.ts";
import { json } from "./arbitraries.ts";

Deno.test("snapshotJson() equals the round trip through JSON text, for any lossless value", () => {
  fc.assert(
    fc.property(json, (value) => {
      const copy = snapshotJson(value, "data");
      const text = JSON.stringify(copy);
      assertStrictEquals(text, JSON.stringify(value));
      // Not assertEquals: it takes a member named "constructor" for the class.
      assert(deepEqualJson(copy, JSON.parse(text)));
      assert(isFrozenAllTheWay(copy));
    }),
    { seed: 1, numRuns: 500 },
  );
});

Deno.test("snapshotJson() refuses what would not come back, and names the place", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = [cycle];
  const hole = [1, , 3]; // deno-lint-ignore-line no-sparse-arrays
  class Point {
    x = 1;
  }
  const cases: [unknown, string][] = [
    [-0, "data as lossless JSON: found -0"],
    [{ a: [1, -0] }, "data.a[1] as lossless JSON: found -0"],
    [{ a: NaN }, "data.a as lossless JSON: found NaN"],
    [[Infinity], "data[0] as lossless JSON: found Infinity"],
    [[-Infinity], "data[0] as lossless JSON: found -Infinity"],
    [undefined, "data as lossless JSON: found undefined"],
    [{ a: undefined }, "data.a as lossless JSON: found undefined"],
    [[undefined], "data[0] as lossless JSON: found undefined"],
    [hole, "data[1] as lossless JSON: found a hole"],
    [new Array(3), "data[0] as lossless JSON: found a hole"],
    [cycle, "data.self[0] as lossless JSON: found a cycle"],
    [{ f: () => 1 }, "data.f as lossless JSON: found a function"],
    [{ toJSON: () => 1 }, "data.toJSON as lossless JSON: found a function"],
    [Symbol("s"), "data as lossless JSON: found a symbol"],
    [{ n: 1n }, "data.n as lossless JSON: found a bigint"],
    [{ [Symbol("s")]: 1 }, "data as lossless JSON: found a symbol or non-enumerable key"],
    [Object.defineProperty({}, "x", { value: 1 }), "data as lossless JSON: found a symbol or non-enumerable key"],
    [{ d: new Date(0) }, "data.d as lossless JSON: found an object that is not plain"],
    [new Map(), "data as lossless JSON: found an object that is not plain"],
    [new Uint8Array(1), "data as lossless JSON: found an object that is not plain"],
    [new Point(), "data as lossless JSON: found an object that is not plain"],
    [Object("boxed"), "data as lossless JSON: found an object that is not plain"],
    [new (class extends Array {})(), "data as lossless JSON: found an array that is not plain"],
    [Object.assign([1], { extra: 1 }), "data as lossless JSON: found an array with named properties"],
  ];
  for (const [value, message] of cases) assertThrows(() => snapshotJson(value, "data"), TypeError, message);
});

Deno.test("snapshotJson() keeps lone surrogates, which come back from the disk as they were", () => {
  const value = { "k\ud800": "ok \ud83d", both: "\ud83d\udc33" };
  assertEquals(JSON.parse(JSON.stringify(snapshotJson(value, "data"))), value);
});

Deno.test("snapshotJson() keeps a member named __proto__ as a member", () => {
  const copy = snapshotJson(JSON.parse('{"__proto__":{"a":1}}'), "data");
  assertStrictEquals(JSON.stringify(copy), '{"__proto__":{"a":1}}');
  assertStrictEquals(Object.getPrototypeOf(copy), Object.prototype);
});

Deno.test("snapshotJson() reads a getter once", () => {
  let reads = 0;
  const copy = snapshotJson(
    {
      get answer() {
        return ++reads;
      },
    },
    "data",
  );
  assertEquals([copy, copy, reads], [{ answer: 1 }, { answer: 1 }, 1]);
});

Deno.test("snapshotJson() is not changed by what the caller does afterwards", () => {
  const inner = [1];
  const copy = snapshotJson({ inner, again: inner }, "data");
  inner.push(2);
  assertEquals(copy, { inner: [1], again: [1] });
});

Deno.test("snapshotJson() refuses deep nesting with a TypeError, and takes the bound itself", () => {
  assertThrows(() => snapshotJson(nested(JSON_DEPTH_MAX + 1), "data"), TypeError, `more than ${JSON_DEPTH_MAX} levels`);
  assertThrows(() => snapshotJson(nested(200_000), "data"), TypeError, "…");
  const text = JSON.stringify(snapshotJson(nested(JSON_DEPTH_MAX), "data"));
  assertStrictEquals(text.length, 2 * JSON_DEPTH_MAX);
});

Deno.test("deepEqualJson() agrees with the text when keys are in one order, and ignores their order", () => {
  fc.assert(
    fc.property(json, json, (left, right) => {
      assert(deepEqualJson(left, JSON.parse(JSON.stringify(left))));
      const isSame = JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
      assertStrictEquals(deepEqualJson(left, right), isSame);
    }),
    { seed: 2, numRuns: 500 },
  );
  assert(!deepEqualJson([], {}) && !deepEqualJson({}, null) && !deepEqualJson({ a: 1 }, { b: 1 }));
  assert(!deepEqualJson([1], [1, 2]) && !deepEqualJson({ toString: 1 }, { a: 1 }));
});

Deno.test("deepEqualJson() and freezeJson() take values deeper than the call stack", () => {
  const deep = nested(200_000);
  assert(deepEqualJson(deep, nested(200_000)));
  assert(!deepEqualJson(deep, nested(200_001)));
  assert(Object.isFrozen((freezeJson(deep) as JsonValue[])[0]));
});

function nested(levels: number): JsonValue {
  let value: JsonValue = [];
  for (let level = 1; level < levels; level++) value = [value];
  return value;
}

function sorted(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).map(([key, member]): [string, JsonValue] => [key, sorted(member as JsonValue)]);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function isFrozenAllTheWay(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every((member) => isFrozenAllTheWay(member as JsonValue));
}
