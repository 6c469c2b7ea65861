import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { HANDLE_WAIT_MS_MAX } from "../../../src/adapters/opfs/handle_pool.ts";
import { openOpfsStorage, SYNC_HANDLES_MAX } from "../../../src/adapters/opfs/mod.ts";
import { openOpfsStore } from "../../../src/entry/opfs.ts";
import {
  hasCode,
  LockHeldError,
  LockLostError,
  ShortWriteError,
  StorageFullError,
  StorageLostError,
  SyncFailedError,
} from "../../../src/errors.ts";
import { publish, type StorageFile, type StorageLock, type StoragePort } from "../../../src/storage/storage_port.ts";
import { eventsOf, headerOf, readAll } from "../../../src/testing/session_store_context.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { openIn } from "./fake_context.ts";
import { FakeOrigin, type FakeWorker } from "./fake_opfs.ts";

const LOCK = "a/session.lock";
const LOG = "a/log";
const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

interface Opened {
  readonly origin: FakeOrigin;
  readonly worker: FakeWorker;
  readonly storage: StoragePort;
  readonly lock: StorageLock;
  readonly file: StorageFile;
}

async function openLog(origin = new FakeOrigin()): Promise<Opened> {
  const worker = origin.worker();
  const storage = await openIn(worker);
  const lock = await storage.lock(LOCK);
  await publish(storage, LOG, bytesOf("one"), lock);
  return { origin, worker, storage, lock, file: await storage.open(LOG, lock) };
}

function inUse(): Error {
  return new DOMException("somebody holds it", "NoModificationAllowedError");
}

Deno.test("field/E04 an open that fails after the lock was granted leaves no lock, and the next one succeeds", async () => {
  const rehearsal = new FakeOrigin();
  await writeSession(rehearsal.worker());
  assert(rehearsal.openings >= 3, `${rehearsal.openings} handles are opened`);
  for (const error of [new DOMException("broken", "UnknownError"), inUse()]) {
    for (let failing = 0; failing < rehearsal.openings; failing++) {
      const origin = new FakeOrigin();
      const worker = origin.worker();
      let openings = 0;
      worker.faults = { open: () => openings++ >= failing ? error : undefined };
      const failed = await assertRejects(() => writeSession(worker));
      assert(hasCode(failed, error.name === "UnknownError" ? "STORAGE_LOST" : "LOCK_HELD"), String(failed));
      assertEquals(origin.heldLocks, []);
      assertEquals(origin.openHandles, 0);
      worker.faults = {};
      await writeSession(worker);
      assertEquals(origin.heldLocks, []);
    }
  }
});

/** Creates a session, or goes on with it, in a store of its own. */
async function writeSession(worker: FakeWorker): Promise<void> {
  await using store = await openOpfsStore({ platform: worker.platform });
  const row = await store.stat("s");
  if (row === null) {
    const log = await store.create(headerOf("s"));
    try {
      await log.append(eventsOf(0, 1));
    } finally {
      await log.close();
    }
  }
  const log = await store.open("s", "write");
  await log.append(eventsOf(log.state().nextSeq, 1));
  await log.close();
}

Deno.test("field/E01 a file another worker holds is LOCK_HELD after a bounded wait, and no DOMException", async () => {
  const { origin, storage, lock, file } = await openLog();
  await file.close();
  const victim = origin.worker();
  await (await victim.platform.origin.getDirectoryHandle("holdfast"))
    .getDirectoryHandle("a")
    .then((folder) => folder.getFileHandle("log"))
    .then((log) => log.createSyncAccessHandle());
  await assertRejects(() => storage.open(LOG, lock), LockHeldError, "a live writer holds the file");
  const waitedMs = origin.pausesMs.reduce((sum, ms) => sum + ms, 0);
  assertEquals(waitedMs, HANDLE_WAIT_MS_MAX);
  assert(waitedMs <= 3000);
  await assertRejects(() => storage.remove(LOG, lock), LockHeldError);
  victim.kill();
  await (await storage.open(LOG, lock)).close();
});

Deno.test("field/E02 a handle that the browser frees a moment later is waited for", async () => {
  const { origin, worker, storage, lock, file } = await openLog();
  await file.close();
  let refusals = 5;
  worker.faults = { open: () => refusals-- > 0 ? inUse() : undefined };
  assertEquals((await storage.open(LOG, lock)).sizeBytes, 3);
  assertEquals(origin.pausesMs, [4, 8, 16, 32, 64]);
});

