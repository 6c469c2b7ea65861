import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { MemoryStorage, OPERATIONS_LISTED_MAX, SimulatedCrashError } from "../../../src/adapters/memory/mod.ts";
import { hasCode, StorageFullError, SyncFailedError } from "../../../src/errors.ts";
import { publish, type StorageFile, type StorageLock } from "../../../src/storage/storage_port.ts";

const LOCK = "s/session.lock";
const LOG = "s/log";
const bytesOf = (text: string) => new TextEncoder().encode(text);
const read = async (storage: MemoryStorage, name = LOG) => new TextDecoder().decode(await storage.read(name));

async function openLog(storage: MemoryStorage): Promise<{ lock: StorageLock; file: StorageFile }> {
  const lock = await storage.lock(LOCK);
  await publish(storage, LOG, bytesOf("one"), lock);
  return { lock, file: await storage.open(LOG, lock) };
}

/** What a session does to its storage, with everything that was acknowledged noted as it happens. */
async function script(storage: MemoryStorage, acknowledged: string[]): Promise<void> {
  const { file, lock } = await openLog(storage);
  acknowledged.push("one");
  for (const text of ["two", "three"]) {
    await file.append(bytesOf(text));
    await file.sync();
    acknowledged.push(text);
  }
  await publish(storage, "s/side", bytesOf("side"), lock);
  await file.append(bytesOf("torn"));
  await file.truncate(11);
  await file.append(bytesOf("four"));
  await file.sync();
  acknowledged.push("four");
  await storage.remove("s/side", lock);
  await file.append(bytesOf("last"));
}

Deno.test("a crash at every step of every operation keeps what was acknowledged and invents nothing", async () => {
  const clean = new MemoryStorage({ simulate: "disk" });
  await script(clean, []);
  const kinds = new Set(clean.operations.map(({ kind }) => kind));
  assertEquals(
    [...kinds].sort(),
    ["append", "lock", "publish", "remove", "stageAppend", "sync", "truncate"],
  );
  let states = 0;
  for (const { operation, steps } of clean.operations) {
    for (let done = 0; done <= steps; done++) {
      const storage = new MemoryStorage({ simulate: "disk" });
      storage.failAt({ operation, kind: "crash", steps: done });
      const acknowledged: string[] = [];
      const error = await assertRejects(() => script(storage, acknowledged), SimulatedCrashError);
      assert(hasCode(error, "STORAGE_LOST"));
      for (let kept = 0; kept <= storage.unsyncedSteps; kept++) {
        const restarted = storage.crash({ keepUnsynced: kept });
        const found = await restarted.stat(LOG) === null ? "" : await read(restarted);
        assert(found.startsWith(acknowledged.join("")), `${found} after ${acknowledged}`);
        assert("onetwothreefourlast".startsWith(found) || "onetwothreetorn".startsWith(found), found);
        await (await restarted.lock(LOCK)).release();
        states++;
      }
    }
  }
  assert(states > 200, `${states} states`);
});

Deno.test("crash() keeps nothing unsynced, all of it, the first n bytes, or what a function says", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { file } = await openLog(storage);
  await file.append(bytesOf("two"));
  assertEquals(storage.unsyncedSteps, 3);
  assertEquals(await read(storage.crash()), "one");
  assertEquals(await read(storage.crash({ keepUnsynced: "all" })), "onetwo");
  assertEquals(await read(storage.crash({ keepUnsynced: 2 })), "onetw");
  const seen: unknown[] = [];
  const restarted = storage.crash({
    keepUnsynced: (name, durable, written) => {
      seen.push([name, durable?.length, written?.length]);
      return name === LOG ? bytesOf("one\0wo") : null;
    },
  });
  assertEquals(seen, [[LOCK, 0, 0], [LOG, 3, 6]]);
  assertEquals(await read(restarted), "one\0wo");
  assertEquals((await restarted.list("s/")).length, 1);
});

Deno.test("crash() after kill -9 keeps the page cache, which is still not durable", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { file } = await openLog(storage);
  await file.append(bytesOf("two"));
  const killed = storage.crash({ keepUnsynced: "all" });
  assertEquals(await read(killed), "onetwo");
  assertEquals(await read(killed.crash()), "one");
  const again = storage.crash({ keepUnsynced: "all" });
  const reopened = await again.open(LOG, await again.lock(LOCK));
  await reopened.sync();
  assertEquals(await read(again.crash()), "onetwo");
});

Deno.test("crash() counts a truncate as a step, so that it can be lost too", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { file } = await openLog(storage);
  await file.truncate(1);
  await file.append(bytesOf("x"));
  const found = [0, 1, 2].map((keepUnsynced) => read(storage.crash({ keepUnsynced })));
  assertEquals(await Promise.all(found), ["one", "o", "ox"]);
});

