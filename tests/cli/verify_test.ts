import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import { closers } from "../../src/session/repair.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, headerOf, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

/** A turn that ended, and nothing after it. */
function closedLog(): LogBuilder {
  const log = new LogBuilder();
  log.policy();
  log.startTurn();
  log.startStep();
  log.user("hello");
  log.assistant([], "hi");
  log.endStep();
  log.endTurn();
  return log;
}

/** A turn that was cut short with a call of each class. */
function openLog(): LogBuilder {
  const log = new LogBuilder();
  log.policy();
  log.openStep("settled", "unknown", "recorded", "proposed");
  log.call("settled");
  log.marker("settled");
  log.result("settled");
  log.call("unknown");
  log.marker("unknown");
  log.call("recorded");
  return log;
}

const KEYS = [
  ...["file", "id", "version", "encoding", "sizeBytes", "frames", "events", "lastSeq", "torn", "damage", "open"],
  ...["live", "closers", "findings", "findingsOmitted"],
];

Deno.test("verify --json gives an ok log exactly the members of the contract, in both encodings", async () => {
  await using folder = new TempFolder();
  const { events } = closedLog();
  const zstd = writeLog(folder.root, "zip", events, { frames: [3, 4] });
  const raw = writeLog(folder.root, "raw", events, { encoding: "none" });
  const { code, json } = await document(["verify", "zip", "raw"], { cwd: folder.path });
  assertEquals(code, 0);
  assertEquals(json.map((row: object) => Object.keys(row)), [KEYS, KEYS]);
  const common = {
    ...{ version: 3, events: 7, lastSeq: 6, torn: null, damage: null, open: null, live: false, closers: [] },
    ...{ findings: [], findingsOmitted: 0 },
  };
  const sizes = [zstd, raw].map((path) => Deno.statSync(path).size);
  assertEquals(json, [
    { file: zstd, id: "zip", encoding: "zstd", sizeBytes: sizes[0], frames: 3, ...common },
    { file: raw, id: "raw", encoding: "none", sizeBytes: sizes[1], frames: 8, ...common },
  ]);
});

Deno.test("verify gives a bare file its row without a root, also through a link, and writes nothing", async () => {
  await using folder = new TempFolder();
  const { bytes } = logBytes("far", closedLog().events, { header: headerOf("far", { cwd: "/some/where" }) });
  Deno.writeFileSync(`${folder.path}/a copy`, bytes);
  Deno.symlinkSync(`${folder.path}/a copy`, `${folder.path}/link.jsonl.zstd`);
  const before = folder.snapshot();
  for (const name of ["a copy", "./link.jsonl.zstd", `${folder.path}/a copy`]) {
    const { code, json: [row] } = await document(["verify", name], { cwd: folder.path });
    assertEquals([code, row.file, row.id, row.encoding, row.events], [0, name, "far", "zstd", 7]);
  }
  assertEquals(folder.snapshot(), before);
});

Deno.test("verify names the class of each open call, and the closers that repair would add", async () => {
  await using folder = new TempFolder();
  const log = openLog();
  writeLog(folder.root, "open", log.events);
  const { code, json: [row] } = await document(["verify", "open"], { cwd: folder.path });
  assertEquals(code, 0);
  const calls = [
    { callId: "unknown", callSeq: log.callSeqs.get("unknown"), name: "pay", class: "outcome_unknown" },
    { callId: "recorded", callSeq: log.callSeqs.get("recorded"), name: "pay", class: "not_dispatched" },
    { callId: "proposed", callSeq: null, name: "pay", class: "not_started" },
  ];
  assertEquals(row.open, { turn: 1, step: 1, calls });
  assertEquals(Object.keys(row.open.calls[0]), ["callId", "callSeq", "name", "class"]);
  assertEquals(JSON.stringify(row.closers), JSON.stringify(closers(log.folds())));
  assertEquals(row.events, log.events.length);

  const { stdout } = await holdfast(["verify", "open"], { cwd: folder.path });
  for (const { name } of calls) assertStringIncludes(stdout, name);
  for (const word of ["outcome_unknown", "not_dispatched", "not_started", "to be repaired"]) {
    assertStringIncludes(stdout, word);
  }
});