const SHAPES = {
  "a wrapped negative count": () => 4_294_967_288,
  "a short count": (bytes: Uint8Array) => bytes.length - 3,
  "a QuotaExceededError": () => {
    throw new DOMException("No space", "QuotaExceededError");
  },
};

for (const [label, shape] of Object.entries(SHAPES)) {
  for (const takenBytes of [0, 2]) {
    Deno.test(`field/E06 ${label} is STORAGE_FULL with the estimate, cut back to the old length (${takenBytes} taken)`, async () => {
      const { origin, worker, storage, file } = await openLog();
      origin.quotaBytes = 4000;
      worker.faults = {
        write(bytes, _path, put) {
          put(bytes.subarray(0, takenBytes));
          return shape(bytes);
        },
      };
      const error = await assertRejects(() => file.append(bytesOf("twotwo")), StorageFullError);
      assertStringIncludes(error.message, `uses ${origin.usedBytes} of 4000 bytes`);
      assertEquals([file.sizeBytes, textOf(await storage.read(LOG))], [3, "one"]);
      worker.faults = {};
      await file.append(bytesOf("two"));
      await file.sync();
      assertEquals(textOf(await storage.read(LOG)), "onetwo");
    });
  }
}

Deno.test("field/E06 a full origin refuses a batch, and takes it once when there is room", async () => {
  const origin = new FakeOrigin();
  await using store = await openOpfsStore({ platform: origin.worker().platform });
  const log = await store.create(headerOf("s"));
  await log.append(eventsOf(0, 1));
  origin.quotaBytes = origin.usedBytes + 5;
  const error = await assertRejects(() => log.append(eventsOf(1, 3)), StorageFullError);
  assertStringIncludes(error.message, `of ${origin.quotaBytes} bytes`);
  assertEquals((await readAll(log)).length, 1);
  origin.quotaBytes = Infinity;
  assertEquals(await log.append(eventsOf(1, 3)), 3);
  assertEquals(await readAll(await store.open("s", "read")), eventsOf(0, 4));
});

Deno.test("field/E06 says STORAGE_FULL also when the browser gives no estimate", async () => {
  const { origin, worker, file } = await openLog();
  worker.faults = { write: () => 4_294_967_288 };
  origin.failingEstimates = 1;
  const error = await assertRejects(() => file.append(bytesOf("two")), StorageFullError);
  assertStringIncludes(error.message, "no estimate");
});

Deno.test("a count that cannot be is SHORT_WRITE, and that of a vanished file STORAGE_LOST", async () => {
  const { worker, storage, file } = await openLog();
  for (const count of [-1, NaN, 4, 1e12, 4_294_967_295, undefined as unknown as number]) {
    worker.faults = {
      write: (bytes, _path, put) => {
        put(bytes.subarray(0, 1));
        return count ?? "no number" as unknown as number;
      },
    };
    await assertRejects(() => file.append(bytesOf("two")), ShortWriteError);
    assertEquals(textOf(await storage.read(LOG)), "one");
  }
  worker.faults = { write: () => 4_294_967_292 };
  await assertRejects(() => file.append(bytesOf("two")), StorageLostError, "gone");
});

Deno.test("field/E07 10,000 writes that are taken in part never succeed unless every byte can be read back", async () => {
  const { origin, worker, storage, file } = await openLog();
  const random = seededRandom(7);
  let expected = 3;
  let done = 0;
  worker.faults = {
    write(bytes, _path, put) {
      const takenBytes = random.below(bytes.length + 1);
      put(bytes.subarray(0, takenBytes));
      // Most browsers say what they took; the worst one says something else.
      return random.below(4) > 0 ? takenBytes : random.below(bytes.length + 1);
    },
  };
  for (let round = 0; round < 10_000; round++) {
    const bytes = new Uint8Array(1 + random.below(6)).map(() => 1 + random.below(255));
    try {
      await file.append(bytes);
    } catch (error) {
      assert(hasCode(error, "STORAGE_FULL"), String(error));
      assertEquals(file.sizeBytes, expected);
      assertEquals((await storage.read(LOG, { startBytes: expected })).length, 0);
      continue;
    }
    assertEquals(await storage.read(LOG, { startBytes: expected }), bytes);
    expected += bytes.length;
    done++;
  }
  assert(done > 1000 && done < 9000, `${done} succeeded`);
  assertEquals(origin.files.get("holdfast/a/log")?.length, expected);
});

