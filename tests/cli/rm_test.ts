import { statSync } from "node:fs";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { document, FakeTerminal, headerOf, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

const DAY_MS = 86_400_000;

/** A log whose newest event has this time. */
function logUntil(timeMs: number): LogBuilder {
  const log = new LogBuilder();
  log.time = timeMs - 1;
  log.startTurn();
  log.endTurn();
  return log;
}

function recordIn(root: string): Record<string, unknown>[] {
  return Deno.readTextFileSync(`${root}/deleted.jsonl`).trimEnd().split("\n").map((line) => JSON.parse(line));
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

Deno.test("rm asks, deletes on yes with everything that belongs to the session, and keeps a record", async () => {
  await using folder = new TempFolder();
  const path = writeLog(folder.root, "gone", logUntil(5000).events);
  const place = path.slice(0, path.lastIndexOf("/"));
  for (const name of ["session.lock", "session.v2.jsonl", "session.v3.jsonl.zstd.torn-9-00000000"]) {
    Deno.writeTextFileSync(`${place}/${name}`, "x");
  }
  Deno.mkdirSync(`${place}/blobs`);
  Deno.writeTextFileSync(`${place}/blobs/${"0".repeat(64)}`, "x");
  writeLog(folder.root, "stays", logUntil(5000).events);
  const terminal = new FakeTerminal("yes");
  const { code, stdout, stderr } = await holdfast(["rm", "gone"], { cwd: folder.path, terminal });
  assertEquals(code, 0);
  assertStringIncludes(stderr, "gone"); // Said before the question.
  assertStringIncludes(stdout, "Deleted gone");
  assertEquals(terminal.asked, ["Delete 1 session? There is no way back. Type yes: "]);
  const left = Object.keys(folder.snapshot()).filter((name) => name.includes("gone"));
  assertEquals(left, []);
  const [asked, done] = recordIn(folder.root);
  assertEquals([asked!.state, done!.state], ["deleting", "deleted"]);
  assertEquals([done!.id, done!.lastEventTime, done!.why], ["gone", 5000, "by id"]);
  assert(path.endsWith(String(done!.name)));
  assertEquals(Deno.statSync(`${folder.root}/deleted.jsonl`).mode! & 0o777, 0o600);

  const after = await holdfast(["show", "gone"], { cwd: folder.path });
  assertEquals(after.code, 1);
  assertStringIncludes(after.stderr, "it was deleted on");
  assertEquals((await document(["ls"], { cwd: folder.path })).json.length, 1);
});

Deno.test("rm deletes nothing without a yes, and says how to do without a question", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "kept", logUntil(5000).events);
  const before = folder.snapshot();
  for (const answer of ["", "y", "no", "YES please"]) {
    const ran = await holdfast(["rm", "kept"], { cwd: folder.path, terminal: new FakeTerminal(answer) });
    assertEquals([ran.code, ran.stdout], [1, ""], answer);
  }
  assertEquals((await holdfast(["rm", "kept"], { cwd: folder.path, terminal: new FakeTerminal() })).code, 1); // Ctrl-D
  const nobody = await holdfast(["rm", "kept"], { cwd: folder.path });
  assertEquals(nobody.code, 1);
  assertStringIncludes(nobody.stderr, "--yes");
  assertEquals((await document(["rm", "kept"], { cwd: folder.path })).json.error.code, "USAGE");
  assertEquals(folder.snapshot(), before);
});

Deno.test("rm --dry-run says what it would delete and writes nothing", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "one", logUntil(5000).events);
  const before = folder.snapshot();
  const { code, json } = await document(["rm", "one", "--dry-run"], { cwd: folder.path });
  assertEquals([code, json.isDryRun, json.kept], [0, true, []]);
  assertEquals(json.deleted.map(({ id }: { id: string }) => id), ["one"]);
  assertStringIncludes((await holdfast(["rm", "one", "--dry-run"], { cwd: folder.path })).stdout, "Would delete one");
  assertEquals(folder.snapshot(), before);
});

Deno.test("rm of one id that is not there deletes none of the others", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "one", logUntil(5000).events);
  const before = folder.snapshot();
  const { code, json } = await document(["rm", "one", "nosuch", "--yes"], { cwd: folder.path });
  assertEquals([code, json.error.code], [1, "NOT_FOUND"]);
  assertEquals(folder.snapshot(), before);
});

Deno.test("rm of a live session is refused, reported, and recorded as kept; the others go", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "busy", logUntil(5000).events);
  writeLog(folder.root, "idle", logUntil(5000).events);
  await using store = openFileStore({ root: folder.root });
  await using _ = await store.open("busy", "write");
  const { code, json, stderr } = await document(["rm", "busy", "idle", "--yes"], { cwd: folder.path });
  assertEquals(code, 1);
  assertEquals(json.deleted.map(({ id }: { id: string }) => id), ["idle"]);
  assertEquals(json.kept.map(({ id, code }: { id: string; code: string }) => [id, code]), [["busy", "LOCK_HELD"]]);
  assertStringIncludes(stderr, "Kept busy: LOCK_HELD");
  const states = recordIn(folder.root).map(({ id, state }) => [id, state]);
  assertEquals(states, [["busy", "deleting"], ["busy", "kept"], ["idle", "deleting"], ["idle", "deleted"]]);
});