Deno.test("a crashed storage rejects every call, and closing what it had is harmless", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { file, lock } = await openLog(storage);
  storage.failAt({ operation: "append", kind: "crash", steps: 2 });
  await assertRejects(() => file.append(bytesOf("two")), SimulatedCrashError);
  assert(storage.isDead);
  for (
    const call of [
      () => file.append(bytesOf("x")),
      () => file.sync(),
      () => file.truncate(0),
      () => storage.list(""),
      () => storage.stat(LOG),
      () => storage.read(LOG),
      () => storage.lock("other/session.lock"),
      () => storage.isLocked(LOCK),
      () => storage.open(LOG, lock),
      () => storage.stage("s/x", lock),
      () => storage.remove(LOG, lock),
    ]
  ) await assertRejects(call, SimulatedCrashError);
  await file.close();
  await lock.release();
  await storage.close();
  assertEquals(await lock.isHeld(), false);
  assertEquals(await read(storage.crash({ keepUnsynced: "all" })), "onetw");
});

Deno.test("crash() needs a disk to simulate", () => {
  assertThrows(() => new MemoryStorage().crash(), TypeError);
});

Deno.test("a failed sync loses what the cache dropped for good, though it can still be read", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { file, lock } = await openLog(storage);
  await file.append(bytesOf("two"));
  storage.failAt({ operation: "sync", kind: "sync", steps: 1 });
  await assertRejects(() => file.sync(), SyncFailedError);
  await file.close();
  assertEquals(await read(storage), "onetwo");
  // Whoever believes the cache and only syncs again acknowledges what is not there.
  const believing = await storage.open(LOG, lock);
  await believing.append(bytesOf("!"));
  await believing.sync();
  assertEquals(await read(storage.crash()), "onet\0\0!");
});

Deno.test("a failed sync says in its cause that the medium is full", async () => {
  const storage = new MemoryStorage();
  const { file } = await openLog(storage);
  storage.failAt({ operation: "sync", kind: "enospc" });
  const error = await assertRejects(() => file.sync(), SyncFailedError);
  assertInstanceOf(error.cause, StorageFullError);
});

Deno.test("capacityBytes bounds all files together and can be raised", async () => {
  const storage = new MemoryStorage({ capacityBytes: 5 });
  const { file, lock } = await openLog(storage);
  await assertRejects(() => file.append(bytesOf("two")), StorageFullError);
  assertEquals(await read(storage), "one");
  await assertRejects(() => publish(storage, "s/side", bytesOf("side"), lock), StorageFullError);
  storage.capacityBytes = Infinity;
  await file.append(bytesOf("two"));
  assertEquals(await read(storage), "onetwo");
});

Deno.test("kill() frees the locks of one process while its peers go on", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { file } = await openLog(storage);
  await file.append(bytesOf("two"));
  const peer = storage.peer();
  await assertRejects(() => peer.lock(LOCK), Error, "another holder");
  storage.kill();
  const reopened = await peer.open(LOG, await peer.lock(LOCK));
  assertEquals(reopened.sizeBytes, 6);
});

Deno.test("failAt() hangs an operation until it is told to go on, and fails as often as it is told", async () => {
  const storage = new MemoryStorage();
  const { file } = await openLog(storage);
  const { promise, resolve } = Promise.withResolvers<void>();
  storage.failAt({ operation: "sync", kind: "hang", until: promise });
  let isSynced = false;
  const syncing = file.sync().then(() => isSynced = true);
  await file.append(bytesOf("two"));
  assertEquals(isSynced, false);
  resolve();
  await syncing;

  storage.failAt({ operation: "append", kind: "eio", times: 2 });
  await assertRejects(() => file.append(bytesOf("x")));
  await assertRejects(() => file.append(bytesOf("x")));
  await file.append(bytesOf("!"));
  storage.failAt({ operation: storage.operationCount, kind: "eio", times: Infinity });
  await assertRejects(() => file.append(bytesOf("x")));
  await assertRejects(() => file.append(bytesOf("x")));
  storage.heal();
  await file.append(bytesOf("!"));
  assertEquals(await read(storage), "onetwo!!");
});

Deno.test("failAt() refuses a fault that the operation cannot have", async () => {
  const storage = new MemoryStorage();
  storage.failAt({ operation: "publish", kind: "short" });
  await assertRejects(() => openLog(storage), RangeError);
});

Deno.test("with deferred names a published name is lost in a crash, and safe after writeBack()", async () => {
  const storage = new MemoryStorage({ simulate: "disk", names: "deferred" });
  await openLog(storage);
  assertEquals(await storage.crash().stat(LOG), null);
  const patient = new MemoryStorage({ simulate: "disk", names: "deferred" });
  await openLog(patient);
  patient.writeBack();
  assertEquals(await read(patient.crash()), "one");
});

Deno.test("operations are listed up to their bound and counted beyond it", async () => {
  const storage = new MemoryStorage();
  const { file } = await openLog(storage);
  for (let index = 0; index < OPERATIONS_LISTED_MAX; index++) await file.sync();
  assertEquals(storage.operations.length, OPERATIONS_LISTED_MAX);
  assertEquals(storage.operationCount, OPERATIONS_LISTED_MAX + 3);
});

Deno.test("what is read or appended is a copy", async () => {
  const storage = new MemoryStorage();
  const { file } = await openLog(storage);
  const mine = bytesOf("two");
  await file.append(mine);
  mine.fill(0);
  (await storage.read(LOG)).fill(0);
  assertEquals(await read(storage), "onetwo");
});
