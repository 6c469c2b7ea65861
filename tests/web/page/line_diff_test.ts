import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { diffLines } from "../../../web/page/line_diff.ts";

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

Deno.test("diffLines() leads from the old text to the new one", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 30 }).map((lines) =>
    lines.map((line) => `${line}\n`).join("")
  );
  fc.assert(
    fc.property(text, text, (before, after) => {
      const source = linesOf(before);
      const target: string[] = [];
      let at = 0;
      for (const { kind, text } of diffLines(before, after)) {
        if (kind === "folded") {
          const end = at + Number(text.split(" ")[0]);
          target.push(...source.slice(at, end));
          at = end;
          continue;
        }
        if (kind !== "added") assertEquals(source[at++], text);
        if (kind !== "removed") target.push(text);
      }
      assertEquals([at, target], [source.length, linesOf(after)]);
    }),
    { seed: 1, numRuns: 300 },
  );
});

Deno.test("diffLines() shows a new file as added, an equal one as nothing changed, and a missing newline", () => {
  assertEquals(diffLines(null, "a\nb\n").map(({ kind }) => kind), ["added", "added"]);
  assertEquals(diffLines("a\nb\n", "a\nb\n"), [{ kind: "folded", text: "2 unchanged lines" }]);
  assertEquals(diffLines("a\n", "a"), [
    { kind: "removed", text: "a" },
    { kind: "added", text: "a (no newline at the end)" },
  ]);
  assertEquals(diffLines("", ""), []);
});

Deno.test("diffLines() stays exact where it is too large to be minimal", () => {
  const before = Array.from({ length: 1500 }, (_, index) => `old ${index}\n`).join("");
  const after = Array.from({ length: 1500 }, (_, index) => `new ${index}\n`).join("");
  const lines = diffLines(before, after);
  assertEquals([lines.length, lines[0]!.kind, lines.at(-1)!.kind], [3000, "removed", "added"]);
});