Deno.test("verify classes a log that another writer resumed by the conservative rules", async () => {
  await using folder = new TempFolder();
  const log = closedLog();
  log.endSeed();
  log.openStep("theirs");
  log.call("theirs");
  writeLog(folder.root, "resumed", log.events);
  const { json: [row] } = await document(["verify", "resumed"], { cwd: folder.path });
  assertEquals(row.open.calls.map((call: { class: string }) => call.class), ["outcome_unknown"]);
});

Deno.test("verify says of a torn zstd log where it is torn, for every length of the last frame", async () => {
  await using folder = new TempFolder();
  const { events } = openLog();
  const { bytes, ends } = logBytes("torn", events, { frames: [4, events.length - 4] });
  const solid = ends[1]!;
  let salvaged = 0;
  const lengths = [1, 3, 4, 5, 8, 12, 20, 40, 80, 120, bytes.length - solid - 5, bytes.length - solid - 1];
  for (const length of lengths) {
    writeLog(folder.root, "torn", bytes.slice(0, solid + length));
    const { code, json: [row] } = await document(["verify", "torn"], { cwd: folder.path });
    assertEquals([code, row.damage, row.frames], [0, null, 2], `${length} bytes`);
    assertEquals(Object.keys(row.torn), ["offsetBytes", "bytes", "salvagedEvents"]);
    assertEquals([row.torn.offsetBytes, row.torn.bytes], [solid, length]);
    assertEquals([row.events, row.lastSeq], [4 + row.torn.salvagedEvents, 3 + row.torn.salvagedEvents]);
    salvaged = Math.max(salvaged, row.torn.salvagedEvents);
  }
  // A frame that lacks only its checksum has all its blocks.
  assertEquals(salvaged, events.length - 4);
});

Deno.test("verify says of a torn raw log where it is torn", async () => {
  await using folder = new TempFolder();
  const { events } = openLog();
  const { bytes, ends } = logBytes("torn", events, { encoding: "none" });
  const solid = ends.at(-2)!;
  for (const length of [1, 10, bytes.length - solid - 1]) {
    writeLog(folder.root, "torn", bytes.slice(0, solid + length), { encoding: "none" });
    const { code, json: [row] } = await document(["verify", "torn"], { cwd: folder.path });
    assertEquals([code, row.damage, row.events], [0, null, events.length - 1]);
    assertEquals(row.torn, { offsetBytes: solid, bytes: length, salvagedEvents: 0 });
  }
});

Deno.test("verify says of a damaged frame where it lies, and what lies before it is counted", async () => {
  await using folder = new TempFolder();
  const { events } = closedLog();
  const { bytes, ends } = logBytes("bad", events, { frames: [2, 2, 3] });
  bytes[ends[1]! + 12]! ^= 0xff; // In the content of the second frame of events.
  writeLog(folder.root, "bad", bytes);
  const { code, json: [row], stderr } = await document(["verify", "bad"], { cwd: folder.path });
  assertEquals(code, 1);
  assertEquals(Object.keys(row.damage), ["code", "kind", "offsetBytes", "seq", "message"]);
  assertEquals([row.damage.code, row.damage.offsetBytes, row.damage.seq], ["CORRUPT_FRAME", ends[1], 2]);
  assertEquals([row.id, row.version, row.events, row.lastSeq, row.closers], ["bad", 3, 2, 1, []]);
  assertEquals(stderr, "");
});

Deno.test("verify says of a bad row where it stands", async () => {
  await using folder = new TempFolder();
  const events = closedLog().events.map((event) =>
    event.seq === 4 ? { ...event, surfaceOp: undefined } as SessionEvent : event
  );
  writeLog(folder.root, "row", events);
  const { code, json: [row] } = await document(["verify", "row"], { cwd: folder.path });
  assertEquals([code, row.damage.code, row.damage.seq, row.events], [1, "CORRUPT_LOG", 4, 4]);
});

