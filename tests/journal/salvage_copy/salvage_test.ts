/**
 * Salvage: what it keeps, what it says about it, and that the copy goes on.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createAgent, defineTool, scripted } from "../../../mod.ts";
import { MemoryStorage } from "../../../src/adapters/memory/memory_storage.ts";
import { hasCode } from "../../../src/errors.ts";
import { encodeHeader, encodeRow, type SessionEvent } from "../../../src/event/mod.ts";
import { foldEvents, logFold } from "../../../src/fold/mod.ts";
import { encodeLines } from "../../../src/frame/mod.ts";
import { sha256Hex } from "../../../src/journal/digest.ts";
import { type LogBytes, logBytes } from "../../../src/journal/diagnose/mod.ts";
import { planSalvage, salvageLog, type SalvageOptions } from "../../../src/journal/salvage_copy/mod.ts";
import { RunningDigest } from "../../../src/journal/salvage_copy/running_digest.ts";
import { LogBuilder } from "../../fold/log_builder.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { casesNotRun, fixturesDir } from "../../support/fixtures.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { journal } from "../script.ts";
import { SMALL_OLD_LOG } from "../small_old_log.ts";
import { CODEC, HEADER, joined, piecesOf, richLog } from "./rich_log.ts";

const EVENTS = richLog(4);

function target(storage = new MemoryStorage({ simulate: "disk" })): SalvageOptions & { storage: MemoryStorage } {
  let next = 0;
  return { storage, codec: CODEC, clock: new FakeClock(), random: seededRandom(1), newId: () => `s${next++}` };
}

async function eventsOf(storage: MemoryStorage, id = "s0"): Promise<readonly SessionEvent[]> {
  const log = await journal(storage).open(id, "read");
  assertEquals(log.state().fault, null);
  return (await log.read({ limit: 100_000 })).events;
}

const bare = (events: readonly SessionEvent[]) => events.map(({ type, time }) => `${type} ${time}`);

Deno.test("a whole log is copied as it is, and log/salvaged is its last event", async () => {
  for (const encoding of ["zstd", "none"] as const) {
    const options = target();
    const bytes = joined(piecesOf(EVENTS, encoding).parts);
    const { sessions: [session] } = await salvageLog(logBytes("a log", bytes), { ...options, compression: encoding });
    const suffix = encoding === "zstd" ? ".zstd" : "";
    assertEquals([session?.id, session?.log], ["s0", `--w--/s0/session.v3.jsonl${suffix}`]);
    const found = await eventsOf(options.storage);
    assertEquals(found.slice(0, -1), EVENTS);
    assertEquals(found.at(-1)?.data, {
      version: 1,
      source: { name: "a log", sizeBytes: bytes.length, sha256: await sha256Hex(bytes) },
      ...{ kept: [[0, EVENTS.length - 1]], dropped: [], inferred: session!.inferred },
    });
    // Blobs are named, and nobody has said where they are.
    assertEquals(session!.missingBlobs.length, 4);
    const { header } = await journal(options.storage).open("s0", "read");
    assertEquals(header, { ...HEADER, id: "s0" });
  }
});

Deno.test("a plan says what the salvage then does, and writes nothing", async () => {
  const { parts } = piecesOf(EVENTS, "zstd");
  const source = logBytes("a log", joined([...parts.slice(0, 3), ...parts.slice(4)]));
  const options = target();
  const plan = await planSalvage(source, options);
  assertEquals(await options.storage.list(""), []);
  const { sessions } = await salvageLog(source, { ...options, plan });
  const { id: _, log: __, missingBlobs, ...planned } = sessions[0]!;
  const { inferred } = plan.copies[0]!;
  assertEquals({ ...planned, inferred: planned.inferred.slice(0, -missingBlobs.length) }, {
    ...plan.copies[0]!,
    inferred,
  });
  assertEquals(planned.kept, [[0, 9], [15, EVENTS.length - 1]]);
  await assertRejects(() => salvageLog(source, { ...options, plan: { ...plan } }), TypeError, "not made by");
});

/** A log that two processes resumed: each wrote its own lifecycle behind the same events, in turns. */
function forkedLog(): { bytes: Uint8Array<ArrayBuffer>; base: SessionEvent[]; a: SessionEvent[]; b: SessionEvent[] } {
  const base = richLog(2);
  const theirs = (name: string, time: number): SessionEvent[] => {
    const log = new LogBuilder();
    log.events.push(...base);
    log.turn = 2;
    log.time = time;
    log.endSeed();
    log.startTurn();
    log.startStep();
    log.user(`from ${name}`);
    log.assistant([`c${name}`]);
    log.call(`c${name}`);
    log.marker(`c${name}`);
    log.result(`c${name}`);
    log.endStep();
    log.endTurn();
    return log.events.slice(base.length);
  };
  const [a, b] = [theirs("A", 50_000), theirs("B", 60_000)];
  const parts = [[encodeHeader(HEADER)], base.map(encodeRow)];
  for (let at = 0; at < a.length; at += 3) {
    parts.push(a.slice(at, at + 3).map(encodeRow), b.slice(at, at + 3).map(encodeRow));
  }
  return { bytes: joined(parts.map((rows) => CODEC.compress(encodeLines(rows)))), base, a, b };
}

