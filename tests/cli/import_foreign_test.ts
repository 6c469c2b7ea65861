import { assertEquals, assertStringIncludes } from "@std/assert";
import { CLAUDE_CODE, CODEX, fileOf, PI } from "../foreign/foreign_support.ts";
import { document, holdfast, TempFolder } from "./cli.ts";

Deno.test("import makes a session of a log of another program, says what was left out, and the session can be shown and verified", async () => {
  for (const [lines, program] of [[CLAUDE_CODE, "Claude Code"], [CODEX, "OpenAI Codex"], [PI, "pi"]] as const) {
    await using folder = new TempFolder();
    Deno.writeFileSync(`${folder.path}/theirs.jsonl`, fileOf(...lines));
    const { code, json } = await document(["import", "theirs.jsonl"], { cwd: folder.path });
    assertEquals([code, json.damage, json.foreign.program], [0, null, program]);
    const shown = await document(["show", json.id, "--limit", "all"], { cwd: folder.path });
    assertEquals([shown.code, shown.json.events.length], [0, json.foreign.events]);
    assertEquals(shown.json.events.at(-1).data.source.name, "theirs.jsonl");
    const [verified] = (await document(["verify", json.id], { cwd: folder.path })).json;
    assertEquals([verified.events, verified.damage, verified.open, verified.torn], [
      json.foreign.events,
      null,
      null,
      null,
    ]);
    const ran = await holdfast(["run", "--session", json.id, "--model", "demo", "--workspace", ".", "hello"], {
      cwd: folder.path,
    });
    assertEquals(ran.code, 0);

    const again = await holdfast(["import", "theirs.jsonl"], { cwd: folder.path });
    assertEquals(again.code, 0);
    assertStringIncludes(again.stdout, `was made of a log of ${program}`);
    for (const { kind, count, firstLine } of json.foreign.losses) {
      assertStringIncludes(again.stdout, `  ${kind}: ${count}, first on line ${firstLine}`);
    }
  }
});

Deno.test("import writes nothing when a log of another program holds no message", async () => {
  await using folder = new TempFolder();
  Deno.writeFileSync(`${folder.path}/theirs.jsonl`, fileOf(CODEX[0]));
  const { code, json } = await document(["import", "theirs.jsonl"], { cwd: folder.path });
  assertEquals([code, json.error.code], [1, "CORRUPT_LOG"]);
  assertEquals((await document(["ls"], { cwd: folder.path })).json, []);
});
