/**
 * Old logs open for reading: brought to the current version in memory, and nothing written.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { hasCode } from "../../../src/errors.ts";
import { parseRow, type SessionEvent } from "../../../src/event/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { OLD_EVENTS_KEPT_LENGTH_MAX } from "../../../src/journal/generations/old_reader.ts";
import { openLogFile } from "../../../src/journal/mod.ts";
import type { LogReader } from "../../../src/store/session_store.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { casesNotRun, fixturesDir } from "../../support/fixtures.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { bytesOf, ENCODINGS, filesOf, journal, storageWith } from "../script.ts";
import { oldBytes, oldHeader, oldName, type OldRecord, oldTurns } from "./old_logs.ts";

const fixtures = fixturesDir();

async function openFile(bytes: Uint8Array, as?: "stored"): Promise<LogReader> {
  const wiring = { codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1) };
  return await openLogFile({ storage: storageWith({ "any name": bytes }), ...wiring }, "any name", { as });
}

for (const encoding of ENCODINGS) {
  Deno.test(`open(read) of a version-0 log gives version 3 and writes nothing (${encoding})`, async () => {
    const rows = oldTurns(3);
    const storage = storageWith({
      [oldName(0, encoding)]: oldBytes(oldHeader(), [rows.slice(0, 5), rows.slice(5)], encoding),
    });
    const before = await filesOf(storage);
    const store = journal(storage);
    const visited: SessionEvent[] = [];
    const log = await store.open("s", "read", { visit: (event) => visited.push(event) });
    assertEquals([log.header.version, log.storedVersion, log.encoding], [3, 0, encoding]);
    assertEquals([log.state().fault, log.state().torn, log.state().nextSeq], [null, null, visited.length]);
    const { events } = await log.read();
    assertEquals(events, visited);
    assertEquals(events.map(({ seq }) => seq), events.map((_, index) => index));
    assert(!events.some(({ type }) => type === "assistant/chunk"));
    assertEquals(events.filter(({ type }) => type === "assistant/message").length, 3);
    for (const event of events) assertEquals((await log.read({ from: event.seq, limit: 1 })).events, [event]);
    await log.close();
    assertEquals(await filesOf(storage), before);
  });

  Deno.test(`a torn version-0 log is read up to its tail, wherever it is cut (${encoding})`, async () => {
    const rows = oldTurns(2);
    const batches = rows.map((row) => [row]);
    const whole = oldBytes(oldHeader(), batches, encoding);
    const all = (await (await openFile(whole)).read()).events;
    const headerBytes = oldBytes(oldHeader(), [], encoding).length;
    let torn = 0;
    for (let cut = headerBytes; cut < whole.length; cut += 3) {
      const log = await openFile(whole.subarray(0, cut));
      const { nextSeq, fault } = log.state();
      const { events } = await log.read();
      if (log.state().torn !== null) torn++;
      assertEquals([fault, events.length], [null, nextSeq], `cut at ${cut}`);
      // An answer that was cut off becomes an attempt; everything before it is as in the whole.
      const isAttempt = events.at(-1)?.type === "assistant/attempt";
      const certain = isAttempt ? events.slice(0, -1) : events;
      assertEquals(certain, all.slice(0, certain.length), `cut at ${cut}`);
      assertEquals((await openFile(whole.subarray(0, cut), "stored")).header.version, 0);
    }
    assert(torn > 10, `${torn} torn`);
  });
}

Deno.test("damage in an old log ends what is read there, and the fault names the place", async () => {
  const rows = oldTurns(2);
  const bytes = oldBytes(oldHeader(), rows.map((row) => [row]), "zstd");
  const at = oldBytes(oldHeader(), rows.slice(0, 12).map((row) => [row]), "zstd").length;
  bytes[at + 12]! ^= 0xff;
  const log = await openFile(bytes);
  const { fault, nextSeq } = log.state();
  assertEquals([fault?.code, fault?.offsetBytes], ["CORRUPT_FRAME", at]);
  assert(nextSeq > 5);
  assertEquals((await log.read()).events.length, nextSeq);

  const garbage = bytesOf(oldBytes(oldHeader(), [rows.slice(0, 5)], "none"), new TextEncoder().encode("garbage\n"));
  const [, ...rest] = new TextDecoder().decode(oldBytes(oldHeader(), [rows.slice(5)], "none")).split(/(?<=\n)/);
  const damaged = await openFile(bytesOf(garbage, new TextEncoder().encode(rest.join(""))));
  assertEquals(damaged.state().fault?.code, "CORRUPT_LOG");
});

/** A log as an early importer wrote it: no migration may invent a place for the system message (session-format §15.2). */
function earlyRows(): OldRecord[] {
  const source = { kind: "user" };
  const said = { id: "u", role: "user", content: [{ type: "text", text: "hello" }], source };
  return [
    { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } },
    { type: "user/message", seq: 1, time: 2, data: said, surfaceOp: "append" },
    { type: "step/start", seq: 2, time: 3, data: { turn: 1, step: 1 } },
    { type: "step/end", seq: 3, time: 4, data: { turn: 1, step: 1 } },
    { type: "turn/end", seq: 4, time: 5, data: { turn: 1, reason: { kind: "completed" } } },
  ];
}

