import { assert, assertEquals, assertMatch } from "@std/assert";
import { repositoryDir } from "../support/paths.ts";

Deno.test("deno task demo tells four kills with the right classes, asks the bank about what is unknown, fits a screen and uses no escape codes in a pipe", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "demo"],
    cwd: repositoryDir,
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
  assertEquals([code, err], [0, ""], out);

  const row = (payee: string) => out.split("\n").find((line) => line.startsWith(`   ${payee} `)) ?? "";
  assertMatch(row("alice"), /not_dispatched +seq \d+ +none +none +never asked, not paid +right/);
  assertMatch(row("bob"), /not_started +none +none +none +never asked, not paid +right/);
  assertMatch(row("carol"), /outcome_unknown +seq \d+ +seq \d+ +none +paid, \S+ m?s after the kill +right/);
  assertMatch(row("dave"), /not_started +none +none +none +never asked, not paid +right/);
  assertMatch(row("grace"), /outcome_unknown +seq \d+ +seq \d+ +none +asked, not paid +right/);
  assertMatch(row("heidi"), /not_started +none +none +none +never asked, not paid +right/);
  assertMatch(row("erin"), /done +seq \d+ +seq \d+ +seq \d+ +paid, \S+ m?s before the kill +right/);
  assertMatch(row("frank"), /not_dispatched +seq \d+ +none +none +never asked, not paid +right/);
  assertMatch(out, /settled +carol: happened, by asking the bank/);
  assertMatch(out, /settled +grace: absent, by asking the bank/);
  assertMatch(out, /task holdfast resolve during \d+ --happened/);
  assertMatch(
    out.trimEnd().split("\n").at(-1)!,
    /^Right: 4 kills, 8 of 8 classes and 2 of 2 verdicts .* 8 of 8 people paid once, 0 twice/,
  );

  // deno-lint-ignore no-control-regex -- the character to find
  assert(!/\u001b/.test(out), "escape codes in a pipe");
  const wide = out.split("\n").filter((line) => line.length > 100 && !line.includes("--root"));
  assertEquals(wide, []);
});
