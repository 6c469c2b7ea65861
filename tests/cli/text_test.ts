import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { columns, counted, humanSize, humanTime, piece, shellWord } from "../../src/cli/format.ts";
import { commandLine } from "../../src/cli/outcomes.ts";
import { printable, printableJson, printableLine } from "../../src/cli/printable.ts";
import { parseCommand } from "../../src/cli/usage.ts";
import { jsonText } from "../../src/event/mod.ts";
import { repositoryDir } from "../support/paths.ts";

Deno.test("printable() shows what a terminal would obey and leaves the rest, line ends and tabs included", () => {
  assertEquals(printable("a\u001b[31mb\u0007\u009b\u202ec\u200f"), "a␛[31mb␇\\u{9b}\\u{202e}c\\u{200f}");
  assertEquals(printable("\r\u007f\u{e0041}\u2028\ufeff"), "␍\\u{7f}\\u{e0041}\\u{2028}\\u{feff}");
  const fine = "one\ttwo\nthree “ä” 日本 עברית 👩‍👩‍👧 ن‌ی";
  assertEquals(printable(fine), fine);
  assertEquals(printable("\ud83d and \ude00"), "\\u{d83d} and \\u{de00}");
  assertEquals(printableLine("a\nb\tc\u001b"), "a␊b␉c␛");
});

Deno.test("printableJson() never changes what a JSON text means", () => {
  const check = (value: unknown) => {
    const text = printableJson(jsonText(value, 2));
    assertEquals(printable(text), text);
    assertEquals(JSON.stringify(JSON.parse(text)), JSON.stringify(value));
  };
  check({ "\u202e": "\u001b \u{e0041} \ud800" });
  fc.assert(fc.property(fc.jsonValue({ stringUnit: "binary" }), check), { seed: 1, numRuns: 200 });
});

Deno.test("columns() lines up, and no cell breaks its line", () => {
  assertEquals(columns([["a", "bb", "c"], ["aaa", "b", "x\ny"]]), ["a    bb  c", "aaa  b   x␊y"]);
  assertEquals(columns([["a", ""], ["b", ""]]), ["a", "b"]);
});

Deno.test("humanSize(), humanTime() and counted() read well", () => {
  assertEquals([0, 1023, 1024, 1536, 5 * 1024 ** 2, 3 * 1024 ** 4].map(humanSize), [
    ...["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 TiB"],
  ]);
  assertEquals(humanTime(1_796_043_081_772), "2026-11-30 12:51:21");
  assertEquals(humanTime(1e300), "1e+300");
  assertEquals([counted(0, "event"), counted(1, "event"), counted(2, "event")], ["0 events", "1 event", "2 events"]);
});

Deno.test("piece() cuts foreign text between characters, onto one line", () => {
  assertEquals(piece("a\n  b\tc"), "a b c");
  assertEquals(piece("x".repeat(160)), "x".repeat(160));
  assertEquals(piece("x".repeat(161)), "x".repeat(159) + "…");
  assertEquals(piece("x".repeat(158) + "😀😀"), "x".repeat(158) + "…");
  assertEquals(piece(" ".repeat(100_000)), " …");
});

Deno.test("shellWord() quotes what a shell would split or expand", () => {
  assertEquals(["a-b/c.d", "two words", "it's", "$HOME", ""].map(shellWord), [
    ...["a-b/c.d", "'two words'", "'it'\\''s'", "'$HOME'", "''"],
  ]);
});

Deno.test("commandLine() is what a person can type where they are", () => {
  const line = (cwd: string, args: string[], env: Record<string, string> = {}) =>
    commandLine({ args: parseCommand(SPEC, args), cwd, env }, "resolve", "id", "5");
  assertEquals(line(repositoryDir, []), "deno task holdfast resolve id 5");
  assertEquals(line(`${repositoryDir}/src`, ["--root", "a b"]), "deno task holdfast resolve id 5 --root 'a b'");
  const npx = line(repositoryDir, [], { npm_command: "exec" });
  assertEquals(npx, "npx -y deno@2.9.6 task holdfast resolve id 5");
  const elsewhere = line(`${repositoryDir}-other`, []);
  assertEquals(elsewhere, `deno task --config ${shellWord(`${repositoryDir}/deno.json`)} holdfast resolve id 5`);
});

const SPEC = { name: "run", positionals: "", help: "", flags: {}, count: [0, 0] } as const;
