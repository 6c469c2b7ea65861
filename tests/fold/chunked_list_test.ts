import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ChunkedList } from "../../src/fold/mod.ts";

const itself = (item: unknown) => item;

Deno.test("ChunkedList.with() leaves every older version as it was", () => {
  const none = ChunkedList.from<string>([], itself);
  const a = none.with("a");
  const ab = a.with("b");
  const ac = a.with("c");
  const abd = ab.with("d");
  const lists = [none, a, ab, ac, abd].map((list) => [...list].join(""));
  assertEquals(lists, ["", "a", "ab", "ac", "abd"]);
});

Deno.test("ChunkedList.withSpan() replaces both ends included, in a version of its own", () => {
  const list = ChunkedList.from([0, 1, 2, 3], itself);
  const less = list.withSpan(1, 2, 9);
  assertEquals([list.toArray(), less.toArray(), less.with(4).toArray()], [[0, 1, 2, 3], [0, 9, 3], [0, 9, 3, 4]]);
  assertEquals(list.withSpan(0, 3).toArray(), []);
  assertThrows(() => list.withSpan(3, 4, 9), RangeError);
  assertThrows(() => list.withSpan(-1, 0, 9), RangeError);
});

Deno.test("ChunkedList.at() sees its own version only", () => {
  const one = ChunkedList.from(["a"], itself);
  one.with("b");
  assertEquals([one.at(0), one.at(1), one.at(-1), one.at(-2)], ["a", undefined, "a", undefined]);
});

Deno.test("ChunkedList.from() takes a copy, and JSON gives it back", () => {
  const items = ["a"];
  const list = ChunkedList.from(items, itself);
  items.push("b");
  assertEquals(JSON.stringify({ list }), '{"list":["a"]}');
});

Deno.test("a ChunkedList is an array, whatever is done to it and to older versions of it", () => {
  const change = fc.record({
    kind: fc.constantFrom("with", "with", "span", "older"),
    at: fc.nat(2000),
    size: fc.oneof(fc.constant(1), fc.nat(600)),
    items: fc.array(fc.nat(50), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.nat(1500), fc.array(change, { maxLength: 30 }), (size, changes) => {
      const start = Array.from({ length: size }, (_, index) => index % 50);
      const versions = [{ list: ChunkedList.from(start, itself), array: start }];
      for (const { kind, at, size, items } of changes) {
        const { list, array } = kind === "older" ? versions[at % versions.length]! : versions.at(-1)!;
        const first = array.length === 0 ? 0 : at % array.length;
        const last = Math.min(array.length - 1, first + Math.max(0, size - 1));
        if (kind === "span" && array.length > 0) {
          versions.push({
            list: list.withSpan(first, last, ...items),
            array: array.toSpliced(first, last - first + 1, ...items),
          });
          continue;
        }
        // More than one chunk at once.
        const added = Array.from({ length: size }, (_, index) => index % 50);
        versions.push({
          list: added.reduce((list, item) => list.with(item), list),
          array: [...array, ...added],
        });
      }
      for (const { list, array } of versions) {
        assertEquals([list.length, list.toArray()], [array.length, array]);
        for (const item of [0, 7, 49, 50]) {
          assertEquals(list.findIndex(item), array.indexOf(item));
          assertEquals(list.findIndex(item, () => false), -1);
        }
        for (const at of [0, 255, 256, -1, array.length]) assertEquals(list.at(at), array.at(at));
        assertEquals([...list.between(200, 300)], array.slice(200, 301));
      }
    }),
    { seed: 1, numRuns: 60 },
  );
});
