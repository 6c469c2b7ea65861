import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import type { Fault } from "../../src/adapters/memory/faults.ts";
import { hasCode } from "../../src/errors.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import { walkFrames } from "../../src/frame/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import type { LogWriter } from "../../src/store/session_store.ts";
import { seededRandom } from "../support/seeded_random.ts";
import {
  BATCHES,
  ENCODINGS,
  FOLDER,
  headerOf,
  journal,
  logBytes,
  logOf,
  storageWith,
  turnOf,
  turnsOf,
} from "./script.ts";

const EVENTS = turnOf(1);

async function start(batches = 2): Promise<{ storage: MemoryStorage; log: LogWriter }> {
  const storage = storageWith({ [logOf("zstd")]: logBytes(headerOf(), BATCHES.slice(0, batches)) });
  return { storage, log: await journal(storage).open("s", "write") };
}

/** What a power cut leaves right now. */
async function durable(storage: MemoryStorage): Promise<readonly SessionEvent[]> {
  return (await (await journal(storage.crash()).open("s", "read")).read()).events;
}

for (const [kind, code] of [["enospc", "STORAGE_FULL"], ["eio", "STORAGE_LOST"], ["short", "SHORT_WRITE"]] as const) {
  for (const cutsBack of [true, false]) {
    Deno.test(`a failed write leaves the old log, and the same handle writes it again (${kind}, ${cutsBack ? "cut back" : "not cut back"}, field/A04)`, async () => {
      const { storage, log } = await start();
      const before = await storage.read(logOf("zstd"));
      storage.failAt({ operation: "append", kind, steps: 7, cutsBack });
      const error = await assertRejects(() => log.append(BATCHES[2]!));
      assert(hasCode(error, code));
      assertEquals(log.state().nextSeq, 4);
      if (cutsBack) assertEquals(await storage.read(logOf("zstd")), before);
      assertEquals((await log.read()).events, EVENTS.slice(0, 4));
      assertEquals(await log.append([...BATCHES[2]!, ...BATCHES[3]!]), 5);
      assertEquals(await durable(storage), EVENTS.slice(0, 6));
    });
  }
}

Deno.test("a disk that stays full refuses every write, loses nothing, and goes on when there is room (field/A04)", async () => {
  const { storage, log } = await start();
  const usedBytes = (await storage.read(logOf("zstd"))).length;
  storage.capacityBytes = usedBytes + 3;
  for (let round = 0; round < 3; round++) {
    const error = await assertRejects(() => log.append(BATCHES[2]!));
    assert(hasCode(error, "STORAGE_FULL"));
    assertEquals((await storage.read(logOf("zstd"))).length, usedBytes);
  }
  storage.capacityBytes = Infinity;
  assertEquals(await log.append(BATCHES[2]!), 4);
  assertEquals(await durable(storage), EVENTS.slice(0, 5));
});

Deno.test("a failed sync is made good by a new descriptor: truncate, sync, append anew, sync", async () => {
  for (const steps of [0, 5, 1e9]) {
    const { storage, log } = await start();
    const { operationCount } = storage;
    storage.failAt({ operation: "sync", kind: "sync", steps });
    assertEquals(await log.append(BATCHES[2]!), 4);
    const kinds = storage.operations.slice(operationCount).map(({ kind }) => kind);
    assertEquals(kinds, ["append", "sync", "truncate", "sync", "append", "sync"]);
    assertEquals(await storage.read(logOf("zstd")), logBytes(headerOf(), BATCHES.slice(0, 3)));
    assertEquals(await log.append(BATCHES[3]!), 5);
    assertEquals(await durable(storage), EVENTS.slice(0, 6));
  }
});

