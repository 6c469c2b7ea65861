import { assert, assertEquals, assertRejects } from "@std/assert";
import { nodeFileSystem, openFileStorage } from "../../../src/adapters/file/mod.ts";
import { hasCode } from "../../../src/errors.ts";
import { publish, type StorageFile, type StoragePort } from "../../../src/storage/storage_port.ts";

const ONE = new TextEncoder().encode("one");
const TWO = new TextEncoder().encode("two");

/** Syncs on another thread that end when the test says so. */
class HeldSyncs {
  readonly begun: { readonly descriptor: number; readonly end: PromiseWithResolvers<void> }[] = [];

  readonly fdatasync = (descriptor: number): Promise<void> => {
    const end = Promise.withResolvers<void>();
    this.begun.push({ descriptor, end });
    return end.promise;
  };
}

async function withFiles(
  count: number,
  body: (files: StorageFile[], held: HeldSyncs, blocking: number[], storage: StoragePort) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "holdfast-syncs-" });
  const held = new HeldSyncs();
  const blocking: number[] = [];
  const fs = {
    ...nodeFileSystem,
    fdatasyncSync(descriptor: number) {
      blocking.push(descriptor);
      nodeFileSystem.fdatasyncSync(descriptor);
    },
  };
  const storage = openFileStorage({ root, fs, fdatasync: held.fdatasync });
  try {
    const files: StorageFile[] = [];
    for (let index = 0; index < count; index++) {
      const lock = await storage.lock(`s${index}/session.lock`);
      await publish(storage, `s${index}/log`, ONE, lock);
      files.push(await storage.open(`s${index}/log`, lock));
    }
    blocking.length = 0;
    await body(files, held, blocking, storage);
  } finally {
    for (const { end } of held.begun) end.resolve();
    await storage.close();
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("sync() that is alone blocks, whatever was synced before", () =>
  withFiles(2, async ([first, second], { begun }, blocking) => {
    for (const file of [first!, second!, first!]) {
      await file.append(TWO);
      await file.sync();
    }
    assertEquals([blocking.length, begun.length], [3, 0]);
  }));

Deno.test("sync() beside a file that waits for its own goes to another thread, and so does that one's", () =>
  withFiles(3, async ([first, second, third], { begun }, blocking) => {
    await first!.append(TWO);
    await second!.append(TWO);
    const syncs = [first!.sync(), second!.sync()];
    assertEquals([blocking.length, begun.length], [0, 2]);
    begun[0]!.end.resolve();
    await syncs[0];
    // The second one is still out there: whoever comes now does not keep it waiting.
    await third!.append(TWO);
    const late = third!.sync();
    assertEquals([blocking.length, begun.length], [0, 3]);
    for (const { end } of begun) end.resolve();
    await Promise.all([...syncs, late]);
    await first!.append(TWO);
    await first!.sync();
    assertEquals([blocking.length, begun.length], [1, 3]);
  }));

Deno.test("a failed sync on another thread spends its file and no other", () =>
  withFiles(2, async ([first, second], { begun }, blocking) => {
    await first!.append(TWO);
    await second!.append(TWO);
    const failing = first!.sync();
    const other = second!.sync();
    begun[0]!.end.reject(Object.assign(new Error("EIO: simulated"), { code: "EIO" }));
    begun[1]!.end.resolve();
    const error = await assertRejects(() => failing);
    assert(hasCode(error, "SYNC_FAILED"));
    await other;
    assertEquals(await assertRejects(() => first!.append(TWO)), error);
    await second!.append(TWO);
    await second!.sync();
    assertEquals(blocking.length, 1);
  }));

Deno.test("close() waits for the sync on another thread, so that its descriptor is nobody else's meanwhile", () =>
  withFiles(2, async ([first, second], { begun }, _blocking, storage) => {
    await first!.append(TWO);
    await second!.append(TWO);
    const syncing = first!.sync();
    let closes = 0;
    const closing = [first!.close(), first!.close()].map((close) => close.then(() => closes++));
    await storage.stat("s0/log");
    assertEquals(closes, 0);
    // The descriptor is still open: the system can say what it is.
    nodeFileSystem.fstatSync(begun[0]!.descriptor);
    begun[0]!.end.resolve();
    await Promise.all([syncing, ...closing]);
    assertEquals(closes, 2);
    await assertRejects(() => first!.append(TWO), Error, "closed");
  }));
