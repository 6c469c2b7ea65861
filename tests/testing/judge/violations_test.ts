import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CHECKERS } from "../../../src/testing/judge/mod.ts";
import { judge } from "./story.ts";
import { LAWFUL_COMPACTIONS, VIOLATIONS } from "./violations.ts";

for (const [name, { by, says, trace }] of Object.entries(VIOLATIONS)) {
  Deno.test(`judge() finds by ${by.join(" and ")}: ${name}`, () => {
    const found = judge(trace());
    assertEquals([...new Set(found.map(({ checker }) => checker))], by, JSON.stringify(found, null, 1));
    assertStringIncludes(found.map(({ message }) => message).join("\n"), says);
  });
}

for (const [name, trace] of Object.entries(LAWFUL_COMPACTIONS)) {
  Deno.test(`judge() finds nothing wrong with ${name}`, () => assertEquals(judge(trace()), []));
}

Deno.test("every checker finds something that no other checker finds", () => {
  for (const checker of CHECKERS) {
    const own = Object.values(VIOLATIONS).filter(({ by }) => by.length === 1 && by[0] === checker);
    assert(own.length >= 3, `${checker} is tried with ${own.length} traces of its own`);
  }
});