Deno.test("two failed syncs end the writer: SYNC_FAILED from then on, and nothing acknowledged is lost (field/D04)", async () => {
  for (const second of [1, 2] as const) {
    const { storage, log } = await start();
    const syncFails: Fault = { operation: "sync", kind: "sync", times: second === 1 ? 2 : 1 };
    storage.failAt(syncFails);
    // The second one: of the truncation, or of the batch that was appended anew.
    if (second === 2) storage.failAt({ operation: storage.operationCount + 5, kind: "sync" });
    const error = await assertRejects(() => log.append(BATCHES[2]!));
    assert(hasCode(error, "SYNC_FAILED"), String(error));
    storage.heal();
    assertStrictEquals(await assertRejects(() => log.append(BATCHES[2]!)), error);
    assertStrictEquals(await assertRejects(() => log.recover([])).catch(() => error), error);
    assertEquals((await log.read()).events, EVENTS.slice(0, 4));
    await log.close();
    const again = await journal(storage.peer()).open("s", "write");
    assertEquals(await again.append(EVENTS.slice(again.state().nextSeq)), 11);
  }
});

Deno.test("a failed sync on a disk that is full now is an ordinary full disk", async () => {
  const { storage, log } = await start();
  storage.failAt({ operation: "sync", kind: "enospc" });
  storage.failAt({ operation: storage.operationCount + 4, kind: "enospc" });
  const error = await assertRejects(() => log.append(BATCHES[2]!));
  assert(hasCode(error, "STORAGE_FULL"), String(error));
  assertEquals(await log.append(BATCHES[2]!), 4);
  assertEquals(await durable(storage), EVENTS.slice(0, 5));
});

Deno.test("a writer whose file or lock is not its own any more writes nothing, ever again (field/D04)", async () => {
  const disturb: readonly ((storage: MemoryStorage) => void)[] = [
    (storage) => storage.stranger.append(logOf("zstd"), Uint8Array.of(1, 2, 3)),
    (storage) => storage.stranger.write(logOf("zstd"), logBytes(headerOf(), BATCHES.slice(0, 2))),
    (storage) => storage.stranger.remove(logOf("zstd")),
    (storage) => storage.stranger.remove(`${FOLDER}session.lock`),
  ];
  for (const act of disturb) {
    const { storage, log } = await start();
    act(storage);
    const found = await storage.stat(logOf("zstd")) === null ? null : await storage.read(logOf("zstd"));
    const error = await assertRejects(() => log.append(BATCHES[2]!));
    assert(hasCode(error, "LOCK_LOST"), String(error));
    for (let round = 0; round < 3; round++) {
      assertStrictEquals(await assertRejects(() => log.append(BATCHES[2]!)), error);
    }
    assertEquals(await storage.stat(logOf("zstd")) === null ? null : await storage.read(logOf("zstd")), found);
    await log.close();
  }
});

Deno.test("a failed write beside which a stranger wrote cuts nothing of the stranger's", async () => {
  const { storage, log } = await start();
  const before = await storage.read(logOf("zstd"));
  storage.failAt({ operation: "append", kind: "eio", steps: 7, cutsBack: false });
  await assertRejects(() => log.append(BATCHES[2]!));
  storage.stranger.append(logOf("zstd"), new Uint8Array(5000).fill(7));
  const error = await assertRejects(() => log.append(BATCHES[2]!));
  assert(hasCode(error, "LOCK_LOST"), String(error));
  assertEquals((await storage.read(logOf("zstd"))).length, before.length + 7 + 5000);
});