Deno.test("field/A18: verify of a log with an event it must not skip says so, and counts everything", async () => {
  await using folder = new TempFolder();
  const log = closedLog();
  log.events.splice(5, 0, { type: "future/thing", seq: 5, time: 1, data: { any: [1] } } as unknown as SessionEvent);
  const events = log.events.map((event, seq) => ({ ...event, seq }));
  writeLog(folder.root, "future", events);
  const { code, json: [row] } = await document(["verify", "future"], { cwd: folder.path });
  assertEquals([code, row.damage.code, row.damage.seq, row.events], [1, "UNSUPPORTED_FORMAT", 5, events.length]);
  assertStringIncludes(row.damage.message, "future/thing");

  const shown = await document(["show", "future"], { cwd: folder.path });
  assertEquals([shown.code, shown.json.events], [1, events]);
  const text = await holdfast(["show", "future"], { cwd: folder.path });
  assertStringIncludes(text.stdout, "(unknown to this build)");
  assertStringIncludes(text.stderr, "UNSUPPORTED_FORMAT");
  const exported = await holdfast(["export", "future", "--to", "jsonl"], { cwd: folder.path });
  assertEquals([exported.code, exported.stdout.split("\n").length - 1], [1, events.length + 1]);
});

Deno.test("verify names the version of a log of another version, and the direction when it cannot be written", async () => {
  await using folder = new TempFolder();
  for (const version of [4, 2, 1, 0]) {
    const { isSeeded, ...rest } = headerOf("v");
    const header = JSON.stringify({ ...rest, ...(version < 2 ? {} : { isSeeded }), version });
    Deno.writeTextFileSync(`${folder.path}/v.jsonl`, `${header}\n`);
    const { code, json: [row] } = await document(["verify", "v.jsonl"], { cwd: folder.path });
    assertEquals([row.id, row.version, row.encoding, row.events, row.lastSeq], ["v", version, "none", 0, null]);
    assertEquals([code, row.damage?.code], version > 3 ? [1, "UNSUPPORTED_FORMAT"] : [0, undefined]);
    if (version > 3) assertMatch(row.damage.message, /newer/);

    const place = `${folder.root}/--any--/of-${version}`;
    Deno.mkdirSync(place, { recursive: true });
    Deno.writeTextFileSync(`${place}/session${version === 0 ? "" : `.v${version}`}.jsonl`, `${header}\n`);
    const byId = await document(["verify", `of-${version}`], { cwd: folder.path });
    assertEquals([byId.code, byId.json[0].version, byId.json[0].damage.kind], [1, version, "identity-mismatch"]);
  }
});

Deno.test("field/A16: verify of a log without its header says that the header is unreadable", async () => {
  await using folder = new TempFolder();
  const { events } = closedLog();
  const { bytes, ends } = logBytes("headless", events, { frames: [3, 4] });
  writeLog(folder.root, "headless", bytes.slice(ends[0]));
  writeLog(folder.root, "fine", events);
  const { code, json } = await document(["verify", "headless", "fine"], { cwd: folder.path });
  assertEquals([code, json[0].id, json[0].version, json[0].damage.code], [1, null, null, "CORRUPT_LOG"]);
  assertEquals([json[0].damage.seq, json[0].damage.offsetBytes], [null, 0]);
  assertMatch(json[0].damage.message, /header/);
  assertEquals([json[1].id, json[1].damage], ["fine", null]);
  assertEquals(json[0].encoding, "zstd");
});

