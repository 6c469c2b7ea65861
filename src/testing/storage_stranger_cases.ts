/**
 * Contract cases about a program that ignores our locks: a writer notices before it writes, and destroys nothing.
 *
 * @module
 */

import type { StorageFile, StorageLock } from "../storage/storage_port.ts";
import { check, checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { bytesOf, publishWhole, type StorageContext, textOf } from "./storage_context.ts";
import { aloneInProcess, withoutStranger } from "./storage_lock_cases.ts";

const LOCK = "a/session.lock";
const LOG = "a/log";
const DELETED_LOCKS = 20;

/** Strangers. */
export const storageStrangerCases: readonly ContractCase<StorageContext>[] = [
  {
    name: "field/D04 foreign bytes behind our back stop the writer and stay",
    skip: withoutStranger,
    run: async ({ storage, stranger }) => {
      const { file } = await openLog(storage);
      await file.append(bytesOf("two"));
      await stranger.append(LOG, bytesOf("FOREIGN"));
      for (let tries = 0; tries < 3; tries++) await checkRejects(() => file.append(bytesOf("three")), "LOCK_LOST");
      await checkRejects(() => file.truncate(0), "LOCK_LOST");
      checkEquals(textOf(await storage.read(LOG)), "onetwoFOREIGN");
    },
  },
  {
    name: "a vanished file stops the writer and is not made anew",
    skip: withoutStranger,
    run: async ({ storage, stranger }) => {
      const { file } = await openLog(storage);
      await stranger.remove(LOG);
      await checkRejects(() => file.append(bytesOf("two")), "LOCK_LOST");
      checkEquals(await storage.stat(LOG), null);
    },
  },
  {
    name: "field/G11 a replaced file stops the writer, and the new one stays as it is",
    skip: withoutStranger,
    run: async ({ storage, stranger }) => {
      const { file } = await openLog(storage);
      await stranger.write(LOG, bytesOf("new"));
      await checkRejects(() => file.append(bytesOf("two")), "LOCK_LOST");
      await checkRejects(() => file.truncate(0), "LOCK_LOST");
      checkEquals(textOf(await storage.read(LOG)), "new");
    },
  },
  {
    name: "a replaced lock file stops the writer",
    skip: withoutStranger,
    run: async ({ storage, stranger }) => {
      const { file, lock } = await openLog(storage);
      await stranger.write(LOCK, new Uint8Array(0));
      checkEquals(await lock.isHeld(), false);
      await checkRejects(() => file.append(bytesOf("two")), "LOCK_LOST");
      await checkRejects(() => storage.stage("a/other", lock), "LOCK_LOST");
      checkEquals(textOf(await storage.read(LOG)), "one");
    },
  },
  {
    name: "a lock file deleted under a live holder never gives two writers",
    skip: (traits) => aloneInProcess(traits) ?? withoutStranger(traits),
    run: async ({ storage, other, stranger }) => {
      let text = "one";
      const first = await openLog(storage);
      await first.file.close();
      await first.lock.release();
      for (let round = 0; round < DELETED_LOCKS; round++) {
        const lock = await storage.lock(LOCK);
        const file = await storage.open(LOG, lock);
        await file.append(bytesOf("."));
        text += ".";
        await stranger.remove(LOCK);
        checkEquals(await other.run({ do: "lock", name: LOCK }), { code: null });
        checkEquals((await other.run({ do: "open", name: LOG, lock: LOCK })).code, "LOCK_HELD");
        await checkRejects(() => file.append(bytesOf("never")), "LOCK_LOST");
        await file.close();
        checkEquals(await other.run({ do: "open", name: LOG, lock: LOCK }), { code: null });
        checkEquals(await other.run({ do: "append", name: LOG, text: "," }), { code: null });
        text += ",";
        await checkRejects(() => storage.open(LOG, lock), "LOCK_LOST");
        await lock.release();
        checkEquals(await other.run({ do: "close", name: LOG }), { code: null });
        checkEquals(await other.run({ do: "release", name: LOCK }), { code: null });
        checkEquals(textOf(await storage.read(LOG)), text);
      }
    },
  },
  {
    name: "a lock file deleted before the log is published gives one log",
    skip: (traits) => aloneInProcess(traits) ?? withoutStranger(traits),
    run: async ({ storage, other, stranger }) => {
      const lock = await storage.lock(LOCK);
      const staged = await storage.stage(LOG, lock);
      await staged.append(bytesOf("mine"));
      await stranger.remove(LOCK);
      await other.run({ do: "lock", name: LOCK });
      checkEquals(await other.run({ do: "publish", name: LOG, lock: LOCK, text: "theirs" }), { code: null });
      await checkRejects(() => staged.publish(), "LOCK_LOST");
      check(!(await lock.isHeld()), "the first lock is lost");
      checkEquals(textOf(await storage.read(LOG)), "theirs");
    },
  },
];

async function openLog(storage: StorageContext["storage"]): Promise<{ file: StorageFile; lock: StorageLock }> {
  const lock = await storage.lock(LOCK);
  await publishWhole(storage, LOG, bytesOf("one"), lock);
  return { file: await storage.open(LOG, lock), lock };
}