Deno.test("a forked log: A, B, or both become sessions, and what the other wrote is listed as dropped", async () => {
  const { bytes, base, a, b } = forkedLog();
  const source = logBytes("forked", bytes);
  const { diagnosis, copies } = await planSalvage(source, target());
  assertEquals(diagnosis.branches.map(({ name, forkSeq, events }) => [name, forkSeq, events]), [
    ["A", 0, base.length + a.length],
    ["B", base.length, b.length],
  ]);
  await assertRejects(() => salvageLog(source, target()), TypeError, "forked into A, B");
  await assertRejects(() => salvageLog(source, { ...target(), keep: ["C"] }), TypeError, 'no branch "C"');

  const both = target();
  const { sessions } = await salvageLog(source, { ...both, keep: "all" });
  assertEquals(sessions.map(({ id, branch }) => [id, branch]), [["s0", "A"], ["s1", "B"]]);
  assertEquals((await eventsOf(both.storage, "s0")).slice(0, -1), [...base, ...a]);
  assertEquals((await eventsOf(both.storage, "s1")).slice(0, -1), [...base, ...b]);
  const droppedBytes = (index: number) => copies[index]!.dropped.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  assert(droppedBytes(0) > 300 && droppedBytes(1) > 300);
  for (const { reason } of copies[0]!.dropped) assertStringIncludes(reason, "of branch B");

  for (const [name, own] of [["A", a], ["B", b]] as const) {
    const one = target();
    await salvageLog(source, { ...one, keep: [name] });
    assertEquals((await eventsOf(one.storage)).slice(0, -1), [...base, ...own]);
    assertEquals(await journal(one.storage).stat("s1"), null);
  }
});