Deno.test("field/G05: rm --older-than goes by event time, never by file time, and never guesses", async () => {
  await using folder = new TempFolder();
  const clock = new FakeClock(100 * DAY_MS);
  const old = writeLog(folder.root, "old", logUntil(60 * DAY_MS).events);
  const active = writeLog(folder.root, "active", logUntil(99 * DAY_MS).events);
  const long = new Date(Date.now() - 60 * DAY_MS);
  Deno.utimeSync(active, long, long); // Restored from a backup.
  Deno.utimeSync(old, new Date(), new Date());
  writeLog(folder.root, "empty-old", [], { header: headerOf("empty-old", { createdAt: 50 * DAY_MS }) });
  const { bytes } = logBytes("damaged", logUntil(50 * DAY_MS).events, { frames: [1, 1] });
  bytes[bytes.length - 1]! ^= 1;
  writeLog(folder.root, "damaged", bytes);
  Deno.mkdirSync(`${folder.root}/--any--/newer`, { recursive: true });
  Deno.writeTextFileSync(`${folder.root}/--any--/newer/session.v9.jsonl`, "{}\n");
  const surroundings = { cwd: folder.path, clock };

  const before = folder.snapshot();
  const dry = await document(["rm", "--older-than", "30d", "--dry-run"], surroundings);
  assertEquals(dry.code, 0);
  assertEquals(dry.json.deleted.map(({ id }: { id: string }) => id), ["empty-old", "old"]);
  assertStringIncludes(dry.stderr, "Kept damaged: it is damaged");
  assertStringIncludes(dry.stderr, "Kept newer: it is unsupported");
  assertEquals(folder.snapshot(), before);

  const { code, json } = await document(["rm", "--older-than", "30d", "--yes"], surroundings);
  assertEquals([code, json.deleted.length], [0, 2]);
  assertEquals([exists(active), recordIn(folder.root).at(-1)!.why], [true, "older than 30d"]);
  const none = await holdfast(["rm", "--older-than", "30d", "--yes"], surroundings);
  assertEquals([none.code, none.stdout], [0, "No session matches\n"]);
});

Deno.test("rm --older-than keeps a session that somebody went on with while the question was open", async () => {
  await using folder = new TempFolder();
  const clock = new FakeClock(100 * DAY_MS);
  const log = logUntil(10 * DAY_MS);
  const path = writeLog(folder.root, "woken", log.events);
  const terminal = new FakeTerminal(() => {
    log.time = 99 * DAY_MS;
    log.startTurn();
    log.endTurn();
    writeLog(folder.root, "woken", log.events);
    return "yes";
  });
  const { code, stderr } = await holdfast(["rm", "--older-than", "30d"], { cwd: folder.path, clock, terminal });
  assertEquals([code, exists(path)], [1, true]);
  assertStringIncludes(stderr, "it has changed");
});

Deno.test("rm finishes a deletion that was cut short after the log was gone", async () => {
  await using folder = new TempFolder();
  const path = writeLog(folder.root, "half", logUntil(5000).events);
  Deno.writeTextFileSync(`${path.slice(0, path.lastIndexOf("/"))}/session.lock`, "");
  Deno.removeSync(path);
  const line = { time: 1, state: "deleting", id: "half", name: "n", sizeBytes: 1, lastEventTime: 5000, why: "by id" };
  // The record's own last line was cut short too.
  Deno.writeTextFileSync(`${folder.root}/deleted.jsonl`, `${JSON.stringify(line)}\n{"time":2,"state":"del`);
  const { code, json } = await document(["rm", "half", "--yes"], { cwd: folder.path });
  assertEquals([code, json.deleted.length], [0, 1]);
  assertEquals(Object.keys(folder.snapshot()).filter((name) => name.includes("half")), []);
  const lines = Deno.readTextFileSync(`${folder.root}/deleted.jsonl`).trimEnd().split("\n");
  assertEquals(lines.slice(2).map((text) => JSON.parse(text).state), ["deleting", "deleted"]);
});

Deno.test("rm deletes nothing when the record cannot be written", async () => {
  await using folder = new TempFolder();
  const path = writeLog(folder.root, "one", logUntil(5000).events);
  Deno.writeTextFileSync(`${folder.path}/elsewhere`, "");
  Deno.symlinkSync(`${folder.path}/elsewhere`, `${folder.root}/deleted.jsonl`);
  const { code, json } = await document(["rm", "one", "--yes"], { cwd: folder.path });
  assertEquals([code, json.error.code, exists(path)], [1, "STORAGE_LOST", true]);
  assertEquals(Deno.readTextFileSync(`${folder.path}/elsewhere`), "");
});

Deno.test("rm deletes a damaged session by its id", async () => {
  await using folder = new TempFolder();
  const { bytes } = logBytes("bad", logUntil(5000).events);
  bytes[3]! ^= 1;
  const path = writeLog(folder.root, "bad", bytes);
  assertEquals((await document(["rm", "bad", "--yes"], { cwd: folder.path })).code, 0);
  assertEquals(exists(path), false);
});
