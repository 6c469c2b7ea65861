/**
 * Contract cases about locks: one writer, in this process and between two.
 *
 * @module
 */

import type { StorageTraits } from "../storage/storage_port.ts";
import { check, checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { bytesOf, publishAll, publishWhole, type StorageContext, textOf } from "./storage_context.ts";

const LOCK = "a/session.lock";
const LOG = "a/log";
const RACED_FOLDERS = 40;

/** Locks. */
export const storageLockCases: readonly ContractCase<StorageContext>[] = [
  {
    name: "lock() excludes a second holder in the same process until it is released",
    run: async ({ storage }) => {
      const lock = await storage.lock(LOCK);
      checkEquals([lock.name, await lock.isHeld(), await storage.isLocked(LOCK)], [LOCK, true, true]);
      await checkRejects(() => storage.lock(LOCK), "LOCK_HELD");
      await lock.release();
      await lock.release();
      checkEquals([await lock.isHeld(), await storage.isLocked(LOCK)], [false, false]);
      const again = await storage.lock(LOCK);
      try {
        checkEquals(await again.isHeld(), true);
      } finally {
        await again.release();
      }
    },
  },
  {
    name: "a released lock writes nothing any more",
    run: async ({ storage }) => {
      const lock = await storage.lock(LOCK);
      const staged = await storage.stage(LOG, lock);
      await staged.append(bytesOf("one"));
      const late = await storage.stage(LOG, lock);
      await late.append(bytesOf("late"));
      const file = await staged.publish();
      await lock.release();
      await checkRejects(() => file.append(bytesOf("two")), "LOCK_LOST");
      await checkRejects(() => file.truncate(0), "LOCK_LOST");
      await checkRejects(() => late.publish(), "LOCK_LOST");
      await checkRejects(() => storage.stage(LOG, lock), "LOCK_LOST");
      await checkRejects(() => storage.open(LOG, lock), "LOCK_LOST");
      await checkRejects(() => storage.remove(LOG, lock), "LOCK_LOST");
      checkEquals(textOf(await storage.read(LOG)), "one");
    },
  },
  {
    name: "field/D14 two processes share one root: one owner per session, both work",
    skip: aloneInProcess,
    run: async ({ storage, other }) => {
      const mine = await storage.lock("mine/session.lock");
      try {
        checkEquals(await other.run({ do: "lock", name: LOCK }), { code: null });
        checkEquals(await storage.isLocked(LOCK), true);
        await checkRejects(() => storage.lock(LOCK), "LOCK_HELD");
        checkEquals((await other.run({ do: "lock", name: "mine/session.lock" })).code, "LOCK_HELD");
        await publishWhole(storage, "mine/log", bytesOf("mine"), mine);
        checkEquals(await other.run({ do: "publish", name: LOG, lock: LOCK, text: "theirs" }), { code: null });
        checkEquals([textOf(await storage.read("mine/log")), textOf(await storage.read(LOG))], ["mine", "theirs"]);
        checkEquals(await other.run({ do: "release", name: LOCK }), { code: null });
        await (await storage.lock(LOCK)).release();
      } finally {
        await mine.release();
      }
    },
  },
  {
    name: "field/D01 a killed holder frees the lock at once, and what it wrote is there",
    skip: aloneInProcess,
    run: async ({ storage, other }) => {
      await other.run({ do: "lock", name: LOCK });
      await other.run({ do: "publish", name: LOG, lock: LOCK, text: "one" });
      await other.run({ do: "open", name: LOG, lock: LOCK });
      checkEquals(await other.run({ do: "append", name: LOG, text: "two" }), { code: null });
      await checkRejects(() => storage.lock(LOCK), "LOCK_HELD");
      await other.kill();
      checkEquals(await storage.isLocked(LOCK), false);
      const lock = await storage.lock(LOCK);
      const file = await storage.open(LOG, lock);
      await file.append(bytesOf("three"));
      checkEquals(textOf(await storage.read(LOG)), "onetwothree");
    },
  },
  {
    name: "two processes race for the same names: each name has one winner, and its bytes",
    skip: aloneInProcess,
    run: async ({ storage, other }) => {
      const folders = Array.from({ length: RACED_FOLDERS }, (_, index) => `race/${index}/`);
      await other.run({ do: "lock", name: "warm/session.lock" });
      const [mine, answer] = await Promise.all([
        publishAll(storage, folders, "mine"),
        other.run({ do: "publishAll", folders, text: "theirs" }),
      ]);
      for (const [index, folder] of folders.entries()) {
        const codes = [mine[index], answer.codes?.[index]];
        checkEquals(codes.filter((code) => code === null).length, 1, `one winner in ${folder}, found ${codes}`);
        const loser = codes.find((code) => code !== null);
        check(
          loser === "LOCK_HELD" || loser === "ALREADY_EXISTS",
          `the loser of ${folder} is told why, found ${loser}`,
        );
        checkEquals(textOf(await storage.read(`${folder}log`)), mine[index] === null ? "mine" : "theirs");
      }
    },
  },
  {
    name: "read() while another process appends gives whole appends in order",
    skip: aloneInProcess,
    run: async ({ storage, other }) => {
      await other.run({ do: "lock", name: LOCK });
      await other.run({ do: "publish", name: LOG, lock: LOCK, text: "<0123456789>" });
      await other.run({ do: "open", name: LOG, lock: LOCK });
      let isWriting = true;
      const writing = other.run({ do: "append", name: LOG, text: "<0123456789>", times: 100 })
        .finally(() => isWriting = false);
      let lastBytes = 0;
      do {
        const bytes = await storage.read(LOG);
        check(bytes.length % 12 === 0, `a read ends with an append, found ${bytes.length} bytes`);
        check(bytes.length >= lastBytes, "a log never gets shorter");
        lastBytes = bytes.length;
        await new Promise((resolve) => setTimeout(resolve, 0));
      } while (isWriting);
      checkEquals(await writing, { code: null });
      checkEquals(textOf(await storage.read(LOG)), "<0123456789>".repeat(101));
    },
  },
  {
    name: "remove() refuses what another live writer still holds",
    skip: (traits) => aloneInProcess(traits) ?? withoutStranger(traits),
    run: async ({ storage, other, stranger }) => {
      await other.run({ do: "lock", name: LOCK });
      await other.run({ do: "publish", name: LOG, lock: LOCK, text: "one" });
      await other.run({ do: "open", name: LOG, lock: LOCK });
      await stranger.remove(LOCK);
      const lock = await storage.lock(LOCK);
      await checkRejects(() => storage.remove(LOG, lock), "LOCK_HELD");
      await checkRejects(() => storage.remove("a/", lock), "LOCK_HELD");
      checkEquals(textOf(await storage.read(LOG)), "one");
      await other.run({ do: "close", name: LOG });
      await storage.remove("a/", lock);
      checkEquals(await storage.list("a/"), []);
    },
  },
];

/** For cases that need a second process. */
export function aloneInProcess(traits: StorageTraits): string | null {
  return traits.lockScope === "process" ? "no other process can reach this medium" : null;
}

/** For cases that need a program which ignores our locks. */
export function withoutStranger(traits: StorageTraits): string | null {
  return traits.lockScope === "host" ? null : "this medium lets nobody pass its locks";
}