Deno.test("what has no place in the current version is shown as it is stored, with the reason, and never written", async () => {
  const storage = storageWith({ [oldName(0, "none")]: oldBytes(oldHeader(), [earlyRows()], "none") });
  const store = journal(storage);
  const seen: string[] = [];
  const log = await store.open("s", "read", { visit: ({ type }) => seen.push(type) });
  const { fault, nextSeq } = log.state();
  assertEquals([log.header.version, fault?.code, nextSeq], [0, "UNSUPPORTED_FORMAT", 5]);
  assert(/before first step/.test(fault!.message), fault!.message);
  assertEquals((await log.read()).events.map(({ type }) => type), earlyRows().map(({ type }) => type as string));
  assertEquals(seen, earlyRows().map(({ type }) => type as string));
  assertEquals([(await store.stat("s"))?.state, (await store.stat("s"))?.header?.id], ["unsupported", "s"]);

  const error = await assertRejects(() => store.open("s", "write"), Error, "before first step");
  assert(hasCode(error, "UNSUPPORTED_FORMAT") && /stays as it is/.test(error.message), error.message);
  assertEquals([...(await filesOf(storage)).keys()], [oldName(0, "none"), "--w--/s/session.lock"]);
});

Deno.test("as stored, an old log has its own events and numbers", async () => {
  const rows = oldTurns(1);
  const log = await openFile(oldBytes(oldHeader({ seedLength: 2 }), [rows], "none"), "stored");
  const { events } = await log.read();
  assertEquals([log.header.version, log.storedVersion, log.inheritedEventCount], [0, undefined, 2]);
  assertEquals(events.map(({ seq }) => seq), events.map((_, index) => index));
  assertEquals(events.filter(({ type }) => type === "assistant/chunk").length, 6);
  assertEquals(events.at(-3)?.type, "assistant/message");
  assert(Array.isArray(events.at(-3)?.sourceEventSeqs));
});

Deno.test("a log too large to be kept is read page by page, forwards and backwards, as a small one is", async () => {
  const pieces = new Array(64).fill("0123456789abcdef".repeat(64));
  const turns = Math.ceil(OLD_EVENTS_KEPT_LENGTH_MAX / (3 * 64 * 1024)) + 40;
  const bytes = oldBytes(oldHeader(), Array.from({ length: 1 }, () => oldTurns(turns, pieces)), "none");
  assert(bytes.length > OLD_EVENTS_KEPT_LENGTH_MAX);
  const log = await openFile(bytes);
  const { nextSeq } = log.state();
  const all: SessionEvent[] = [];
  let pages = 0;
  for (let from: number | null = 0; from !== null; pages++) {
    const page: Awaited<ReturnType<LogReader["read"]>> = await log.read({ from });
    all.push(...page.events);
    from = page.nextFrom;
  }
  assertEquals(all.map(({ seq }) => seq), Array.from({ length: nextSeq }, (_, seq) => seq));
  assert(pages > 2, `${pages} pages`);
  for (const from of [nextSeq - 1, 3, nextSeq >> 1, 0, 7]) {
    assertEquals((await log.read({ from, limit: 2 })).events, all.slice(from, from + 2));
  }
  assertEquals(await log.read({ from: nextSeq }), { events: [], nextFrom: null });
  await log.close();
});

Deno.test("a reader sees what an old program goes on to write, and a watcher hears of it", async () => {
  const rows = oldTurns(2);
  const name = oldName(0, "none");
  const first = rows.findIndex(({ type }) => type === "turn/end") + 1;
  const storage = storageWith({ [name]: oldBytes(oldHeader(), [rows.slice(0, first)], "none") });
  const clock = new FakeClock();
  const log = await journal(storage, { clock }).open("s", "read");
  const before = (await log.read()).events.length;
  const stop = new AbortController();
  const heard: number[] = [];
  const watching = (async () => {
    for await (const { seq } of log.watch(before, { signal: stop.signal })) {
      heard.push(seq);
      if (seq === before + 5) stop.abort();
    }
  })();
  storage.stranger.write(name, oldBytes(oldHeader(), [rows], "none"));
  const { events } = await log.read();
  assert(events.length > before + 5);
  await clock.advance(1000);
  await watching;
  assertEquals(heard, [0, 1, 2, 3, 4, 5].map((step) => before + step));
});

Deno.test("every migratable fixture reads as the current version, event by event", async () => {
  if (fixtures === null) return casesNotRun(4, "derived/migratable");
  const lines = Deno.readTextFileSync(`${fixtures}/dsh/derived/migratable/session.v3.jsonl`).trimEnd().split("\n");
  for (const file of ["session.jsonl", "session.v1.jsonl", "session.v2.jsonl", "session.v2.jsonl.zstd"]) {
    const log = await openFile(Deno.readFileSync(`${fixtures}/dsh/derived/migratable/${file}`));
    assertEquals((await log.read()).events, lines.slice(1).map((line) => parseRow(line)));
    assertEquals(log.header, JSON.parse(lines[0]!));
  }
});