Deno.test("behind a gap every pending call is of unknown outcome, and policies of later lifecycles are gone", async () => {
  const log = new LogBuilder();
  log.policy();
  log.openStep("one", "two");
  log.call("one");
  log.marker("one");
  const gap = log.events.length;
  log.result("one"); // These are lost, and with them what became of both calls.
  log.call("two");
  log.result("two");
  log.endStep();
  log.endTurn();
  log.endSeed();
  const behind = log.events.length;
  log.policy();
  log.openStep("three");
  log.call("three");
  const rows = log.events.map(encodeRow);
  const bytes = encodeLines([encodeHeader(HEADER), ...rows.slice(0, gap), ...rows.slice(behind)]);
  const options = target();
  const { sessions: [session] } = await salvageLog(logBytes("gapped", bytes as Uint8Array<ArrayBuffer>), options);
  const events = await eventsOf(options.storage);
  const results = events.filter(({ type }) => type === "tool/result");
  const codes = results.map(({ data }) => (data as { error?: { code: string } }).error?.code);
  assertEquals(codes, ["TOOL_OUTCOME_UNKNOWN", "TOOL_OUTCOME_UNKNOWN"]);
  assertEquals(events.filter(({ type }) => type === "checkpoint/policy").map(({ seq }) => seq), [0]);
  const folds = foldEvents(logFold, events);
  assertEquals([folds.lifecycle.barriersOn, folds.lifecycle.salvaged], [false, true]);
  // The marker of the first call still names its call, whose effect nobody knows. Of the second no record is left to be settled.
  assertEquals(folds.unresolved.effects.map(({ callId, markerSeq }) => [callId, markerSeq]), [["one", 5]]);
  assert(session!.inferred.some((remark) => remark.startsWith("turn/end at seq")));
  assertEquals(session!.dropped.map(({ reason }) => reason.includes("checkpoint/policy")), [true]);
});

Deno.test("what is lost of a compaction's span is taken out of it, and a summary of nothing is an ordinary message", async () => {
  for (const [lost, expected] of [[1, "replace"], [3, "append"]] as const) {
    const log = new LogBuilder();
    log.startTurn();
    log.startStep();
    log.system("be good");
    const seqs = ["one", "two", "three"].map((text) => log.user(text));
    log.compaction(1);
    log.summary(seqs[0]!, seqs[2]!, seqs);
    const at = log.checkpoint(seqs[0]!, seqs[2]!, seqs);
    log.compactionEnd(1);
    const gone = new Set(seqs.slice(0, lost));
    const rows = log.events.filter(({ seq }) => !gone.has(seq)).map(encodeRow);
    const options = target();
    await salvageLog(
      logBytes("compacted", encodeLines([encodeHeader(HEADER), ...rows]) as Uint8Array<ArrayBuffer>),
      options,
    );
    const events = await eventsOf(options.storage);
    const checkpoint = events.find(({ time }) => time === log.events[at]!.time)!;
    const op = typeof checkpoint.surfaceOp === "object" ? checkpoint.surfaceOp.op : checkpoint.surfaceOp;
    assertEquals([op, checkpoint.sourceEventSeqs], [expected, expected === "replace" ? [3, 4] : undefined]);
    const texts = [...foldEvents(logFold, events).surface.nodes].map(({ message }) => message.id);
    assertEquals(texts.length, 2);
  }
});

Deno.test("a salvaged session goes on: an agent resumes it, repairs it, and runs a turn with its own prompt", async () => {
  const { parts } = piecesOf(EVENTS, "zstd");
  const options = target();
  // The frames of the system message and of a whole turn are gone.
  await salvageLog(logBytes("damaged", joined([parts[0]!, ...parts.slice(2, 6), ...parts.slice(10, -1)])), options);
  await using store = journal(options.storage);
  const echo = defineTool({
    name: "echo",
    description: "",
    parameters: { type: "object" },
    effect: "none",
    execute: () => "x",
  });
  const model = scripted([[{ call: { name: "echo", arguments: {} } }], [{ text: "done" }]]);
  const agent = createAgent({ store, model, tools: [echo], systemPrompt: "be better" });
  await using session = await agent.resume("s0");
  const { reason } = await session.send("go on");
  assertEquals(reason.kind, "completed");
  const [head] = [...session.session.folds.surface.nodes];
  assertEquals([head?.type, JSON.stringify(head?.message.content).includes("be better")], ["system/message", true]);
});

Deno.test("a source that changes meanwhile is drift, and nothing is published", async () => {
  const bytes = joined(piecesOf(EVENTS, "none").parts);
  const changing: LogBytes = {
    ...logBytes("changing", bytes),
    read: (start, end) => Promise.resolve(bytes.slice(start, end)),
  };
  const options = target();
  const plan = await planSalvage(changing, options);
  bytes[bytes.length - 30]! ^= 1;
  const error = await assertRejects(() => salvageLog(changing, { ...options, plan }));
  assert(hasCode(error, "SOURCE_DRIFT"));
  assertEquals(await journal(options.storage).stat("s0"), null);
});