Deno.test("field/E09 a file deleted under its handle is STORAGE_LOST, is not tried again, and can be made anew", async () => {
  const { origin, storage, lock, file } = await openLog();
  await file.append(bytesOf("two"));
  origin.clear();
  await assertRejects(() => file.sync(), StorageLostError, "deleted under its handle");
  for (let tries = 0; tries < 3; tries++) await assertRejects(() => file.append(bytesOf("x")), StorageLostError);
  await file.close(); // Closing the handle of such a file never returns, so it is left open.
  await assertRejects(() => storage.open(LOG, lock), StorageLostError, "deleted under it");
  await assertRejects(() => storage.stage("a/other", lock), StorageLostError);
  assertEquals(await lock.isHeld(), false);
  assertEquals(origin.hangs, 0);
  assertEquals(origin.pausesMs, []);
  await lock.release();

  const again = await storage.lock(LOCK);
  await publish(storage, LOG, bytesOf("new"), again);
  assertEquals(textOf(await storage.read(LOG)), "new");
});

Deno.test("field/E09 a file deleted alone is STORAGE_LOST at the next open, and NOT_FOUND under a new lock", async () => {
  const { origin, storage, lock, file } = await openLog();
  await file.close();
  await (await origin.worker().platform.origin.getDirectoryHandle("holdfast"))
    .getDirectoryHandle("a")
    .then((folder) => folder.removeEntry("log"));
  await assertRejects(() => storage.open(LOG, lock), StorageLostError, "is gone");
  await lock.release();
  const again = await storage.lock(LOCK);
  const error = await assertRejects(() => storage.open(LOG, again));
  assert(hasCode(error, "NOT_FOUND"));
});

Deno.test("field/E09 a session whose origin is cleared is told so at its next flush and ever after, and hangs nowhere", async () => {
  const origin = new FakeOrigin();
  const store = await openOpfsStore({ platform: origin.worker().platform });
  const log = await store.create(headerOf("s"));
  await log.append(eventsOf(0, 1));
  origin.clear();
  for (let tries = 0; tries < 3; tries++) {
    const error = await assertRejects(() => log.append(eventsOf(1, 1)));
    assert(hasCode(error, "STORAGE_LOST"), Deno.inspect(error));
  }
  assertEquals(origin.pausesMs, []);
  await store.close();
  assertEquals([origin.heldLocks, origin.hangs], [[], 0]);
});

Deno.test("field/E10 in a runtime without OPFS the storage is refused with the reason, and nothing else is used", async () => {
  const error = await assertRejects(() => openOpfsStorage(), StorageLostError);
  assertStringIncludes(error.message, "origin private file system");
  assertEquals((error.cause as { reason: string }).reason, "no-storage");
});

Deno.test("a stolen lock stops its holder, and the thief cannot write while the victim holds the file", async () => {
  const { origin, storage, lock, file } = await openLog();
  const thief = origin.worker();
  origin.steal("holdfast:holdfast/a/session.lock", thief);
  await Promise.resolve();
  const theirs = await openIn(thief);
  assertEquals(await storage.isLocked(LOCK), true);
  assertEquals(await lock.isHeld(), false);
  await assertRejects(() => file.append(bytesOf("two")), LockLostError);
  await assertRejects(() => storage.open(LOG, lock), LockLostError);
  origin.freeLock("holdfast:holdfast/a/session.lock", thief);
  const stolen = await theirs.lock(LOCK);
  await assertRejects(() => theirs.open(LOG, stolen), LockHeldError);
  await file.close();
  assertEquals((await theirs.open(LOG, stolen)).sizeBytes, 3);
});

Deno.test(`at most ${SYNC_HANDLES_MAX} handles are open, however many sessions are written and read`, async () => {
  const origin = new FakeOrigin();
  await using store = await openOpfsStore({ platform: origin.worker().platform });
  const ids = Array.from({ length: 100 }, (_, index) => `s${index}`);
  const logs = await Promise.all(ids.map((id) => store.create(headerOf(id))));
  for (let seq = 0; seq < 3; seq++) await Promise.all(logs.map((log) => log.append(eventsOf(seq, 1))));
  assertEquals([origin.openHandlesMost, SYNC_HANDLES_MAX], [8, 8]);
  await Promise.all(logs.map((log) => log.close()));
  assertEquals(origin.openHandles, 0);

  const { openings } = origin;
  await using reading = await openOpfsStore({ platform: origin.worker().platform });
  const readers = await Promise.all(ids.map((id) => reading.open(id, "read")));
  const found = await Promise.all(readers.map((reader) => readAll(reader)));
  for (const events of found) assertEquals(events, eventsOf(0, 3));
  let rows = 0;
  for await (const row of reading.list()) rows += row.state === "ok" ? 1 : 0;
  assertEquals(rows, ids.length);
  assertEquals(origin.openings, openings, "reading takes no handle");
});

