import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import type { SessionEvent } from "../../src/event/mod.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, headerOf, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

function manyTurns(turns: number): LogBuilder {
  const log = new LogBuilder();
  for (let turn = 0; turn < turns; turn++) {
    log.startTurn();
    log.startStep();
    log.user(`question ${turn}`);
    log.assistant([], `answer ${turn}`);
    log.endStep();
    log.endTurn();
  }
  return log;
}

Deno.test("show --json gives one document with the events, and where the next ones are", async () => {
  await using folder = new TempFolder();
  const { events } = manyTurns(250); // 1500 events
  writeLog(folder.root, "long", events);
  const show = (...args: string[]) => document(["show", "long", ...args], { cwd: folder.path });
  const first = await show();
  assertEquals([first.code, first.json.events, first.json.nextFrom], [0, events.slice(0, 1000), 1000]);
  assertEquals(first.json.header, headerOf("long"));
  assertEquals(first.json.inheritedEventCount, 0);
  const second = await show("--from", "1000");
  assertEquals([second.json.events, second.json.nextFrom], [events.slice(1000), null]);
  const some = await show("--from", "10", "--limit", "5");
  assertEquals([some.json.events, some.json.nextFrom], [events.slice(10, 15), 15]);
  const all = await show("--limit", "all");
  assertEquals([all.json.events, all.json.nextFrom], [events, null]);
  const exact = await show("--limit", "1500");
  assertEquals([exact.json.events.length, exact.json.nextFrom], [1500, null]);
  const none = await show("--limit", "0");
  assertEquals([none.json.events, none.json.nextFrom], [[], 0]);
  const beyond = await show("--from", "9999");
  assertEquals([beyond.json.events, beyond.json.nextFrom], [[], null]);
});

Deno.test("show prints one line per event, and says that more follow", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "long", manyTurns(250).events);
  const { code, stdout, stderr } = await holdfast(["show", "long"], { cwd: folder.path });
  assertEquals([code, stdout.split("\n").length], [0, 1 + 1000 + 1]);
  assertStringIncludes(stderr, "--from 1000");
  assertEquals((await holdfast(["show", "long", "--limit", "all"], { cwd: folder.path })).stderr, "");
});

Deno.test("show --surface gives the messages the model sees, and nothing of what was replaced", async () => {
  await using folder = new TempFolder();
  const log = manyTurns(2);
  log.startTurn();
  log.compaction(3);
  log.summary(2, 9, [2, 3, 8, 9]);
  const at = log.checkpoint(2, 9, [2, 3, 8, 9]);
  log.compactionEnd(3);
  log.endTurn();
  writeLog(folder.root, "short", log.events);
  const { code, json } = await document(["show", "short", "--surface"], { cwd: folder.path });
  assertEquals(code, 0);
  assertEquals(Object.keys(json), ["header", "messages", "replaceGeneration"]);
  assertEquals([json.messages, json.replaceGeneration], [[log.events[at]!.data], 1]);
  const { stdout } = await holdfast(["show", "short", "--surface", "--limit", "all"], { cwd: folder.path });
  assertEquals(stdout, "user:\n  short\n");
});

Deno.test("show --surface prints whole messages", async () => {
  await using folder = new TempFolder();
  const log = new LogBuilder();
  log.startTurn();
  log.user(`line one\n${"x".repeat(500)}`);
  writeLog(folder.root, "wide", log.events);
  const { stdout } = await holdfast(["show", "wide", "--surface"], { cwd: folder.path });
  assertStringIncludes(stdout, `user:\n  line one\n  ${"x".repeat(500)}\n`);
});

Deno.test("show of a torn log shows what is readable of the tail, and says that it is torn", async () => {
  await using folder = new TempFolder();
  const { events } = manyTurns(2);
  const { bytes } = logBytes("torn", events, { frames: [6, 6] });
  writeLog(folder.root, "torn", bytes.slice(0, -2));
  const { code, json, stderr } = await document(["show", "torn"], { cwd: folder.path });
  assertEquals([code, json.events], [0, events]);
  assertStringIncludes(stderr, "Torn tail");
});

Deno.test("show of a damaged log shows it up to the damage, exit code 1", async () => {
  await using folder = new TempFolder();
  const { events } = manyTurns(2);
  const { bytes, ends } = logBytes("bad", events, { frames: [6, 6] });
  bytes[ends[1]! + 10]! ^= 1;
  writeLog(folder.root, "bad", bytes);
  const { code, json, stderr } = await document(["show", "bad"], { cwd: folder.path });
  assertEquals([code, json.events, json.nextFrom], [1, events.slice(0, 6), null]);
  assertStringIncludes(stderr, "CORRUPT_FRAME: ");
});

Deno.test("show --json is lossless where JSON.stringify is not: −0, numbers beyond the doubles, deep nesting", async () => {
  await using folder = new TempFolder();
  const depth = 50_000;
  const deep = "[".repeat(depth) + "]".repeat(depth);
  const line =
    `{"type":"any/thing","seq":0,"time":1,"data":{"a":-0,"b":1e400,"c":-1e400,"d":${deep}},"ignorable":true}`;
  const text = `${JSON.stringify(headerOf("odd"))}\n${line}\n`;
  writeLog(folder.root, "odd", new TextEncoder().encode(text), { encoding: "none" });
  const { code, stdout } = await holdfast(["show", "odd", "--json"], { cwd: folder.path });
  assertEquals(code, 0);
  const [{ data }] = JSON.parse(stdout).events;
  assert(Object.is(data.a, -0));
  assertEquals([data.b, data.c], [Infinity, -Infinity]);
  assertStringIncludes(stdout, `"d":${deep}`);
});

