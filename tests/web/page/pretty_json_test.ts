import { assertEquals } from "@std/assert";
import { prettyJson } from "../../../web/page/pretty_json.ts";

Deno.test("prettyJson() keeps a key that is there twice, as the log has it", () => {
  assertEquals(prettyJson('{"to":"alice","to":"mallory"}'), '{\n  "to": "alice",\n  "to": "mallory"\n}');
});

Deno.test("prettyJson() keeps numbers that parsing would round, and escapes as they were written", () => {
  const text = '[12345678901234567890,1e400,-0,0.10,"\\u0041\\"\\\\"]';
  assertEquals(prettyJson(text), '[\n  12345678901234567890,\n  1e400,\n  -0,\n  0.10,\n  "\\u0041\\"\\\\"\n]');
});

Deno.test("prettyJson() loses no token: what it gives parses to the same, however empty or spaced", () => {
  for (const text of ["{}", "[]", "[[],{}]", ' { "a" : [ 1 , { "b:,{" : null } ] } ', '"x"', "7", "true"]) {
    assertEquals(JSON.parse(prettyJson(text)), JSON.parse(text), text);
  }
  assertEquals(prettyJson("[[],{}]"), "[\n  [],\n  {}\n]");
});

Deno.test("prettyJson() leaves what is no JSON as it stands", () => {
  for (const text of ["", "pay bob", '{"a":', '{"a":1}}', '"\n"']) assertEquals(prettyJson(text), text);
});

Deno.test("prettyJson() stays in proportion to a text that is nested deeply", () => {
  const depth = 20_000;
  const pretty = prettyJson("[".repeat(depth) + "]".repeat(depth));
  assertEquals(pretty.length < depth * 2 * 70, true, `${pretty.length} characters`);
  assertEquals(pretty.replace(/\s/g, "").length, depth * 2);
});