Deno.test("a file whose handle was parked is durable, and goes on where it was", async () => {
  const { origin, worker, storage, lock, file } = await openLog();
  await file.append(bytesOf("two"));
  const others = await openOthers(storage, lock);
  assertEquals(textOf(origin.restart("dropped").files.get("holdfast/a/log")!), "onetwo");
  assertEquals(textOf(await storage.read(LOG)), "onetwo");
  await file.append(bytesOf("three"));
  await file.sync();
  assertEquals(textOf(await storage.read(LOG)), "onetwothree");
  for (const [index, other] of others.entries()) {
    await other.append(bytesOf("!"));
    assertEquals(textOf(await storage.read(`a/${index}`)), "x!");
  }
  assertEquals(origin.openHandlesMost, SYNC_HANDLES_MAX);
  assertEquals(worker.isDead, false);
});

Deno.test("a file that could not be made durable when it was parked is spent", async () => {
  const { worker, storage, lock, file } = await openLog();
  await file.append(bytesOf("two"));
  worker.faults = {
    flush(path) {
      if (path.endsWith("/log")) throw new DOMException("broken", "UnknownError");
    },
  };
  await openOthers(storage, lock);
  worker.faults = {};
  await assertRejects(() => file.sync(), SyncFailedError);
  await assertRejects(() => file.append(bytesOf("x")), SyncFailedError);
});

Deno.test("a file that somebody changed while its handle was parked is not written any more", async () => {
  const { origin, storage, lock, file } = await openLog();
  await openOthers(storage, lock);
  origin.put("holdfast/a/log", bytesOf("oneFOREIGN"));
  await assertRejects(() => file.append(bytesOf("two")), LockLostError, "found 10 bytes where we left 3");
  assertEquals(textOf(await storage.read(LOG)), "oneFOREIGN");
});

Deno.test("a file that another writer took while its handle was parked is LOCK_LOST, and what was synced stays so", async () => {
  const { origin, storage, lock, file } = await openLog();
  await file.append(bytesOf("two"));
  await openOthers(storage, lock);
  const thief = origin.worker();
  const theirs = await openIn(thief);
  origin.steal("holdfast:holdfast/a/session.lock", thief);
  origin.freeLock("holdfast:holdfast/a/session.lock", thief);
  const stolen = await theirs.lock(LOCK);
  const taken = await theirs.open(LOG, stolen);
  assertEquals(taken.sizeBytes, 6);
  await file.sync();
  await assertRejects(() => file.append(bytesOf("x")), LockLostError);
  await taken.append(bytesOf("!"));
  assertEquals(textOf(await storage.read(LOG)), "onetwo!");
});

/** As many files as there are handles, so that whatever was open before is parked. */
async function openOthers(storage: StoragePort, lock: StorageLock): Promise<StorageFile[]> {
  const files: StorageFile[] = [];
  for (let index = 0; index < SYNC_HANDLES_MAX; index++) {
    const staged = await storage.stage(`a/${index}`, lock);
    await staged.append(bytesOf("x"));
    files.push(await staged.publish());
  }
  return files;
}

Deno.test("read() gives up when a file changes under every try", async () => {
  const { origin } = await openLog();
  const worker = origin.worker();
  const storage = await openIn(worker);
  let tries = 0;
  const failing = (times: number) => {
    tries = 0;
    return { slice: () => tries++ < times ? new DOMException("changed", "NotReadableError") : undefined };
  };
  worker.faults = failing(19);
  assertEquals(await storage.read(LOG, { startBytes: 3 }), new Uint8Array(0));
  worker.faults = failing(Infinity);
  await assertRejects(() => storage.read(LOG, { startBytes: 3 }), StorageLostError, "20 tries");
  assertEquals(tries, 20);
  assertEquals(origin.pausesMs.slice(-15), [1, 2, 4, 8, 16, 32, ...Array(9).fill(64)]);
});

Deno.test("read() of a large file is put together from slices", async () => {
  const { origin } = await openLog();
  const storage = await openIn(origin.worker());
  const bytes = new Uint8Array(2_500_000).map((_, index) => 1 + index % 251);
  origin.put("holdfast/big", bytes);
  assertEquals(await storage.read("big"), bytes);
  assertEquals(await storage.read("big", { startBytes: 10, endBytes: 2_400_000 }), bytes.slice(10, 2_400_000));
});

