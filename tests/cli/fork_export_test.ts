import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, FakeTerminal, headerOf, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

/** Turn 1 (events 0 to 3) and turn 2, which is open. */
function twoTurns(): LogBuilder {
  const log = new LogBuilder();
  log.startTurn();
  log.user("one");
  log.user("uno");
  log.endTurn();
  log.startTurn();
  log.user("two");
  return log;
}

Deno.test("fork copies the events up to a seq, or up to the open turn, and names its parent", async () => {
  await using folder = new TempFolder();
  const { events } = twoTurns();
  const path = writeLog(folder.root, "parent", events);
  const before = Deno.readFileSync(path);
  for (const args of [[], ["--at", "3"]]) {
    const { code, json } = await document(["fork", "parent", ...args], { cwd: folder.path });
    assertEquals([code, json.parentSession, json.inheritedEventCount], [0, "parent", 4]);
    const shown = await document(["show", json.id], { cwd: folder.path });
    assertEquals([shown.code, shown.json.inheritedEventCount], [0, 4]);
    assertEquals(shown.json.events.slice(0, 4), events.slice(0, 4));
    assertEquals(shown.json.events[4].type, "session/end-seed");
    assertEquals([shown.json.header.parentSession, shown.json.header.isSeeded], ["parent", true]);
  }
  assertEquals(Deno.readFileSync(path), before);
});

Deno.test("fork refuses a place that is not there or inside a turn as a mistake, and makes nothing", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "parent", twoTurns().events);
  const before = folder.snapshot();
  for (const at of ["2", "5", "99", "x", "-1", ""]) {
    const { code, json } = await document(["fork", "parent", "--at", at], { cwd: folder.path });
    assertEquals([code, json.error.code], [2, "USAGE"], at);
  }
  assertEquals(folder.snapshot(), before);
});

Deno.test("export to jsonl and to zstd gives files that open again with equal events", async () => {
  await using folder = new TempFolder();
  const log = twoTurns();
  log.startStep();
  log.assistant(["c"], "calling");
  log.call("c");
  log.result("c");
  const header = headerOf("whole", { cwd: "/srv/me" });
  writeLog(folder.root, "whole", log.events, { header });
  for (const [format, name] of [["jsonl", "out.jsonl"], ["zstd", "out.jsonl.zstd"]] as const) {
    const args = ["export", "whole", "--to", format, "--out", name];
    const { code, json } = await document(args, { cwd: folder.path });
    const { size, mode } = Deno.statSync(`${folder.path}/${name}`);
    assertEquals([code, json], [0, { id: "whole", format, file: name, sizeBytes: size, damage: null }]);
    assertEquals(mode! & 0o777, 0o600);
    const shown = await document(["show", name], { cwd: folder.path });
    assertEquals([shown.code, shown.json.header, shown.json.events], [0, header, log.events]);
    const again = await document(args, { cwd: folder.path });
    assertEquals([again.code, again.json.error.code], [1, "ALREADY_EXISTS"]);
    assertEquals(Deno.statSync(`${folder.path}/${name}`).size, size);
  }
  const { code, stdout } = await holdfast(["export", "whole", "--to", "jsonl"], { cwd: folder.path });
  assertEquals([code, stdout], [0, Deno.readTextFileSync(`${folder.path}/out.jsonl`)]);
});

Deno.test("export keeps what JSON.stringify would change: −0, numbers beyond the doubles, deep nesting", async () => {
  await using folder = new TempFolder();
  const deep = "[".repeat(20_000) + "]".repeat(20_000);
  const row = `{"type":"any/thing","seq":0,"time":1,"data":{"a":-0,"b":1e400,"c":${deep}},"ignorable":true}`;
  const text = `${JSON.stringify(headerOf("odd"))}\n${row}\n`;
  writeLog(folder.root, "odd", new TextEncoder().encode(text), { encoding: "none" });
  for (const format of ["jsonl", "zstd"]) {
    const file = `out.${format}`;
    assertEquals((await holdfast(["export", "odd", "--to", format, "--out", file], { cwd: folder.path })).code, 0);
    const { stdout } = await holdfast(["export", file, "--to", "jsonl"], { cwd: folder.path });
    const { data } = JSON.parse(stdout.split("\n")[1]!);
    assert(Object.is(data.a, -0));
    assertEquals(data.b, Infinity);
    assertStringIncludes(stdout, `"c":${deep}`);
  }
});

