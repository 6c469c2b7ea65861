import { assert, assertEquals } from "@std/assert";

Deno.test("the judge imports nothing but its own files, so that it shares no fault with what it judges", async () => {
  const folder = new URL("../../../src/testing/judge/", import.meta.url);
  let imports = 0;
  for await (const { name } of Deno.readDir(folder)) {
    // Examples stand in comments, and may import what they like.
    const source = Deno.readTextFileSync(new URL(name, folder)).replace(/^ \*.*$/gm, "");
    for (const [, specifier] of source.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
      assertEquals(/^\.\/[a-z_]+\.ts$/.test(specifier!), true, `${name} imports ${specifier}`);
      imports++;
    }
  }
  assert(imports > 20, `${imports} imports were looked at`);
});