Deno.test("a recovery that fails at any operation may be tried again on the same handle", async () => {
  const solid = logBytes(headerOf(), BATCHES.slice(0, 5));
  const torn = logBytes(headerOf(), BATCHES).slice(0, -2);
  const rehearsal = storageWith({ [logOf("zstd")]: torn });
  await (await journal(rehearsal).open("s", "write")).recover([]);
  const expected = await rehearsal.read(logOf("zstd"));
  assert(expected.length > solid.length);
  for (const { operation, kind, steps } of rehearsal.operations) {
    for (const fault of ["enospc", "eio", "sync"] as const) {
      if (kind === "lock" || (fault === "sync" && kind !== "sync" && kind !== "publish")) continue;
      const storage = storageWith({ [logOf("zstd")]: torn });
      const log = await journal(storage).open("s", "write").catch(() => null);
      if (log === null) continue;
      if (operation < storage.operationCount) continue;
      // A truncation that fails may have happened all the same.
      storage.failAt({ operation, kind: fault, steps: kind === "truncate" ? steps : steps >> 1 });
      let failures = 0;
      for (let tries = 0; tries < 3; tries++) {
        try {
          assertEquals(await log.recover([]), 11);
          break;
        } catch {
          failures += 1;
          assertEquals((await log.read()).events, EVENTS, `${fault} at ${kind}: nothing readable is lost meanwhile`);
        }
      }
      assert(failures < 3, `${fault} at ${kind}`);
      assertEquals(await storage.read(logOf("zstd")), expected);
      assertEquals(
        (await storage.list(FOLDER)).map(({ name }) => name),
        (await rehearsal.list(FOLDER)).map(({ name }) => name),
      );
      assertEquals(await durable(storage), EVENTS);
    }
  }
});

Deno.test("append() writes one frame per batch with one append and one sync, several frames for a large one", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const log = await journal(storage, { limits: { batchBytesMax: 1000 } }).create(headerOf());
  await log.append(EVENTS.slice(0, 1));
  let { operationCount } = storage;
  await log.append(EVENTS.slice(1, 3));
  assertEquals(storage.operations.slice(operationCount).map(({ kind }) => kind), ["append", "sync"]);
  assertEquals(log.state().frames, 3);
  operationCount = storage.operationCount;
  const many = turnsOf(8).slice(3);
  await log.append(many);
  assertEquals(storage.operations.slice(operationCount).map(({ kind }) => kind), ["append", "sync"]);
  const { frames, fault, torn } = walkFrames(await storage.read(logOf("zstd")));
  assertEquals([fault, torn, frames.length], [null, null, log.state().frames]);
  assert(frames.length > 10);
  for (const { startOffset, endOffset } of frames.slice(3)) {
    const plain = nodeZstd().decompress((await storage.read(logOf("zstd"))).slice(startOffset, endOffset), 1e6);
    assert(plain.length <= 1000 && plain.at(-1) === 0x0a, "whole rows, at most a thousand bytes");
  }
  for (let from = 0; from < 96; from += 5) {
    assertEquals((await log.read({ from, limit: 5 })).events, turnsOf(8).slice(from, from + 5));
  }
});

Deno.test("append() refuses a row that no reader would take, before anything is written", async () => {
  const storage = new MemoryStorage();
  const log = await journal(storage, { limits: { contentSizeBytesMax: 2000 } }).create(headerOf());
  const note = (seq: number, text: string) => ({ type: "feedback/record", seq, time: 1, data: { text } });
  const error = await assertRejects(() => log.append([note(0, "a"), note(1, "ü".repeat(1000))]));
  assert(hasCode(error, "TOO_LARGE"));
  assertEquals(await storage.list(""), []);
  await log.append([note(0, "ü".repeat(900))]);
  const blob = await assertRejects(() => log.putBlob(new Uint8Array(2001)));
  assert(hasCode(blob, "TOO_LARGE"));
});

Deno.test("a publication that fails may be tried again, with a larger batch too", async () => {
  for (const encoding of ENCODINGS) {
    for (const operation of ["stageAppend", "publish"] as const) {
      for (let steps = 0; steps <= 3; steps++) {
        const storage = new MemoryStorage({ simulate: "disk" });
        const log = await journal(storage, { compression: encoding }).create(headerOf());
        storage.failAt({ operation, kind: "enospc", steps });
        const error = await assertRejects(() => log.append(BATCHES[0]!));
        assert(hasCode(error, "STORAGE_FULL") || hasCode(error, "SYNC_FAILED"), String(error));
        assertEquals(log.state().sizeBytes, null);
        assertEquals(await log.append([...BATCHES[0]!, ...BATCHES[1]!]), 3);
        assertEquals(await durable(storage), EVENTS.slice(0, 4));
      }
    }
  }
});

