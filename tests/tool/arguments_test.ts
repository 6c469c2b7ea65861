import { assertEquals, assertThrows } from "@std/assert";
import { parseArguments } from "../../src/tool/arguments.ts";
import { defineTool, readArguments, ToolError } from "../../src/tool/mod.ts";

Deno.test("parseArguments() refuses JSON that would not survive the log, and freezes the rest deeply", () => {
  for (const raw of ['{"n":-0}', '{"n":1e999}', `${"[".repeat(100_000)}${"]".repeat(100_000)}`]) {
    assertThrows(() => parseArguments(raw), ToolError, "not lossless JSON");
  }
  const args = parseArguments('{"a":[{"b":1}]}') as { a: { b: number }[] };
  assertThrows(() => args.a[0]!.b = 2, TypeError);
});

Deno.test("exec/T10: readArguments() names every argument that is wrong, and lets others be", () => {
  const shape = { path: "string", depth: "number?", headers: "object?" } as const;
  assertEquals({ ...readArguments({ path: "a", extra: 1 }, shape) } as unknown, { path: "a" });
  assertEquals({ ...readArguments({ path: "a", depth: null }, shape) } as unknown, { path: "a" });
  const error = assertThrows(() => readArguments({ depth: "x", headers: [] }, shape), ToolError);
  assertEquals(
    error.message,
    'invalid arguments: path must be a string, found nothing; depth must be a number, found "x"; headers must be an object, found []',
  );
  for (const args of ["{oops", null, 7, []]) assertThrows(() => readArguments(args, shape), ToolError, "an object");
  assertThrows(() => readArguments({}, { constructor: "string" as const }), ToolError, "found nothing");
});

Deno.test("defineTool() refuses a name that no provider takes", () => {
  const definition = { description: "", parameters: {}, execute: () => "" };
  for (const name of ["", "two words", "x".repeat(65), "ümlaut"]) {
    assertThrows(() => defineTool({ ...definition, name }), TypeError, "A-Z");
  }
});
