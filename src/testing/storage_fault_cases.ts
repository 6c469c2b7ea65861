/**
 * Contract cases about a medium that fails: what a writer is told, and what is left.
 *
 * @module
 */

import type { StorageFile } from "../storage/storage_port.ts";
import { checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { bytesOf, publishWhole, type StorageContext, textOf } from "./storage_context.ts";

/** How the next operation of a kind fails. */
export interface StorageFault {
  /** What fails. `stageAppend` is an append to a staged file, before it is published. */
  readonly operation: "append" | "stageAppend" | "publish" | "sync";
  /** `enospc`: no room left. `eio`: input/output error. `short`: fewer bytes than asked. `sync`: the medium refuses to sync. */
  readonly kind: "enospc" | "eio" | "short" | "sync";
  /** How many bytes an append takes before it fails. Default 0. */
  readonly steps?: number;
  /** `false`: cutting back fails as well. Default `true`. */
  readonly cutsBack?: boolean;
}

/** A medium that a runner can make fail. */
export interface StorageFaultContext extends Pick<StorageContext, "storage"> {
  /** Makes the next operation of this kind fail, once. */
  failNext(fault: StorageFault): void;
}

const LOCK = "a/session.lock";
const LOG = "a/log";

/** Faults. */
export const storageFaultCases: readonly ContractCase<StorageFaultContext>[] = [
  {
    name: "field/A04 a full medium refuses an append whole, and the same file goes on when there is room",
    run: async (context) => {
      const file = await openLog(context);
      for (const steps of [0, 1, 2]) {
        context.failNext({ operation: "append", kind: "enospc", steps });
        await checkRejects(() => file.append(bytesOf("two")), "STORAGE_FULL");
        checkEquals(file.sizeBytes, 3);
        checkEquals(textOf(await context.storage.read(LOG)), "one", `cut back after ${steps} bytes`);
      }
      await file.append(bytesOf("two"));
      await file.sync();
      checkEquals(textOf(await context.storage.read(LOG)), "onetwo");
    },
  },
  {
    name: "append() cuts back after an input/output error and a short write, and may be tried again",
    run: async (context) => {
      const file = await openLog(context);
      context.failNext({ operation: "append", kind: "eio", steps: 1 });
      await checkRejects(() => file.append(bytesOf("two")), "STORAGE_LOST");
      context.failNext({ operation: "append", kind: "short", steps: 2 });
      await checkRejects(() => file.append(bytesOf("two")), "SHORT_WRITE");
      await file.append(bytesOf("two"));
      checkEquals(textOf(await context.storage.read(LOG)), "onetwo");
    },
  },
  {
    name: "a file that could not be cut back is spent, and a reopened one cuts to the acknowledged length",
    run: async (context) => {
      const { storage } = context;
      const lock = await storage.lock(LOCK);
      await publishWhole(storage, LOG, bytesOf("one"), lock);
      const file = await storage.open(LOG, lock);
      context.failNext({ operation: "append", kind: "enospc", steps: 2, cutsBack: false });
      await checkRejects(() => file.append(bytesOf("two")), "STORAGE_FULL");
      await checkRejects(() => file.append(bytesOf("two")), "STORAGE_LOST");
      await checkRejects(() => file.sync(), "STORAGE_LOST");
      checkEquals(textOf(await storage.read(LOG)), "onetw");
      await file.close();
      const again = await storage.open(LOG, lock);
      try {
        checkEquals(again.sizeBytes, 5);
        await again.truncate(3);
        await again.append(bytesOf("two"));
        await again.sync();
        checkEquals(textOf(await storage.read(LOG)), "onetwo");
      } finally {
        await again.close();
      }
    },
  },
  {
    name: "a failed sync spends the file, and a reopened one appends the unacknowledged anew",
    run: async (context) => {
      const { storage } = context;
      const lock = await storage.lock(LOCK);
      await publishWhole(storage, LOG, bytesOf("one"), lock);
      for (const kind of ["sync", "eio", "enospc"] as const) {
        const file = await storage.open(LOG, lock);
        const acknowledgedBytes = file.sizeBytes;
        await file.append(bytesOf("two"));
        context.failNext({ operation: "sync", kind });
        await checkRejects(() => file.sync(), "SYNC_FAILED");
        await checkRejects(() => file.sync(), "SYNC_FAILED");
        await checkRejects(() => file.append(bytesOf("x")), "SYNC_FAILED");
        await checkRejects(() => file.truncate(0), "SYNC_FAILED");
        await file.close();
        const again = await storage.open(LOG, lock);
        try {
          await again.truncate(acknowledgedBytes);
          await again.sync();
          await again.append(bytesOf(kind[0] ?? ""));
          await again.sync();
        } finally {
          await again.close();
        }
      }
      checkEquals(textOf(await storage.read(LOG)), "onesee");
    },
  },
  {
    name: "a failed publish leaves no name, and the same content can be published later",
    run: async (context) => {
      const { storage } = context;
      const lock = await storage.lock(LOCK);
      const faults = [
        { kind: "enospc", code: "STORAGE_FULL" },
        { kind: "eio", code: "STORAGE_LOST" },
        { kind: "sync", code: "SYNC_FAILED" },
      ] as const;
      for (const { kind, code } of faults) {
        const staged = await storage.stage(LOG, lock);
        await staged.append(bytesOf("one"));
        context.failNext({ operation: "publish", kind });
        await checkRejects(() => staged.publish(), code);
        await checkRejects(() => staged.publish(), "SESSION_CLOSED");
        checkEquals((await storage.list("a/")).map((entry) => entry.name), [LOCK]);
      }
      await publishWhole(storage, LOG, bytesOf("one"), lock);
      checkEquals(textOf(await storage.read(LOG)), "one");
    },
  },
  {
    name: "a stage that failed to grow keeps what it had",
    run: async (context) => {
      const { storage } = context;
      const lock = await storage.lock(LOCK);
      const staged = await storage.stage(LOG, lock);
      await staged.append(bytesOf("one"));
      context.failNext({ operation: "stageAppend", kind: "enospc", steps: 2 });
      await checkRejects(() => staged.append(bytesOf("two")), "STORAGE_FULL");
      await staged.append(bytesOf("three"));
      await (await staged.publish()).close();
      checkEquals(textOf(await storage.read(LOG)), "onethree");
    },
  },
];

async function openLog({ storage }: StorageFaultContext): Promise<StorageFile> {
  const lock = await storage.lock(LOCK);
  await publishWhole(storage, LOG, bytesOf("one"), lock);
  return await storage.open(LOG, lock);
}
