import { assertEquals } from "@std/assert";
import { SharedList } from "../../src/fold/mod.ts";

Deno.test("SharedList.with() leaves every older version as it was", () => {
  const none = SharedList.from<string>([]);
  const a = none.with("a");
  const ab = a.with("b");
  const ac = a.with("c");
  const abd = ab.with("d");
  const lists = [none, a, ab, ac, abd].map((list) => [...list].join(""));
  assertEquals(lists, ["", "a", "ab", "ac", "abd"]);
});

Deno.test("SharedList.withSpan() replaces both ends included, in a list of its own", () => {
  const list = SharedList.from([0, 1, 2, 3]);
  const less = list.withSpan(1, 2, 9);
  assertEquals([list.toArray(), less.toArray(), less.with(4).toArray()], [[0, 1, 2, 3], [0, 9, 3], [0, 9, 3, 4]]);
});

Deno.test("SharedList.at() sees its own version only", () => {
  const one = SharedList.from(["a"]);
  one.with("b");
  assertEquals([one.at(0), one.at(1), one.at(-1), one.at(-2)], ["a", undefined, "a", undefined]);
});

Deno.test("SharedList.from() takes a copy, and JSON gives it back", () => {
  const items = ["a"];
  const list = SharedList.from(items);
  items.push("b");
  assertEquals(JSON.stringify({ list }), '{"list":["a"]}');
});
