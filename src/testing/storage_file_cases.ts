/**
 * Contract cases about files: stage, publish, open, append, truncate, remove.
 *
 * @module
 */

import { check, checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { bytesOf, publishWhole, type StorageContext, textOf } from "./storage_context.ts";

/** Files. */
export const storageFileCases: readonly ContractCase<StorageContext>[] = [
  {
    name: "publish() shows nothing before and everything after, and returns the file open",
    run: async ({ storage }) => {
      const lock = await storage.lock("a/session.lock");
      const staged = await storage.stage("a/log", lock);
      await staged.append(bytesOf("one"));
      await staged.append(bytesOf(" two"));
      checkEquals(await storage.stat("a/log"), null);
      checkEquals(await storage.list("a/"), [{ name: "a/session.lock", kind: "file" }]);
      const file = await staged.publish();
      checkEquals([file.name, file.sizeBytes], ["a/log", 7]);
      await staged.discard();
      await file.append(bytesOf(" three"));
      await file.sync();
      await file.close();
      checkEquals(textOf(await storage.read("a/log")), "one two three");
      checkEquals((await storage.list("a/")).map((entry) => entry.name), ["a/log", "a/session.lock"]);
    },
  },
  {
    name: "publish() refuses a taken name and keeps the first bytes",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      const [first, second] = [await storage.stage("log", lock), await storage.stage("log", lock)];
      await first.append(bytesOf("first"));
      await second.append(bytesOf("second"));
      const file = await first.publish();
      await checkRejects(() => second.publish(), "ALREADY_EXISTS");
      await checkRejects(() => second.publish(), "SESSION_CLOSED");
      await checkRejects(() => second.append(bytesOf("x")), "SESSION_CLOSED");
      await file.append(bytesOf("!"));
      await file.close();
      await checkRejects(() => publishWhole(storage, "log", bytesOf("third"), lock), "ALREADY_EXISTS");
      checkEquals(textOf(await storage.read("log")), "first!");
      checkEquals((await storage.list("")).map((entry) => entry.name), ["log", "session.lock"]);
    },
  },
  {
    name: "publish() refuses content that is empty or starts with a zero byte",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      const staged = await storage.stage("log", lock);
      try {
        await staged.append(new Uint8Array(0));
        await checkRejects(() => staged.publish(), "RangeError");
        await checkRejects(() => staged.append(new Uint8Array([0, 1])), "RangeError");
        await staged.append(new Uint8Array([1, 0]));
        await (await staged.publish()).close();
        checkEquals(await storage.read("log"), new Uint8Array([1, 0]));
      } finally {
        await staged.discard();
      }
    },
  },
  {
    name: "read() of a stage gives back what was appended, by range, until it is published or discarded",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      const staged = await storage.stage("log", lock);
      try {
        checkEquals(await staged.read(), new Uint8Array(0));
        await staged.append(bytesOf("one"));
        await staged.append(bytesOf(" two"));
        checkEquals(textOf(await staged.read()), "one two");
        checkEquals(textOf(await staged.read({ startBytes: 2, endBytes: 5 })), "e t");
        checkEquals(textOf(await staged.read({ startBytes: 4, endBytes: 99 })), "two");
        checkEquals(await staged.read({ startBytes: 7 }), new Uint8Array(0));
        await staged.append(bytesOf("!"));
        await (await staged.publish()).close();
        checkEquals(textOf(await storage.read("log")), "one two!");
        await checkRejects(() => staged.read(), "SESSION_CLOSED");
      } finally {
        await staged.discard();
      }
    },
  },
  {
    name: "discard() leaves nothing",
    run: async ({ storage }) => {
      const lock = await storage.lock("a/session.lock");
      const staged = await storage.stage("a/log", lock);
      await staged.append(bytesOf("x"));
      await staged.discard();
      await staged.discard();
      checkEquals((await storage.list("a/")).map((entry) => entry.name), ["a/session.lock"]);
      await checkRejects(() => staged.publish(), "SESSION_CLOSED");
    },
  },
  {
    name: "a stage larger than any copy chunk is published whole",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      const bytes = new Uint8Array(200_001).map((_, index) => 1 + index % 251);
      await publishWhole(storage, "log", bytes, lock);
      checkEquals(await storage.read("log"), bytes);
    },
  },
  {
    name: "open() never creates",
    run: async ({ storage }) => {
      const lock = await storage.lock("a/session.lock");
      await checkRejects(() => storage.open("a/log", lock), "NOT_FOUND");
      await checkRejects(() => storage.open("a/b/log", lock), "NOT_FOUND");
      checkEquals((await storage.list("a/")).map((entry) => entry.name), ["a/session.lock"]);
    },
  },
  {
    name: "append() and truncate() keep count, and a closed file refuses both",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      await publishWhole(storage, "log", bytesOf("one"), lock);
      const file = await storage.open("log", lock);
      checkEquals(file.sizeBytes, 3);
      await file.append(bytesOf("two"));
      await file.append(new Uint8Array(0));
      checkEquals(file.sizeBytes, 6);
      await file.truncate(4);
      await file.sync();
      checkEquals(file.sizeBytes, 4);
      await file.append(bytesOf("!"));
      for (const sizeBytes of [6, -1, 0.5, NaN]) await checkRejects(() => file.truncate(sizeBytes), "RangeError");
      await file.close();
      await file.close();
      await checkRejects(() => file.append(bytesOf("x")), "SESSION_CLOSED");
      await checkRejects(() => file.sync(), "SESSION_CLOSED");
      await checkRejects(() => file.truncate(0), "SESSION_CLOSED");
      checkEquals(textOf(await storage.read("log")), "onet!");
    },
  },
  {
    name: "open() refuses a file this storage has open, and takes it when it is closed",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      const file = await publishOpen({ storage }, lock);
      await checkRejects(() => storage.open("log", lock), "LOCK_HELD");
      await file.close();
      await (await storage.open("log", lock)).close();
    },
  },
  {
    name: "read() beside an append gives a prefix of what is written",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      await publishWhole(storage, "log", bytesOf("0;"), lock);
      const file = await storage.open("log", lock);
      const whole = Array.from({ length: 100 }, (_, index) => `${index};`).join("");
      const writing = (async () => {
        for (let index = 1; index < 100; index++) await file.append(bytesOf(`${index};`));
      })();
      const reads = await Promise.all(Array.from({ length: 20 }, () => storage.read("log")));
      await writing;
      for (const bytes of reads) check(whole.startsWith(textOf(bytes)), "a read is a prefix");
      checkEquals(textOf(await storage.read("log")), whole);
    },
  },
  {
    name: "remove() takes a file, does not miss one, and takes a folder with everything in it",
    run: async ({ storage }) => {
      const lock = await storage.lock("p/a/session.lock");
      for (const name of ["p/a/log", "p/a/blobs/1", "p/a/blobs/2"]) {
        await publishWhole(storage, name, bytesOf("1"), lock);
      }
      await storage.remove("p/a/log", lock);
      await storage.remove("p/a/log", lock);
      await storage.remove("p/a/nothing/", lock);
      checkEquals((await storage.list("p/a/")).map((entry) => entry.name), ["p/a/blobs/", "p/a/session.lock"]);
      await storage.remove("p/a/", lock);
      checkEquals(await storage.list("p/a/"), []);
      checkEquals(await lock.isHeld(), false);
      await lock.release();
      const again = await storage.lock("p/a/session.lock");
      await publishWhole(storage, "p/a/log", bytesOf("2"), again);
      checkEquals(textOf(await storage.read("p/a/log")), "2");
    },
  },
  {
    name: "close() closes files and releases locks, and later calls are refused",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      const file = await publishOpen({ storage }, lock);
      await storage.close();
      await storage.close();
      checkEquals(await lock.isHeld(), false);
      await checkRejects(() => file.append(bytesOf("x")), "SESSION_CLOSED");
      await checkRejects(() => storage.list(""), "SESSION_CLOSED");
      await checkRejects(() => storage.lock("session.lock"), "SESSION_CLOSED");
    },
  },
];

async function publishOpen(
  { storage }: Pick<StorageContext, "storage">,
  lock: Awaited<ReturnType<StorageContext["storage"]["lock"]>>,
) {
  const staged = await storage.stage("log", lock);
  await staged.append(bytesOf("one"));
  return await staged.publish();
}
