import { assert, assertEquals, assertRejects } from "@std/assert";
import { FORMAT_VERSION } from "../../mod.ts";
import { CURRENT_VERSION, type FileReport, inspectFile } from "../../src/entry/inspect.ts";
import { MemoryStorage, openMemoryStore } from "../../src/entry/memory.ts";
import { openRawLogs } from "../../src/entry/raw_logs.ts";
import { writeZip } from "../../src/journal/mod.ts";
import { CODEX, fileOf } from "../foreign/foreign_support.ts";
import { SMALL_OLD_LOG, smallOldLog } from "../journal/small_old_log.ts";

const HEADER = { type: "session", version: 3, id: "a", createdAt: 1, isSeeded: false, delegationDepth: 0 };
const turn = (seq: number, type: string, data: unknown) => ({ type, seq, time: seq + 1, data });
const WHOLE = [
  HEADER,
  turn(0, "turn/start", { turn: 1 }),
  turn(1, "turn/end", { turn: 1, reason: { kind: "completed" } }),
];

/** Takes logs in and opens each for writing, as the page does. Returns how many events each has then. */
async function taken(
  logs: readonly { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }[],
): Promise<number[]> {
  const storage = new MemoryStorage({ simulate: "disk" });
  const raw = openRawLogs(storage);
  await using store = openMemoryStore({ storage });
  const counts: number[] = [];
  for (const { name, bytes } of logs) {
    const { id, fault } = await raw.take(name, bytes);
    assertEquals(fault, null);
    const log = await store.open(id, "write");
    counts.push(log.state().nextSeq);
    await log.close();
  }
  return counts;
}

function brief({ kind, version, encoding, sessionId, events, take, salvage, findings }: FileReport) {
  return {
    kind,
    version,
    encoding,
    sessionId,
    events,
    how: take.how,
    salvage,
    findings: findings.map(({ kind }) => kind),
  };
}

const newId = (() => {
  let ids = 0;
  return () => `made${ids++}`;
})();

Deno.test("inspectFile() says of a whole log that it can be taken in as it is, and of an archive too", async () => {
  assertEquals(CURRENT_VERSION, FORMAT_VERSION);
  const bytes = fileOf(...WHOLE);
  const { report, make } = await inspectFile("a.jsonl", bytes);
  const { kind, version, encoding, sessionId, events, how, salvage, findings } = brief(report);
  assertEquals([kind, version, encoding, sessionId, events, how, salvage, findings], [
    ...["log", 3, "none", "a", 2, "as it is"],
    ...[null, []],
  ]);
  assertEquals((await make("import", { newId }))[0]!.bytes, bytes);
  await assertRejects(() => make("salvage", { newId }), Error, "nothing in it can be kept");
  const zip = writeZip([{ name: "session.v3.jsonl", bytes }]);
  assertEquals((await inspectFile("a.zip", zip)).report.kind, "archive");
});

Deno.test("inspectFile() lists what is wrong in plain words, and a salvage of it opens and says where it comes from", async () => {
  const { report, make } = await inspectFile("a.jsonl", fileOf(WHOLE[0], WHOLE[1], "rubbish <b>", WHOLE[2]));
  assertEquals(brief(report).how, "up to the damage");
  assertEquals(report.findings.map(({ meaning }) => meaning), ["a line that is no event"]);
  assertEquals(report.salvage?.map(({ branch, events, pieces, pieceBytes }) => [branch, events, pieces, pieceBytes]), [[
    "A",
    2,
    1,
    12,
  ]]);
  assertEquals(await taken(await make("salvage", { newId })), [3]);
});

Deno.test("inspectFile() offers the branches of a forked log, each as a session of its own", async () => {
  const other = turn(1, "turn/end", { turn: 1, reason: { kind: "blocked" } });
  const { report, make } = await inspectFile("a.jsonl", fileOf(...WHOLE, other));
  assertEquals(report.salvage?.map(({ branch }) => branch), ["A", "B"]);
  assertEquals((await taken(await make("salvage", { newId }))).length, 2);
  assertEquals((await taken(await make("salvage", { keep: ["B"], newId }))).length, 1);
});

Deno.test("inspectFile() converts the log of another program, and tells what would be left out before that", async () => {
  const { report, make } = await inspectFile("c.jsonl", fileOf(...CODEX));
  assert(report.take.how === "converted" && report.take.report.losses.length > 0);
  assertEquals([report.kind, report.events], ["foreign", report.take.report.events]);
  assertEquals(await taken(await make("import", { newId })), [report.take.report.events]);
});

Deno.test("inspectFile() throws for no bytes, and makes nothing of those that hold nothing", async () => {
  const files = [fileOf(), fileOf("no log"), fileOf({ type: "session", version: 9, id: "z" }), fileOf(CODEX[0])];
  for (const bytes of [...files, new Uint8Array(3000), Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd])]) {
    const { report, make } = await inspectFile("x", bytes);
    assertEquals([report.take.how, report.salvage], ["refused", null]);
    await assertRejects(() => make("import", { newId }));
  }
});

Deno.test("inspectFile() makes a log of the current version out of an old one", async () => {
  const { report, make } = await inspectFile("session.jsonl", smallOldLog());
  assertEquals([report.kind, report.version, report.take.how, report.sessionId], ["log", 0, "migrated", "long-ago"]);
  assert(report.take.how === "migrated");
  assertEquals(await taken(await make("import", { newId })), [report.take.events]);
});

Deno.test("inspectFile() salvages an old log that is damaged", async () => {
  const { report, make } = await inspectFile("session.jsonl", fileOf(...SMALL_OLD_LOG.toSpliced(3, 0, "rubbish")));
  assertEquals([report.version, report.findings[0]?.kind], [0, "bad-row"]);
  const [copy] = report.salvage!;
  assertEquals(await taken(await make("salvage", { newId })), [copy!.events + 1]);
});