Deno.test("export to md gives a text a person can read, with fences that nothing in it closes", async () => {
  await using folder = new TempFolder();
  const log = new LogBuilder();
  log.openStep();
  log.user("please run ```` it");
  log.assistant(["c"], "Sure");
  log.call("c");
  const source = { kind: "tool", callId: "c" };
  const content = [{ type: "text" as const, text: "```\nnot the end\n```" }];
  const block = { type: "tool-result" as const, toolCallId: "c", content, isError: false };
  const message = { id: "r", role: "user" as const, source, content: [block] };
  log.add("tool/result", { turn: 1, step: 1, message }, { surfaceOp: "append", sourceEventSeqs: [4] });
  writeLog(folder.root, "talk", log.events);
  const { code, stdout } = await holdfast(["export", "talk", "--to", "md"], { cwd: folder.path });
  assertEquals(code, 0);
  assertStringIncludes(stdout, "# Session talk\n\n## User\n\nplease run ```` it\n\n## Assistant\n\nSure\n\n```\npay ");
  assertStringIncludes(stdout, "\n## Result\n\n````\n```\nnot the end\n```\n````\n");
});

Deno.test("export of a damaged log gives what lies before the damage, says so, exit code 1", async () => {
  await using folder = new TempFolder();
  const { events } = twoTurns();
  const { bytes } = logBytes("bad", events, { frames: [4, 2] });
  bytes[bytes.length - 1]! ^= 1;
  writeLog(folder.root, "bad", bytes);
  const { code, json, stderr } = await document(["export", "bad", "--to", "jsonl", "--out", "o.jsonl"], {
    cwd: folder.path,
  });
  assertEquals([code, json.damage.code], [1, "CORRUPT_FRAME"]);
  assertStringIncludes(stderr, "up to the damage");
  assertEquals((await document(["show", "o.jsonl"], { cwd: folder.path })).json.events, events.slice(0, 4));
});

Deno.test("export writes no zstd to a terminal, no document beside a result, and nothing into a folder that is not there", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "s", twoTurns().events);
  const { path: cwd } = folder;
  const export_ = (...args: string[]) => ["export", "s", ...args];
  assertEquals((await holdfast(export_("--to", "zstd"), { cwd, terminal: new FakeTerminal() })).code, 2);
  assertEquals((await document(export_("--to", "jsonl"), { cwd })).json.error.code, "USAGE");
  assertEquals((await document(export_("--to", "xml", "--out", "o"), { cwd })).json.error.code, "USAGE");
  assertEquals((await document(export_("--out", "o"), { cwd })).json.error.code, "USAGE");
  const nowhere = await document(export_("--to", "md", "--out", "no/o"), { cwd });
  assertEquals([nowhere.code, nowhere.json.error.code], [1, "NOT_FOUND"]);
  assertEquals(Object.keys(folder.snapshot()).filter((name) => !name.startsWith(".holdfast")), []);
});

Deno.test("export to a terminal shows what it would obey", async () => {
  await using folder = new TempFolder();
  const log = new LogBuilder();
  log.startTurn();
  log.user("\u001b[2J\u202e");
  writeLog(folder.root, "evil", log.events);
  for (const format of ["md", "jsonl"]) {
    const args = ["export", "evil", "--to", format];
    const shown = await holdfast(args, { cwd: folder.path, terminal: new FakeTerminal() });
    assertEquals(["\u001b", "\u202e"].some((character) => shown.stdout.includes(character)), false, format);
    const piped = await holdfast(args, { cwd: folder.path });
    assertStringIncludes(piped.stdout, "\u202e");
  }
});
