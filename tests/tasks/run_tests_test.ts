import { assertEquals } from "@std/assert";
import { sourceFiles } from "../support/module_graph.ts";

Deno.test("no task is taken for a test or a soak by its name: it would run itself, for ever", async () => {
  // The names `deno test` looks for: test.ts, *.test.ts, *_test.ts; and those `deno task soak` looks for.
  const looksLikeTest = (path: string) => /(^|\/)([^/]*[._])?test\.tsx?$|_soak\.ts$/.test(path);
  const found: string[] = [];
  for (const path of sourceFiles("tests").filter(looksLikeTest)) {
    if (!/\bDeno\.test\b/.test(await Deno.readTextFile(path))) found.push(path);
  }
  assertEquals(found, []);
});
