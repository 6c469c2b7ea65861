import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SessionEvent } from "../../src/event/mod.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

function turns(count: number): LogBuilder {
  const log = new LogBuilder();
  for (let turn = 0; turn < count; turn++) {
    log.openStep("c");
    log.call("c");
    log.marker("c");
    log.result("c");
    log.endStep();
    log.endTurn();
  }
  return log;
}

/** A log of six frames, the third of them damaged. */
function damaged(): { bytes: Uint8Array<ArrayBuffer>; ends: number[]; events: SessionEvent[] } {
  const { events } = turns(4);
  const { bytes, ends } = logBytes("bad", events, { frames: [8, 8, 8, events.length - 24] });
  bytes.fill(0xff, ends[1]! + 20, ends[1]! + 60);
  return { bytes, ends, events };
}

/** Two writers that went on from the same event. */
function forked(): Uint8Array<ArrayBuffer> {
  const { events } = turns(2);
  const others = events.slice(8).map((event) => ({ ...event, time: event.time + 500 }));
  const { bytes, ends } = logBytes("two", [...events, ...others], { frames: [8, events.length - 8, others.length] });
  assert(ends.length === 4);
  return bytes;
}

Deno.test("salvage writes a new session that opens and goes on, and leaves the file and its folder as they were", async () => {
  await using folder = new TempFolder();
  const { bytes, ends, events } = damaged();
  const path = writeLog(folder.root, "bad", bytes);
  const before = folder.snapshot();
  const planned = await document(["salvage", path, "--dry-run"], { cwd: folder.path });
  assertEquals([planned.code, planned.json.isDryRun, planned.json.sessions], [0, true, []]);
  assertEquals(folder.snapshot(), before);

  const done = await document(["salvage", path, "--out", "saved"], { cwd: folder.path });
  assertEquals([done.code, done.json.copies], [0, planned.json.copies]);
  const [session] = done.json.sessions;
  assertEquals([session.kept, session.branch], [[[0, 7], [16, events.length - 1]], "A"]);
  assertEquals(
    session.dropped.map((piece: { offsetBytes: number; sizeBytes: number }) => [piece.offsetBytes, piece.sizeBytes]),
    [
      [ends[1], ends[2]! - ends[1]!],
    ],
  );
  assertEquals(done.json.findings[0].kind, "corrupt-block");
  const after = folder.snapshot();
  for (const [name, content] of Object.entries(before)) assertEquals(after[name], content, name);

  const verified = await document(["verify", session.id, "--root", "saved"], { cwd: folder.path });
  assertEquals([verified.code, verified.json[0].damage, verified.json[0].findings], [0, null, []]);
  const shown = await document(["show", session.id, "--root", "saved", "--limit", "all"], { cwd: folder.path });
  assertEquals(shown.json.events.at(-1).type, "log/salvaged");
  const ran = await document(["run", "go on", "--session", session.id, "--root", "saved", "--model", "demo"], {
    cwd: folder.path,
  });
  assertEquals(ran.code, 0, ran.stderr);
});

Deno.test("salvage tells a person what it keeps, drops and infers", async () => {
  await using folder = new TempFolder();
  const path = writeLog(folder.root, "bad", damaged().bytes);
  const { code, stdout } = await holdfast(["salvage", path, "--dry-run"], { cwd: folder.path });
  assertEquals(code, 0);
  for (const word of ["would be kept: seq 0–7, 16–", "dropped: ", "does not decode", "SHA-256"]) {
    assertStringIncludes(stdout, word);
  }
});

Deno.test("salvage of a forked log shows the branches and waits to be told which to keep", async () => {
  await using folder = new TempFolder();
  Deno.writeFileSync(`${folder.path}/two.jsonl.zstd`, forked());
  const undecided = await document(["salvage", "two.jsonl.zstd", "--out", "saved"], { cwd: folder.path });
  assertEquals([undecided.code, undecided.json.sessions], [1, []]);
  assertEquals(undecided.json.branches.map(({ name, forkSeq }: { name: string; forkSeq: number }) => [name, forkSeq]), [
    ["A", 0],
    ["B", 8],
  ]);
  assertStringIncludes(undecided.stderr, "--keep A or --keep B or --keep both");
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["two.jsonl.zstd"]);

  for (const [keep, count] of [["A", 1], ["B", 1], ["both", 2]] as const) {
    const args = ["salvage", "two.jsonl.zstd", "--out", `saved-${keep}`, "--keep", keep];
    const { code, json } = await document(args, { cwd: folder.path });
    assertEquals([code, json.sessions.length], [0, count], keep);
    for (const { id } of json.sessions) {
      assertEquals((await holdfast(["verify", id, "--root", `saved-${keep}`], { cwd: folder.path })).code, 0);
    }
  }
  const wrong = await holdfast(["salvage", "two.jsonl.zstd", "--out", "x", "--keep", "C"], { cwd: folder.path });
  assertEquals(wrong.code, 2);
  const text = await holdfast(["salvage", "two.jsonl.zstd", "--dry-run"], { cwd: folder.path });
  assertStringIncludes(text.stdout, "branch B: leaves A before seq 8");
});

Deno.test("salvage refuses what holds nothing, what is not there, and a command line without a place to write", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/rubbish.jsonl`, "rubbish\n");
  const rubbish = await document(["salvage", "rubbish.jsonl", "--out", "saved"], { cwd: folder.path });
  assertEquals([rubbish.code, rubbish.json.error.code], [1, "CORRUPT_LOG"]);
  const absent = await document(["salvage", "absent.jsonl", "--out", "saved"], { cwd: folder.path });
  assertEquals([absent.code, absent.json.error.code], [1, "NOT_FOUND"]);
  assertEquals((await holdfast(["salvage", "rubbish.jsonl"], { cwd: folder.path })).code, 2);
  assertEquals([...Deno.readDirSync(folder.path)].length, 1);
});

Deno.test("salvage takes the long results along that lie beside the log", async () => {
  await using folder = new TempFolder();
  const digest = "a".repeat(64);
  const log = new LogBuilder();
  log.openStep("c");
  const callSeq = log.call("c");
  log.add("result/spilled", { callId: "c", callSeq, digest, sizeBytes: 4 }, { ignorable: true });
  const path = writeLog(folder.root, "long", log.events);
  const { code, json, stderr } = await document(["salvage", path, "--out", "saved"], { cwd: folder.path });
  assertEquals([code, json.sessions[0].missingBlobs], [0, [digest]]);
  assertStringIncludes(stderr, digest);
});
