import { assert, assertEquals, assertRejects } from "@std/assert";
import type { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { encodeRow, type SessionEvent } from "../../src/event/mod.ts";
import { encodeLines } from "../../src/frame/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { sha256Hex } from "../../src/journal/digest.ts";
import { tornCopyName } from "../../src/journal/layout.ts";
import {
  BATCHES,
  bytesOf,
  FOLDER,
  headerOf,
  journal,
  logBytes,
  logOf,
  storageWith,
  tinyBlocks,
  turnOf,
} from "./script.ts";

const EVENTS = turnOf(1);
const TORN_COPY = /\.torn-\d+-[0-9a-f]{8}$/;

/** The names of the torn-tail copies, shortest offset first. */
async function copiesIn(storage: MemoryStorage): Promise<string[]> {
  return (await storage.list(FOLDER)).map((entry) => entry.name).filter((name) => TORN_COPY.test(name));
}

for (const [label, codec] of [["one block", nodeZstd()], ["tiny blocks", tinyBlocks(50)]] as const) {
  Deno.test(`a log cut at any byte opens with its whole frames and what the torn one yields (zstd, ${label})`, async () => {
    const file = logBytes(headerOf(), BATCHES, "zstd", codec);
    const ends = BATCHES.map((_, index) => logBytes(headerOf(), BATCHES.slice(0, index + 1), "zstd", codec).length);
    const headerBytes = logBytes(headerOf(), [], "zstd", codec).length;
    let salvagedStates = 0;
    for (let cut = 0; cut <= file.length; cut++) {
      const store = journal(storageWith({ [logOf("zstd")]: file.slice(0, cut) }));
      if (cut < headerBytes) {
        await assertRejects(() => store.open("s", "read"), Error, "");
        assertEquals((await store.stat("s"))?.state, "damaged");
        continue;
      }
      const whole = ends.filter((end) => end <= cut).length;
      const solid = BATCHES.slice(0, whole).flat().length;
      const n = ends[whole - 1] ?? headerBytes;
      const log = await store.open("s", "read");
      const { torn, nextSeq, fault } = log.state();
      assertEquals(fault, null);
      assertEquals((await log.read()).events, EVENTS.slice(0, nextSeq));
      assert(nextSeq >= solid && nextSeq <= solid + (BATCHES[whole]?.length ?? 0));
      assertEquals(torn, cut === n ? null : { offsetBytes: n, bytes: cut - n, salvagedEvents: nextSeq - solid });
      if (nextSeq > solid) salvagedStates += 1;
      // The last block is whole; only the checksum is not.
      if (whole < BATCHES.length && ends[whole]! - cut <= 4) assertEquals(nextSeq, solid + BATCHES[whole]!.length);
    }
    assert(salvagedStates >= 4 * BATCHES.length, `${salvagedStates} states with salvaged records`);
  });
}

Deno.test("a log cut at any byte opens with its whole lines (none)", async () => {
  const file = logBytes(headerOf(), BATCHES, "none");
  const headerBytes = logBytes(headerOf(), [], "none").length;
  for (let cut = 0; cut <= file.length; cut++) {
    const storage = storageWith({ [logOf("none")]: file.slice(0, cut) });
    const store = journal(storage);
    if (cut < headerBytes) {
      await assertRejects(() => store.open("s", "read"), Error, "header");
      continue;
    }
    const n = file.subarray(0, cut).lastIndexOf(0x0a) + 1;
    const count = file.subarray(0, cut).filter((byte) => byte === 0x0a).length - 1;
    const log = await store.open("s", "write");
    assertEquals(log.state().nextSeq, count);
    assertEquals(log.state().torn, cut === n ? null : { offsetBytes: n, bytes: cut - n, salvagedEvents: 0 });
    await log.append(EVENTS.slice(count).slice(0, 1));
    assertEquals((await copiesIn(storage)).length, cut === n || count === EVENTS.length ? 0 : 1);
    await log.close();
    assertEquals((await (await store.open("s", "read")).read()).events, EVENTS.slice(0, count + 1));
  }
});

Deno.test("recover() keeps a copy of the torn bytes as one frame, and puts the salvaged records back as one", async () => {
  const codec = tinyBlocks(64);
  const solid = logBytes(headerOf(), BATCHES.slice(0, 5), "zstd", codec);
  const file = logBytes(headerOf(), BATCHES, "zstd", codec).slice(0, solid.length + 300);
  const storage = storageWith({ [logOf("zstd")]: file });
  const log = await journal(storage, { codec }).open("s", "write");
  const { torn } = log.state();
  assert(torn !== null && torn.salvagedEvents > 0 && torn.salvagedEvents < 4);
  const kept = EVENTS.slice(0, 8 + torn.salvagedEvents);
  assertEquals((await log.read()).events, kept);

  assertEquals(await log.recover([]), kept.length - 1);
  const tail = file.slice(solid.length);
  const copy = tornCopyName(logOf("zstd"), solid.length, await sha256Hex(tail));
  assertEquals(await copiesIn(storage), [copy]);
  assertEquals(nodeZstd().decompress(await storage.read(copy), 1e6), tail);
  const rows = codec.compress(encodeLines(kept.slice(8).map(encodeRow)));
  assertEquals(await storage.read(logOf("zstd")), new Uint8Array([...solid, ...rows]));
  assertEquals(log.state(), {
    sizeBytes: solid.length + rows.length,
    frames: 7,
    nextSeq: kept.length,
    torn: null,
    fault: null,
  });
  await log.append(EVENTS.slice(kept.length));
  await log.close();
  assertEquals((await (await journal(storage).open("s", "read")).read()).events, EVENTS);
});

Deno.test("append() to a torn log recovers first, and a refused batch changes nothing", async () => {
  const file = logBytes(headerOf(), BATCHES, "zstd").slice(0, -1);
  const storage = storageWith({ [logOf("zstd")]: file });
  const log = await journal(storage).open("s", "write");
  assertEquals(log.state().nextSeq, 12);
  await assertRejects(() => log.append(EVENTS.slice(8, 9)), Error, "wanted 12");
  assertEquals(await storage.read(logOf("zstd")), file);
  const next = turnOf(2, 12);
  assertEquals(await log.append(next), 23);
  assertEquals((await log.read()).events, [...EVENTS, ...next]);
});

Deno.test("a reader takes the tail or the copy, whichever yields the most records", async () => {
  const codec = tinyBlocks(64);
  const solid = logBytes(headerOf(), BATCHES.slice(0, 5), "zstd", codec);
  const frame = logBytes(headerOf(), BATCHES, "zstd", codec).slice(solid.length);
  const copyOf = async (tail: Uint8Array<ArrayBuffer>, offset = solid.length) => ({
    [tornCopyName(logOf("zstd"), offset, await sha256Hex(tail))]: nodeZstd().compress(tail),
  });
  const nextSeqOf = async (files: Record<string, Uint8Array>) =>
    (await journal(storageWith(files)).open("s", "read")).state().nextSeq;
  const short = frame.slice(0, 200);
  const long = frame.slice(0, -2);
  const torn = new Uint8Array([...solid, ...short]);
  const log = logOf("zstd");

  const fromShort = await nextSeqOf({ [log]: torn });
  assert(fromShort > 8 && fromShort < 12);
  assertEquals(await nextSeqOf({ [log]: solid, ...await copyOf(short) }), fromShort);
  assertEquals(await nextSeqOf({ [log]: solid, ...await copyOf(long) }), 12);
  assertEquals(await nextSeqOf({ [log]: torn, ...await copyOf(long) }), 12);
  assertEquals(await nextSeqOf({ [log]: solid, ...await copyOf(short), ...await copyOf(long) }), 12);
  // Another offset, a damaged copy and a file that is none change nothing.
  assertEquals(await nextSeqOf({ [log]: torn, ...await copyOf(long, solid.length - 1) }), fromShort);
  const [name] = Object.keys(await copyOf(long));
  assertEquals(await nextSeqOf({ [log]: torn, [name!]: new TextEncoder().encode("no frame") }), fromShort);
});

Deno.test("a copy of an older end never comes back to life behind a newer one", async () => {
  const storage = storageWith({ [logOf("zstd")]: logBytes(headerOf(), BATCHES, "zstd").slice(0, -3) });
  const log = await journal(storage).open("s", "write");
  await log.recover([]);
  await log.close();
  const [copy] = await copiesIn(storage);
  const again = await journal(storage).open("s", "write");
  assertEquals([again.state().nextSeq, again.state().torn], [12, null]);
  await again.append(turnOf(2, 12).slice(0, 1));
  assertEquals(await copiesIn(storage), [copy]);
});

Deno.test("recover() refuses when a copy of this name holds something else, and touches nothing", async () => {
  const solid = logBytes(headerOf(), BATCHES.slice(0, 5));
  const file = logBytes(headerOf(), BATCHES).slice(0, -1);
  const tail = file.slice(solid.length);
  const copy = tornCopyName(logOf("zstd"), solid.length, await sha256Hex(tail));
  const storage = storageWith({ [logOf("zstd")]: file, [copy]: nodeZstd().compress(new Uint8Array(3)) });
  const log = await journal(storage).open("s", "write");
  await assertRejects(() => log.recover([]), Error, "holds something else");
  assertEquals(await storage.read(logOf("zstd")), file);
  assertEquals(nodeZstd().decompress(await storage.read(copy), 99), new Uint8Array(3));
});

Deno.test("recover() removes old copies, and keeps the newest eight up to their size, and all of the current end", async () => {
  const solid = logBytes(headerOf(), BATCHES.slice(0, 5));
  const file = logBytes(headerOf(), BATCHES).slice(0, solid.length + 20);
  const files: Record<string, Uint8Array> = { [logOf("zstd")]: file };
  const old = Array.from({ length: 12 }, (_, index) => tornCopyName(logOf("zstd"), 10 * (index + 1), "0badcafe"));
  for (const name of old) files[name] = nodeZstd().compress(new Uint8Array(1));
  const current = tornCopyName(logOf("zstd"), solid.length, "0badcafe");
  files[current] = nodeZstd().compress(new Uint8Array(1));
  files[`${logOf("zstd")}.torn-notes.txt`] = new Uint8Array(1);
  const storage = storageWith(files);
  await (await journal(storage).open("s", "write")).recover([]);
  const left = await copiesIn(storage);
  assertEquals(left.filter((name) => old.includes(name)), old.slice(4).sort());
  assertEquals(left.length, 8 + 2, "the current end's own copy, and the one just made");
  assert(await storage.stat(`${logOf("zstd")}.torn-notes.txt`) !== null, "what is no copy stays");

  // Three of seven megabytes are over sixteen; the newest stays whatever its size.
  const big = storageWith({ [logOf("zstd")]: file });
  for (const name of old.slice(0, 3)) big.stranger.write(name, new Uint8Array(7 * 1024 * 1024).fill(1));
  await (await journal(big).open("s", "write")).recover([]);
  assertEquals((await copiesIn(big)).filter((name) => old.includes(name)), old.slice(1, 3).sort());
  const bigger = storageWith({ [logOf("zstd")]: file, [old[0]!]: new Uint8Array(17 * 1024 * 1024).fill(1) });
  await (await journal(bigger).open("s", "write")).recover([]);
  assertEquals((await copiesIn(bigger)).includes(old[0]!), true);
});

Deno.test("a copy whose name only the cache held is made durable before the tail is cut (exec/R20)", async () => {
  const machine = storageWith({ [logOf("zstd")]: logBytes(headerOf(), BATCHES).slice(0, -1) });
  machine.failAt({ operation: "publish", kind: "crash", steps: 2 });
  await assertRejects(async () => await (await journal(machine).open("s", "write")).recover([]));
  const killed = machine.crash({ keepUnsynced: "all" });
  killed.failAt({ operation: "append", kind: "crash" });
  await assertRejects(async () => await (await journal(killed).open("s", "write")).recover([]));
  const cut = killed.crash({ keepUnsynced: "none" });
  assertEquals((await (await journal(cut).open("s", "read")).read()).events, EVENTS);
});

Deno.test("salvage ends at the first record that could not stand there", async () => {
  const bad = [
    JSON.stringify({ ...EVENTS[9], surfaceOp: { op: "replace", startSeq: 0, endSeq: 0 }, sourceEventSeqs: [0] }),
    JSON.stringify({ ...EVENTS[9], seq: 10 }),
    "not json",
  ];
  for (const row of bad) {
    const rows = [encodeRow(EVENTS[8]!), row, encodeRow({ ...EVENTS[10]!, seq: 10 })];
    const tail = nodeZstd().compress(encodeLines(rows)).slice(0, -1);
    const storage = storageWith({ [logOf("zstd")]: bytesOf(logBytes(headerOf(), BATCHES.slice(0, 5)), tail) });
    const log = await journal(storage).open("s", "write");
    assertEquals([log.state().nextSeq, log.state().torn?.salvagedEvents], [9, 1]);
    assertEquals(await log.recover(EVENTS.slice(9)), 11);
    assertEquals((await log.read()).events, EVENTS);
  }
  const unknown = JSON.stringify({ type: "future/thing", seq: 8, time: 1, data: {} });
  const tail = nodeZstd().compress(encodeLines([unknown])).slice(0, -1);
  const store = journal(storageWith({ [logOf("zstd")]: bytesOf(logBytes(headerOf(), BATCHES.slice(0, 5)), tail) }));
  assertEquals((await store.open("s", "read")).state().fault?.code, "UNSUPPORTED_FORMAT");
  await assertRejects(() => store.open("s", "write"), Error, "future/thing");
});

Deno.test("both codecs salvage and recover the same from the same torn log", async () => {
  const file = logBytes(headerOf(), BATCHES, "zstd", tinyBlocks(40));
  const start = logBytes(headerOf(), BATCHES.slice(0, 5), "zstd", tinyBlocks(40)).length;
  for (let cut = start; cut < file.length; cut += 23) {
    const seen: SessionEvent[][] = [];
    for (const codec of [nodeZstd(), portableZstd()]) {
      const storage = storageWith({ [logOf("zstd")]: file.slice(0, cut) });
      const log = await journal(storage, { codec }).open("s", "write");
      await log.recover([]);
      seen.push([...(await log.read()).events]);
    }
    assertEquals(seen[0], seen[1]);
  }
});