Deno.test("a claim that died is absent to everybody, and the name can be claimed again", async () => {
  for (const left of [new Uint8Array(0), new Uint8Array([0]), bytesOf("\0ne"), bytesOf("\0 longer than ours")]) {
    const origin = new FakeOrigin();
    origin.put("holdfast/a/log", left);
    origin.put("holdfast/a/%stage-00000000dead", bytesOf("orphan"));
    const storage = await openIn(origin.worker());
    assertEquals(await storage.stat(LOG), null);
    assertEquals(await storage.list("a/"), []);
    assert(hasCode(await assertRejects(() => storage.read(LOG)), "NOT_FOUND"));
    const lock = await storage.lock(LOCK);
    assert(hasCode(await assertRejects(() => storage.open(LOG, lock)), "NOT_FOUND"));
    await publish(storage, LOG, bytesOf("one"), lock);
    assertEquals(textOf(await storage.read(LOG)), "one");
    assertEquals([...origin.files.keys()].sort(), ["holdfast/a/log", "holdfast/a/session.lock"]);
  }
});

Deno.test("publish() finds a name that was taken between its look and its claim, and keeps the first bytes", async () => {
  const origin = new FakeOrigin();
  const worker = origin.worker();
  const storage = await openIn(worker);
  const lock = await storage.lock(LOCK);
  worker.faults = {
    open(path) {
      if (path.endsWith("/log")) origin.put("holdfast/a/log", bytesOf("first"));
      return undefined;
    },
  };
  const error = await assertRejects(() => publish(storage, LOG, bytesOf("second"), lock));
  assert(hasCode(error, "ALREADY_EXISTS"));
  assertEquals(textOf(await storage.read(LOG)), "first");
});

Deno.test("publish() holds its claim from the first byte to the last, however many handles are wanted", async () => {
  const origin = new FakeOrigin();
  const worker = origin.worker();
  const storage = await openIn(worker);
  const lock = await storage.lock(LOCK);
  const openings = new Map<string, number>();
  worker.faults = {
    open(path) {
      openings.set(path, (openings.get(path) ?? 0) + 1);
      return undefined;
    },
  };
  const bytes = new Uint8Array(300_000).fill(7);
  const names = Array.from({ length: 3 * SYNC_HANDLES_MAX }, (_, index) => `a/${index}`);
  await Promise.all(names.map((name) => publish(storage, name, bytes, lock)));
  assertEquals(names.map((name) => openings.get(`holdfast/${name}`)), names.map(() => 1));
  assertEquals(origin.openHandlesMost, SYNC_HANDLES_MAX);
});

Deno.test("the persistence in the traits follows the browser's answer", async () => {
  const origin = new FakeOrigin();
  const storage = await openIn(origin.worker());
  assertEquals(storage.traits.persistence, "best-effort");
  origin.isPersisted = true;
  await storage.lock(LOCK);
  assertEquals(storage.traits, {
    ...{ medium: "opfs", sync: "device", names: "deferred", publish: "claim" },
    ...{ lockScope: "origin", persistence: "persistent" },
  });
});

Deno.test("two roots of one origin do not know each other", async () => {
  const origin = new FakeOrigin();
  const [one, two] = [await openIn(origin.worker(), "one"), await openIn(origin.worker(), "Two/deep")];
  const [first, second] = [await one.lock(LOCK), await two.lock(LOCK)];
  await publish(one, LOG, bytesOf("1"), first);
  await publish(two, LOG, bytesOf("2"), second);
  assertEquals([textOf(await one.read(LOG)), textOf(await two.read(LOG))], ["1", "2"]);
  assertEquals([...origin.files.keys()].filter((path) => path.endsWith("/log")), ["one/a/log", "^two/deep/a/log"]);
  for (const root of ["", "..", "/a", "a/"]) await assertRejects(() => openIn(origin.worker(), root), RangeError);
});

Deno.test("a failed sync names the cause, also when there is no room", async () => {
  const { worker, file } = await openLog();
  await file.append(bytesOf("two"));
  worker.faults = {
    flush() {
      throw new DOMException("No space", "QuotaExceededError");
    },
  };
  const error = await assertRejects(() => file.sync(), SyncFailedError);
  assertInstanceOf(error.cause, StorageFullError);
});