Deno.test("verify gives rows to an empty file, to garbage, and to what is not there", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/empty.jsonl`, "");
  Deno.writeFileSync(`${folder.path}/garbage.jsonl`, new Uint8Array([1, 2, 3, 4, 5]));
  writeLog(folder.root, "fine", closedLog().events);
  const args = ["verify", "empty.jsonl", "garbage.jsonl", "./gone.jsonl", "nosuch", ".", "fine"];
  const { code, json, stderr } = await document(args, { cwd: folder.path });
  assertEquals(code, 1);
  assertEquals(json.map((row: { damage: { code: string } | null }) => row.damage?.code ?? null), [
    ...["CORRUPT_LOG", "CORRUPT_LOG", "NOT_FOUND", "NOT_FOUND", "NOT_FOUND", null],
  ]);
  assertEquals(json.map((row: object) => Object.keys(row)), args.slice(1).map(() => KEYS));
  assertEquals(json.slice(0, 2).map((row: { encoding: unknown }) => row.encoding), [null, null]);
  assertStringIncludes(stderr, 'NOT_FOUND: Cannot find session "nosuch"');
  const text = await holdfast(["verify", "nosuch"], { cwd: folder.path });
  assertEquals([text.code, text.stderr], [1, ""]);
  assertStringIncludes(text.stdout, "NOT_FOUND");
});

Deno.test("a file that is no log at all is called that, and one that may be a torn log is not", async () => {
  await using folder = new TempFolder();
  const cases: [string, string | number[], boolean][] = [
    ["notes.txt", "hello world\n", true],
    ["array.jsonl", "[1]\n", true],
    ["picture.png", [0x89, 0x50, 0x4e, 0x47, 0, 1], true],
    ["almost.zstd", [0x28, 0xb5, 0x2f, 0xfe, 0], true],
    ["short.zstd", [0x28, 0xb5], false],
    ["empty.jsonl", "", false],
    ["other.jsonl", '{"a":1}\n', false],
  ];
  for (const [name, content, isNoLog] of cases) {
    Deno.writeFileSync(
      `${folder.path}/${name}`,
      typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content),
    );
    const { code, json: [row] } = await document(["verify", `./${name}`], { cwd: folder.path });
    assertEquals([code, row.damage.code, row.damage.offsetBytes], [1, "CORRUPT_LOG", 0], name);
    assertEquals(row.damage.message.startsWith("not a session log: "), isNoLog, row.damage.message);
  }
  const { stderr } = await holdfast(["show", "./notes.txt"], { cwd: folder.path });
  assertStringIncludes(stderr, 'CORRUPT_LOG: Cannot open "./notes.txt": not a session log');
});

Deno.test("verify refuses a session that lies there in both encodings, and shows it", async () => {
  await using folder = new TempFolder();
  const { events } = closedLog();
  writeLog(folder.root, "both", events);
  writeLog(folder.root, "both", events, { encoding: "none" });
  const { code, json: [row] } = await document(["verify", "both"], { cwd: folder.path });
  assertEquals([code, row.damage.code, row.damage.offsetBytes, row.events], [1, "CORRUPT_LOG", null, 7]);
  assertStringIncludes(row.damage.message, "encoding");
});

Deno.test("verify says of a session and of its file whether a writer holds it", async () => {
  await using folder = new TempFolder();
  const path = writeLog(folder.root, "busy", openLog().events);
  const isLive = async () => {
    const { json } = await document(["verify", "busy", path], { cwd: folder.path });
    return json.map((row: { live: boolean }) => row.live);
  };
  assertEquals(await isLive(), [false, false]);
  {
    await using store = openFileStore({ root: folder.root });
    await using _ = await store.open("busy", "write");
    assertEquals(await isLive(), [true, true]);
    const { stdout } = await holdfast(["verify", "busy"], { cwd: folder.path });
    assertStringIncludes(stdout, "a writer holds it now");
  }
  assertEquals(await isLive(), [false, false]);
});

Deno.test("verify reports events out of place without calling it damage", async () => {
  await using folder = new TempFolder();
  const log = closedLog();
  log.endTurn(); // A second end.
  writeLog(folder.root, "nesting", log.events);
  const { code, stdout, stderr } = await holdfast(["verify", "nesting"], { cwd: folder.path });
  assertEquals(code, 0);
  assertStringIncludes(stdout, "ok");
  assertStringIncludes(stderr, "1 event out of place");
  assert(stderr.includes("seq 7"));
});

Deno.test("verify prints outcomes that only a person can settle", async () => {
  await using folder = new TempFolder();
  const log = openLog();
  log.append(closers(log.folds()));
  writeLog(folder.root, "unsettled", log.events);
  const { code, stdout } = await holdfast(["verify", "unsettled"], { cwd: folder.path });
  assertEquals(code, 0);
  assertStringIncludes(stdout, `outcome unknown: pay unknown (seq ${log.callSeqs.get("unknown")})`);
});

Deno.test("verify says the kind of each damage, and lists everything that is wrong behind it", async () => {
  await using folder = new TempFolder();
  const { events } = closedLog();
  const { bytes, ends } = logBytes("bad", events, { frames: [2, 2, 3] });
  bytes[ends[2]! - 1]! ^= 1; // The checksum of the second frame.
  const path = writeLog(folder.root, "bad", new Uint8Array([...bytes, ...new Uint8Array(40)]));
  Deno.writeTextFileSync(path.replace("session.v3.jsonl.zstd", "notes.txt"), "");
  const { json: [row] } = await document(["verify", "bad"], { cwd: folder.path });
  assertEquals([row.damage.kind, row.damage.offsetBytes], ["checksum", ends[1]]);
  assertEquals(
    row.findings.map(({ kind, offsetBytes }: { kind: string; offsetBytes: number }) => [kind, offsetBytes]),
    [
      ["stray-file", null],
      ["checksum", ends[1]],
      ["zero-filled-tail", ends[3]],
    ],
  );
  const { code, stdout } = await holdfast(["verify", "bad"], { cwd: folder.path });
  assertEquals(code, 1);
  assertStringIncludes(stdout, `damage: CORRUPT_FRAME, checksum at offset ${ends[1]}`);
  assertStringIncludes(stdout, `also: zero-filled-tail at offset ${ends[3]}`);
  assertStringIncludes(stdout, "strange, and harmless: stray-file");
});

Deno.test("what the format lets pass is no damage for verify, and is told", async () => {
  await using folder = new TempFolder();
  const { bytes } = logBytes("dos", closedLog().events, { encoding: "none" });
  const text = new TextDecoder().decode(bytes).replaceAll("\n", "\r\n");
  writeLog(folder.root, "dos", new TextEncoder().encode(text), { encoding: "none" });
  const { code, json: [row] } = await document(["verify", "dos"], { cwd: folder.path });
  assertEquals([code, row.damage, row.events], [0, null, 7]);
  assertEquals(row.findings.map(({ kind, severity }: { kind: string; severity: string }) => [kind, severity]), [[
    "crlf",
    "oddity",
  ]]);

  const torn = logBytes("torn", closedLog().events, { encoding: "none" }).bytes;
  writeLog(folder.root, "torn", new Uint8Array([...torn, ...new TextEncoder().encode("rubbish\n{")]), {
    encoding: "none",
  });
  const { json: [tail] } = await document(["verify", "torn"], { cwd: folder.path });
  assertEquals([tail.damage, tail.torn.offsetBytes], [null, torn.length]);
  assertEquals(tail.findings.map(({ severity }: { severity: string }) => severity), ["tail", "tail"]);
});

Deno.test("field/A06: a log with a record behind its own beginning is listed as damaged, and refused for writing", async () => {
  await using folder = new TempFolder();
  const { bytes, ends } = logBytes("twice", closedLog().events, { encoding: "none" });
  const half = bytes.slice(ends[2], ends[2]! + 20);
  const text = new Uint8Array([...bytes.slice(0, ends[2]), ...half, 0x0a, ...bytes.slice(ends[2])]);
  writeLog(folder.root, "twice", text, { encoding: "none" });
  const { code, json: [row] } = await document(["verify", "twice"], { cwd: folder.path });
  assertEquals([code, row.damage.kind, row.damage.offsetBytes, row.damage.seq], [1, "duplicate-prefix", ends[2], 2]);
  const listed = await document(["ls"], { cwd: folder.path });
  assertEquals(JSON.stringify(listed.json).includes('"damaged"'), true);
  const { code: refused, stderr } = await holdfast(["repair", "twice"], { cwd: folder.path });
  assertEquals(refused, 1);
  assertStringIncludes(stderr, "CORRUPT_LOG");
});