Deno.test("a taken id is refused, and a log without an event or of a later version is no log to salvage", async () => {
  const source = logBytes("a log", joined(piecesOf(EVENTS, "none").parts));
  const options = target();
  await salvageLog(source, options);
  const again = await assertRejects(() => salvageLog(source, { ...options, newId: () => "s0" }));
  assert(hasCode(again, "ALREADY_EXISTS"));
  for (const text of ["", "rubbish", `${encodeHeader(HEADER)}\n`]) {
    const error = await assertRejects(() => planSalvage(logBytes("nothing", new TextEncoder().encode(text)), options));
    assert(hasCode(error, "CORRUPT_LOG"), text);
  }
  const later = new TextEncoder().encode(`${encodeHeader(HEADER).replace('"version":3', '"version":4')}\n`);
  const error = await assertRejects(() => planSalvage(logBytes("later", later), options));
  assert(hasCode(error, "UNSUPPORTED_FORMAT"));
});

Deno.test("blobs that lie beside the source come along, before the log that names them", async () => {
  const bytes = new TextEncoder().encode("a long result");
  const digest = await sha256Hex(bytes);
  const log = new LogBuilder();
  log.openStep("one");
  const callSeq = log.call("one");
  log.add("result/spilled", { callId: "one", callSeq, digest, sizeBytes: bytes.length }, { ignorable: true });
  const source = logBytes(
    "a log",
    encodeLines([encodeHeader(HEADER), ...log.events.map(encodeRow)]) as Uint8Array<ArrayBuffer>,
  );
  const options = target();
  const { sessions } = await salvageLog(source, {
    ...options,
    blob: (name) => Promise.resolve(name === digest ? bytes : null),
  });
  assertEquals(sessions[0]!.missingBlobs, []);
  const copy = await journal(options.storage).open("s0", "read");
  assertEquals(await copy.getBlob(digest), bytes);
});

Deno.test("field/A16: a log without its first frame gets a header of what is known, and says what was inferred", async () => {
  const { parts } = piecesOf(EVENTS, "zstd");
  const options = target();
  const { sessions: [session] } = await salvageLog(logBytes("a log", joined(parts.slice(1))), {
    ...options,
    sessionId: "lost-one",
  });
  const { header } = await journal(options.storage).open("s0", "read");
  assertEquals([header.createdAt, header.cwd, header.isSeeded], [EVENTS[0]!.time, undefined, false]);
  assertEquals(bare((await eventsOf(options.storage)).slice(0, -1)), bare(EVENTS));
  const remark = session!.inferred.find((text) => text.startsWith("there is no header"));
  assertStringIncludes(remark ?? "", '"lost-one"');
});

Deno.test("field/A06: a record behind its own beginning is kept once", async () => {
  const { parts } = piecesOf(EVENTS, "none");
  const at = parts.length - 5;
  const prefix = joined([parts[at]!.slice(0, parts[at]!.length * 0.6), new TextEncoder().encode("\n")]);
  const bytes = joined([...parts.slice(0, at), prefix, ...parts.slice(at)]);
  const options = target();
  const { plan: { diagnosis }, sessions: [session] } = await salvageLog(logBytes("a log", bytes), options);
  assertEquals(diagnosis.findings.map(({ kind }) => kind), ["duplicate-prefix"]);
  assertEquals((await eventsOf(options.storage)).slice(0, -1), EVENTS);
  assertEquals(session!.dropped.map(({ sizeBytes }) => sizeBytes), [prefix.length]);
});

