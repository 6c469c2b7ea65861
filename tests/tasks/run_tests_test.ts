import { assertEquals } from "@std/assert";
import { sourceFiles } from "../support/module_graph.ts";

Deno.test("no task is taken for a test by its name: one that runs the tests would run itself, for ever", async () => {
  // The names `deno test` looks for: test.ts, *.test.ts, *_test.ts.
  const looksLikeTest = (path: string) => /(^|\/)([^/]*[._])?test\.tsx?$/.test(path);
  const found: string[] = [];
  for (const path of sourceFiles("tests").filter(looksLikeTest)) {
    if (!/\bDeno\.test\b/.test(await Deno.readTextFile(path))) found.push(path);
  }
  assertEquals(found, []);
});