Deno.test("what a terminal would obey reaches it neither as text nor as JSON, and the JSON means the same", async () => {
  await using folder = new TempFolder();
  const evil = "\u001b]0;title\u0007 \u009b31m \u202eright\u2066 \u200bnothing \u{e0041} \r\u0008 \u2028 \ud800";
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  log.user(evil);
  const message = log.events.at(-1)!;
  const type = `odd/\u001b[2J${"\n"}fake line`;
  log.events.push({ type, seq: 3, time: 9, data: { evil }, ignorable: true } as unknown as SessionEvent);
  writeLog(folder.root, "evil", log.events);
  // deno-lint-ignore no-control-regex -- these are the characters to find
  const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\u{e0041}]/u;
  for (
    const args of [["show", "evil"], ["show", "evil", "--surface"], ["show", "evil", "--json"], ["ls"], [
      "ls",
      "--json",
    ]]
  ) {
    const { stdout, stderr } = await holdfast(args, { cwd: folder.path });
    assertEquals(obeyed.exec(stdout + stderr)?.[0], undefined, args.join(" "));
  }
  const { stdout } = await holdfast(["show", "evil"], { cwd: folder.path });
  assert(!stdout.split("\n").some((line) => line.startsWith("fake line")), "an event looks like two");
  const { json } = await document(["show", "evil"], { cwd: folder.path });
  assertEquals(json.events[2], message);
  assertEquals(json.events[3].type, type);
});

Deno.test("a session is found by a unique prefix; several are named", async () => {
  await using folder = new TempFolder();
  for (const id of ["abc1", "abc2", "abd"]) writeLog(folder.root, id, manyTurns(1).events);
  const show = (id: string) => holdfast(["show", id], { cwd: folder.path });
  assertStringIncludes((await show("abd")).stdout, "session abd,");
  assertStringIncludes((await show("abc2")).stdout, "session abc2,");
  assertEquals((await show("abc")).code, 2);
  assertStringIncludes((await show("abc")).stderr, "2 ids begin with it: abc1, abc2");
  assertEquals((await show("x")).code, 1);
  // The whole id is enough, also when others begin with it.
  writeLog(folder.root, "abc", manyTurns(1).events);
  assertStringIncludes((await show("abc")).stdout, "session abc,");
});

Deno.test("a stray file never hides a session, and a path never means a session while there is a file", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "notes", manyTurns(1).events);
  Deno.writeTextFileSync(`${folder.path}/notes`, "no log");
  assertStringIncludes((await holdfast(["show", "notes"], { cwd: folder.path })).stdout, "session notes,");
  assertEquals((await holdfast(["show", "./notes"], { cwd: folder.path })).code, 1);
  Deno.writeFileSync(`${folder.path}/other`, logBytes("inside", manyTurns(1).events).bytes);
  assertStringIncludes((await holdfast(["show", "other"], { cwd: folder.path })).stdout, "session inside,");
});

Deno.test("an id with characters that no file system takes is found as it is", async () => {
  await using folder = new TempFolder();
  const id = "../a/b:c\n";
  writeLog(folder.root, id, manyTurns(1).events);
  const { code, json } = await document(["show", id], { cwd: folder.path });
  assertEquals([code, json.header.id], [0, id]);
  const { stdout } = await holdfast(["ls"], { cwd: folder.path });
  assertEquals(stdout.trimEnd().split("\n").length, 2);
  assertNotEquals(stdout, "");
});

Deno.test("show explains class and evidence of every call without a certain end: which seq, in which frame, and what to type", async () => {
  await using folder = new TempFolder();
  const log = new LogBuilder();
  log.policy();
  log.openStep("old");
  log.call("old");
  log.marker("old");
  log.result("old", "TOOL_OUTCOME_UNKNOWN");
  log.endStep();
  log.endTurn();
  const closedAt = log.events.length;
  log.openStep("waits");
  log.call("waits");
  const file = writeLog(folder.root, "s", log.events);
  const { stdout } = await holdfast(["show", "s"], { cwd: folder.path });
  assertStringIncludes(stdout, "2 calls without a certain end:");
  assertStringIncludes(stdout, "pay old ");
  const { json: [verdict] } = await document(["verify", "s"], { cwd: folder.path });
  const markerLine = stdout.split("\n").find((line) => line.includes("it was dispatched"))!;
  const [, seq, frame, offsetBytes] = /seq (\d+), frame (\d+) at byte (\d+):/.exec(markerLine)!.map(Number);
  assertEquals(seq, 5);
  assert(frame! >= 1 && frame! < verdict.frames);
  assertEquals([...Deno.readFileSync(file).subarray(offsetBytes, offsetBytes! + 4)], [0x28, 0xb5, 0x2f, 0xfd]);
  assertStringIncludes(stdout, "resolve s 4 --happened    (or --absent, --retry)");
  assertStringIncludes(stdout, ": not dispatched");
  assertStringIncludes(stdout, `seq ${closedAt + 2}, frame`);
  assertEquals(stdout.split("resolve s").length, 2, "an open call is closed by opening the session, not by a person");
  const bare = await holdfast(["show", file], { cwd: folder.path });
  assertStringIncludes(bare.stdout, "it may have taken effect");
  assertEquals(bare.stdout.includes("resolve"), false);
});