Deno.test("field/A17: logs of one frame, with a header over two frames, or with skippable frames are salvaged whole", async () => {
  const { parts } = piecesOf(EVENTS, "zstd");
  const header = encodeLines([encodeHeader(HEADER)]);
  const skippable = Uint8Array.of(0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3);
  const cases: Record<string, Uint8Array<ArrayBuffer>> = {
    "header-in-wrong-frame": CODEC.compress(encodeLines([encodeHeader(HEADER), ...EVENTS.map(encodeRow)])),
    "header-in-wrong-frame ": joined([
      CODEC.compress(header.slice(0, 20)),
      CODEC.compress(header.slice(20)),
      ...parts.slice(1),
    ]),
    "header-in-wrong-frame  ": joined([CODEC.compress(new Uint8Array(0)), ...parts]),
    "skippable-frame": joined([...parts.slice(0, 3), skippable, ...parts.slice(3)]),
  };
  for (const [kind, bytes] of Object.entries(cases)) {
    const options = target();
    const { plan: { diagnosis } } = await salvageLog(logBytes("a log", bytes), options);
    assertEquals(diagnosis.findings.map((finding) => finding.kind), [kind.trim()]);
    assertEquals((await eventsOf(options.storage)).slice(0, -1), EVENTS, kind);
  }
});

Deno.test("a header of no creation time gets that of the first event, whatever number that is", async () => {
  const written = { "-7": 0, "-0.5": 0, "0.5": 0, "1e308": Number.MAX_SAFE_INTEGER, "1e999": Number.MAX_SAFE_INTEGER };
  for (const [time, wanted] of Object.entries({ ...written, "-1e999": 0, "3.9": 3, '"soon"': 1_600_000_000_014 })) {
    const [header, first, ...rows] = SMALL_OLD_LOG;
    const lines = [
      header!.replace(/"createdAt":\d+/, '"createdAt":-1'),
      first!.replace(/"time":\d+/, `"time":${time}`),
      ...rows,
    ];
    const options = target();
    await salvageLog(logBytes("a log", new TextEncoder().encode(lines.map((line) => line + "\n").join(""))), options);
    const { header: copied } = await journal(options.storage).open("s0", "read");
    assertEquals([time, copied.createdAt], [time, wanted]);
  }
});

Deno.test("every log of the fixtures is salvaged, stays what it is, and its copy opens for writing", async () => {
  const root = fixturesDir();
  if (root === null) return casesNotRun(100, "salvage of recorded logs");
  let logs = 0;
  let empty = 0;
  for (const path of logFiles(`${root}/dsh`)) {
    const bytes = Deno.readFileSync(path);
    const before = await sha256Hex(bytes);
    const options = target();
    const name = path.slice(path.lastIndexOf("/") + 1);
    try {
      const { sessions } = await salvageLog(logBytes(name, bytes), { ...options, keep: "all" });
      for (const { id } of sessions) {
        const log = await journal(options.storage).open(id, "write");
        assertEquals(log.state().fault, null, path);
        await log.close();
      }
      logs++;
    } catch (error) {
      assert(hasCode(error, "CORRUPT_LOG"), `${path}: ${error}`);
      empty++;
    }
    assertEquals(await sha256Hex(bytes), before);
  }
  console.log(`${logs} logs salvaged, ${empty} without an event that can be kept`);
  assert(logs > 100 && empty < 12, `${logs} and ${empty}`);
});

function* logFiles(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* logFiles(path);
    else if (/\.jsonl(\.zstd)?$/.test(name)) yield path;
  }
}

Deno.test("RunningDigest is SHA-256, whatever the pieces", async () => {
  const random = seededRandom(7);
  for (const sizeBytes of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 70_000]) {
    const bytes = random.bytes(sizeBytes);
    const digest = new RunningDigest();
    for (let at = 0; at < sizeBytes;) {
      const step = 1 + random.below(200);
      digest.update(bytes.subarray(at, at + step));
      at += step;
    }
    assertEquals(digest.hex(), await sha256Hex(bytes), String(sizeBytes));
  }
});
