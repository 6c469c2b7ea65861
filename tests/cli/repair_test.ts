import { assertEquals, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import { closers } from "../../src/session/repair.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

function openLog(): LogBuilder {
  const log = new LogBuilder();
  log.policy();
  log.openStep("paid", "waiting");
  log.call("paid");
  log.marker("paid");
  return log;
}

Deno.test("repair appends the closers and nothing else, and says what it added", async () => {
  await using folder = new TempFolder();
  const log = openLog();
  const expected = closers(log.folds());
  const path = writeLog(folder.root, "open", log.events);
  const before = Deno.readFileSync(path);
  const { code, json } = await document(["repair", "op"], { cwd: folder.path });
  assertEquals([code, Object.keys(json)], [0, ["id", "isDryRun", "added", "salvagedEvents"]]);
  assertEquals([json.id, json.isDryRun, json.salvagedEvents], ["open", false, 0]);
  assertEquals(JSON.stringify(json.added), JSON.stringify(expected));
  const after = Deno.readFileSync(path);
  assertEquals(after.subarray(0, before.length), before);
  const shown = await document(["show", "open"], { cwd: folder.path });
  assertEquals(JSON.stringify(shown.json.events), JSON.stringify([...log.events, ...expected]));

  const again = await holdfast(["repair", "open"], { cwd: folder.path });
  assertEquals([again.code, again.stdout], [0, "Session open has nothing to close\n"]);
  assertEquals(Deno.readFileSync(path), after);
});

Deno.test("repair --dry-run says the same and changes no byte, also of a torn log", async () => {
  await using folder = new TempFolder();
  const log = openLog();
  const { bytes } = logBytes("torn", log.events, { frames: [2, log.events.length - 2] });
  writeLog(folder.root, "torn", bytes.slice(0, -3));
  const before = folder.snapshot();
  const dry = await document(["repair", "torn", "--dry-run"], { cwd: folder.path });
  assertEquals([dry.code, dry.json.isDryRun, dry.json.salvagedEvents], [0, true, log.events.length - 2]);
  const text = await holdfast(["repair", "torn", "--dry-run"], { cwd: folder.path });
  assertStringIncludes(text.stdout, "Would keep");
  assertStringIncludes(text.stdout, "Would add");
  assertEquals(folder.snapshot(), before);

  const real = await document(["repair", "torn"], { cwd: folder.path });
  assertEquals(JSON.stringify(real.json), JSON.stringify({ ...dry.json, isDryRun: false }));
  const { json: [row] } = await document(["verify", "torn"], { cwd: folder.path });
  assertEquals([row.torn, row.open, row.damage], [null, null, null]);
});

Deno.test("repair refuses a damaged log, dry or not, and changes nothing", async () => {
  await using folder = new TempFolder();
  const { bytes } = logBytes("bad", openLog().events);
  bytes[bytes.length - 1]! ^= 1;
  const path = writeLog(folder.root, "bad", bytes);
  for (const args of [["repair", "bad"], ["repair", "bad", "--dry-run"]]) {
    const { code, json, stderr } = await document(args, { cwd: folder.path });
    assertEquals([code, json.error.code], [1, "CORRUPT_FRAME"]);
    assertStringIncludes(stderr, "CORRUPT_FRAME: ");
  }
  assertEquals(Deno.readFileSync(path), bytes);
});

Deno.test("field/D08: repair of a session that a writer holds is refused at once, dry or not", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "busy", openLog().events);
  await using store = openFileStore({ root: folder.root });
  await using _ = await store.open("busy", "write");
  for (const args of [["repair", "busy"], ["repair", "busy", "--dry-run"]]) {
    const { code, json } = await document(args, { cwd: folder.path });
    assertEquals([code, json.error.code], [1, "LOCK_HELD"]);
  }
});

Deno.test("repair of a file says what can be done with a file", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/a.jsonl`, "{}");
  const { code, stderr } = await holdfast(["repair", "a.jsonl"], { cwd: folder.path });
  assertEquals(code, 2);
  assertStringIncludes(stderr, 'holdfast verify "a.jsonl"');
});