Deno.test("random batches come back exactly, from any page, after any number of reopenings", async () => {
  const random = seededRandom(3);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 6 }), { maxLength: 12 }),
      fc.constantFrom(...ENCODINGS),
      fc.integer({ min: 200, max: 5000 }),
      async (batches, compression, batchBytesMax) => {
        const storage = new MemoryStorage({ simulate: "disk" });
        const expected: SessionEvent[] = [];
        let log = await journal(storage, { compression, limits: { batchBytesMax } }).create(headerOf());
        for (const batch of batches) {
          const events = batch.map((data, index) => ({
            type: "x/y",
            seq: expected.length + index,
            time: -5,
            data: data as never,
            ignorable: true as const,
          }));
          if (JSON.stringify(events).includes("-0")) continue;
          assertEquals(await log.append(events), expected.length + events.length - 1);
          expected.push(...events);
          if (random.below(3) === 0 && expected.length > 0) {
            await log.close();
            log = await journal(storage.peer(), { limits: { batchBytesMax } }).open("s", "write");
          }
        }
        if (expected.length === 0) return;
        const reader = await journal(storage.peer()).open("s", "read");
        assertEquals(reader.state().nextSeq, expected.length);
        const from = random.below(expected.length);
        const limit = 1 + random.below(9);
        assertEquals(
          (await reader.read({ from, limit })).events.map((e) => JSON.stringify(e)),
          expected.slice(from, from + limit).map((e) => JSON.stringify(e)),
        );
        assertEquals(
          (await reader.read()).events.map((e) => JSON.stringify(e)),
          expected.map((e) => JSON.stringify(e)),
        );
      },
    ),
    { seed: 1, numRuns: 120 },
  );
});

Deno.test("two handles of one process: the second is refused, and a read is not", async () => {
  const { storage, log } = await start();
  const store = journal(storage);
  const error = await assertRejects(() => store.open("s", "write"));
  assert(hasCode(error, "LOCK_HELD"));
  assertEquals((await (await store.open("s", "read")).read()).events.length, 4);
  assertEquals(await log.append(BATCHES[2]!), 4);
});

Deno.test("a removal that did not get to its end is finished by the next, and shows no session meanwhile", async () => {
  const files = {
    [logOf("zstd")]: logBytes(headerOf(), BATCHES),
    [`${FOLDER}session.jsonl.zstd`]: Uint8Array.of(1),
    [`${FOLDER}blobs/x`]: Uint8Array.of(1),
  };
  const rehearsal = storageWith(files);
  await journal(rehearsal).delete("s");
  assertEquals(await rehearsal.list(""), []);
  for (const { operation, steps } of rehearsal.operations) {
    for (let step = 0; step <= steps; step++) {
      const storage = storageWith(files);
      storage.failAt({ operation, kind: "crash", steps: step });
      await assertRejects(() => journal(storage).delete("s"));
      const after = storage.crash({ keepUnsynced: "all" });
      const row = await journal(after).stat("s");
      assert(row === null || row.version === 3, "the older generation never comes back to life");
      assert(row === null || await after.stat(`${FOLDER}blobs/x`) !== null, "the log goes before what belongs to it");
      if ((await after.list("")).length > 0) await journal(after).delete("s");
      assertEquals(await after.list(""), []);
    }
  }
});

Deno.test("putBlob() replaces a damaged blob, and getBlob() refuses one", async () => {
  const { storage, log } = await start();
  const bytes = Uint8Array.of(1, 2, 3);
  const digest = await log.putBlob(bytes);
  for (
    const bad of [nodeZstd().compress(Uint8Array.of(9)), Uint8Array.of(9), nodeZstd().compress(bytes).slice(0, -1)]
  ) {
    storage.stranger.write(`${FOLDER}blobs/${digest}`, bad);
    const error = await assertRejects(() => log.getBlob(digest));
    assert(hasCode(error, "CORRUPT_FRAME"), String(error));
    assertEquals(await log.putBlob(bytes), digest);
    assertEquals(await log.getBlob(digest), bytes);
  }
});
