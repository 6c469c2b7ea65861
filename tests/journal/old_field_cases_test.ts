/**
 * What users of such systems reported about old logs.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { hasCode } from "../../src/errors.ts";
import { logBytes, salvageLog } from "../../src/journal/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { sweepMigration } from "./generations/crash_sweep.ts";
import { OLD_FOLDER, oldBytes, oldHeader, oldName, oldTurns } from "./generations/old_logs.ts";
import { bytesOf, filesOf, journal, storageWith } from "./script.ts";

Deno.test("field/A07: an old program that goes on beside the migrated log reaches only its own file, which stays as it was read", async () => {
  const rows = oldTurns(2);
  const old = oldBytes(oldHeader(), [rows.slice(0, 9)], "none");
  const storage = storageWith({ [oldName(0, "none")]: old });

  // While the old program holds the session nobody migrates it.
  const held = await storage.lock(`${OLD_FOLDER}session.lock`);
  assert(hasCode(await assertRejects(() => journal(storage).open("s", "write")), "LOCK_HELD"));
  await held.release();

  const writer = await journal(storage).open("s", "write");
  const nextSeq = writer.state().nextSeq;
  await writer.append([{ type: "turn/start", seq: nextSeq, time: 1, data: { turn: 3 } }]);
  // A program of a time without locks writes in the old envelope, into the file it knows.
  const late = new TextEncoder().encode(`${JSON.stringify(rows[9])}\n`);
  storage.stranger.write(oldName(0, "none"), bytesOf(old, late));
  await writer.append([{ type: "feedback/record", seq: nextSeq + 1, time: 1, data: { text: "x" } }]);
  await writer.close();

  const log = await journal(storage).open("s", "read");
  const { events } = await log.read();
  assertEquals([log.state().fault, events.length, log.header.version], [null, nextSeq + 2, 3]);
  assertEquals(events.map(({ seq }) => seq), events.map((_, index) => index));
});

Deno.test("field/A23: wherever a migration is killed the old log is there byte for byte, and the new one whole or not at all", async () => {
  const { operations, states, published } = await sweepMigration({
    ...{ kind: "posix", encoding: "zstd", way: "open", turns: 8, parts: 1 },
    bounds: { blockCombinationsMax: 2, prefixBytesMax: 2 },
  });
  console.log(`${operations} operations, ${states} states, the new log in ${published}`);
  assert(published > 0 && published < states);
});

Deno.test("field/A28: an event that may be skipped keeps an old log from being written, and not from being read or salvaged", async () => {
  const place = { turn: 1, step: 1 };
  const rows = [
    { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } },
    { type: "step/start", seq: 1, time: 2, data: place },
    { type: "ext/x", seq: 2, time: 3, ignorable: true, data: { any: [1] } },
    { type: "step/end", seq: 3, time: 4, data: place },
    { type: "turn/end", seq: 4, time: 5, data: { turn: 1, reason: { kind: "completed" } } },
  ];
  const bytes = oldBytes(oldHeader({ version: 2, isSeeded: false }), [rows], "none");
  const storage = storageWith({ [oldName(2, "none")]: bytes });
  const log = await journal(storage).open("s", "read");
  assertEquals([log.state().fault?.code, (await log.read()).events.map(({ type }) => type)], [
    "UNSUPPORTED_FORMAT",
    rows.map(({ type }) => type),
  ]);
  const refusal = await assertRejects(() => journal(storage).open("s", "write"), Error, "ext/x");
  assert(hasCode(refusal, "UNSUPPORTED_FORMAT"));
  assertEquals((await filesOf(storage)).get(oldName(2, "none")), bytes);

  const target = new MemoryStorage();
  const wiring = { storage: target, codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1) };
  const { sessions: [session] } = await salvageLog(logBytes("old", bytes), { ...wiring, newId: () => "new" });
  assertEquals(session!.kept, [[0, 1], [3, 4]]);
  assert(session!.dropped.some(({ reason }) => reason.includes("ext/x")));
  const copy = await journal(target).open("new", "write");
  assertEquals([copy.state().fault, copy.header.version], [null, 3]);
  await copy.close();
});
