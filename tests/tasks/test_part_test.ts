import { assertEquals } from "@std/assert";
import { type Part, runPart } from "./test_part.ts";

async function countsOf(source: string): Promise<Omit<Part, "name">> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-part-" });
  try {
    const file = `${folder}/made_up_test.ts`;
    await Deno.writeTextFile(file, source);
    const { passed, failed, ignored, notRun } = await runPart(
      "made up",
      ["--no-config", file],
      {},
      () => {},
    );
    return { passed, failed, ignored, notRun };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("runPart() counts tests that pass, fail, are ignored, and cases that were not run", async () => {
  const source = `
    Deno.test("a", () => console.log("3 cases not run: no reason (made up)"));
    Deno.test("b", async (t) => { await t.step("c", () => {}); });
    Deno.test("d", () => { throw new Error("d"); });
    Deno.test({ name: "e", ignore: true, fn() {} });
  `;
  assertEquals(await countsOf(source), {
    passed: 2,
    failed: 1,
    ignored: 1,
    notRun: ["3 cases not run: no reason (made up)"],
  });
});

Deno.test("runPart() counts a file that does not compile, or that ends the process, as a failure", async () => {
  const failure = { passed: 0, failed: 1, ignored: 0, notRun: [] };
  assertEquals(await countsOf("const a: number = 'text'; Deno.test('a', () => {});"), failure);
  const killed = await countsOf("Deno.test('a', () => {}); Deno.test('b', () => { Deno.kill(Deno.pid, 'SIGKILL'); });");
  assertEquals(killed, failure);
});
