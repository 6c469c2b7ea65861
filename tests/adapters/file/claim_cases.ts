/**
 * Cases about publication: where there are no hard links, and when the process dies in the middle.
 *
 * @module
 */

import { existsSync, readdirSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemKernelLock } from "../../../src/adapters/file/mod.ts";
import { publish, type StorageLock, type StoragePort } from "../../../src/storage/storage_port.ts";
import { check, checkEquals, checkRejects, type ContractCase } from "../../../src/testing/check.ts";
import { bytesOf, textOf } from "../../../src/testing/storage_contract.ts";
import { errorWith, FaultyFileSystem, MortalKernelLock } from "./faulty_file_system.ts";
import type { FileContext } from "./file_context.ts";

const LOCK = "p/s/session.lock";
const LOG = "p/s/log";
const NO_LINK_CODES = ["EACCES", "EPERM", "ENOTSUP", "EOPNOTSUPP", "EXDEV", "EMLINK", "EINVAL", "ENOSYS"];
/** More calls than a publish makes; the sweep proves it. */
const CALLS_MAX = 400;

export const fileClaimCases: readonly ContractCase<FileContext>[] = [
  ...NO_LINK_CODES.map((code): ContractCase<FileContext> => ({
    name: `field/G10 link() fails with ${code}: the name is claimed, and nobody can clobber it`,
    run: async ({ open, root }) => {
      const storage = open({ fs: withoutLinks(code).fs });
      const lock = await storage.lock(LOCK);
      const long = "x".repeat(150_000);
      checkEquals(storage.traits.publish, "link");
      const staged = await storage.stage(LOG, lock);
      const second = await storage.stage(LOG, lock);
      await staged.append(bytesOf(long));
      await second.append(bytesOf("second"));
      const file = await staged.publish();
      checkEquals([storage.traits.publish, file.sizeBytes], ["claim", long.length]);
      await checkRejects(() => second.publish(), "ALREADY_EXISTS");
      await checkRejects(() => publish(storage, LOG, bytesOf("third"), lock), "ALREADY_EXISTS");
      await checkRejects(() => storage.open(LOG, lock), "LOCK_HELD");
      await file.append(bytesOf("!"));
      await file.sync();
      checkEquals(textOf(await storage.read(LOG)), long + "!");
      checkEquals(readdirSync(join(root, "p/s")).sort(), ["log", "session.lock"]);
    },
  })),
  {
    name: "field/G10 two writers without links and with a deleted lock file: one log, one winner",
    run: async ({ open, stranger }) => {
      for (let round = 0; round < 20; round++) {
        const folder = `race/${round}/`;
        const [first, second] = [open({ fs: withoutLinks("EPERM").fs }), open({ fs: withoutLinks("EPERM").fs })];
        const staged = await stageWith(first, folder, "first");
        await stranger.remove(`${folder}session.lock`);
        const other = await stageWith(second, folder, "second");
        const results = await Promise.allSettled([staged.publish(), other.publish()]);
        const published = results.map((result) => result.status === "fulfilled");
        checkEquals(published, [false, true], "the one whose lock file is there");
        checkEquals(textOf(await first.read(`${folder}log`)), "second");
      }
    },
  },
  {
    name: "field/G10 two writers without links that start at the same instant: one log, whole",
    run: async ({ open, stranger }) => {
      for (let round = 0; round < 20; round++) {
        const folder = `race/${round}/`;
        const faulty = withoutLinks("EPERM");
        const [first, second] = [open({ fs: faulty.fs }), open({ fs: withoutLinks("EPERM").fs })];
        const staged = await stageWith(first, folder, "first");
        // At the last look everything was well. Then the lock file goes, and another writer publishes in between.
        const late = { other: Promise.resolve() as Promise<unknown> };
        faulty.next("renameSync", (real) => {
          void stranger.remove(`${folder}session.lock`);
          late.other = stageWith(second, folder, "second").then((stage) => stage.publish());
          return real();
        });
        const results = await Promise.allSettled([staged.publish(), Promise.resolve().then(() => late.other)]);
        const winners = results.map((result) => result.status === "fulfilled");
        const texts = ["first", "second"].filter((_, index) => winners[index]);
        checkEquals(
          texts.length,
          1,
          `one winner, found ${results.map((it) => it.status === "rejected" ? it.reason : "ok")}`,
        );
        checkEquals(textOf(await first.read(`${folder}log`)), texts[0] ?? "");
      }
    },
  },
  {
    name: "an unfinished claim is absent for every reader, and the next writer publishes",
    run: async ({ storage, root }) => {
      await (await storage.lock(LOCK)).release();
      for (const left of ["", "\0", "\0ne"]) {
        writeFileSync(join(root, LOG), left);
        writeFileSync(join(root, LOG + ".0123456789ab.claim"), "one");
        checkEquals(await storage.stat(LOG), null);
        await checkRejects(() => storage.read(LOG), "NOT_FOUND");
        checkEquals((await storage.list("p/s/")).map((entry) => entry.name), [LOCK]);
        const lock = await storage.lock(LOCK);
        await checkRejects(() => storage.open(LOG, lock), "NOT_FOUND");
        await publish(storage, LOG, bytesOf("one"), lock);
        checkEquals(textOf(await storage.read(LOG)), "one");
        checkEquals(readdirSync(join(root, "p/s")).sort(), ["log", "session.lock"]);
        await storage.remove(LOG, lock);
        await lock.release();
      }
    },
  },
  {
    name: "an empty or zeroed file without a claim beside it is damage, shown and not overwritten",
    run: async ({ storage, root }) => {
      const lock = await storage.lock(LOCK);
      for (const found of ["", "\0\0\0"]) {
        writeFileSync(join(root, LOG), found);
        writeFileSync(join(root, LOG + ".0123456789ab.tmp"), "an orphan of another program");
        checkEquals((await storage.stat(LOG))?.sizeBytes, found.length);
        checkEquals(textOf(await storage.read(LOG)), found);
        checkEquals((await storage.list("p/s/")).length, 2);
        await checkRejects(() => publish(storage, LOG, bytesOf("x"), lock), "ALREADY_EXISTS");
        checkEquals(textOf(await storage.read(LOG)), found);
      }
    },
  },
  {
    name: "stage() sweeps what dead writers left in its folder, and nothing else",
    run: async ({ storage, root }) => {
      const lock = await storage.lock(LOCK);
      const folder = join(root, "p/s");
      for (const name of ["log.0123456789ab.tmp", "other.0123456789ab.claim"]) writeFileSync(join(folder, name), "1");
      const kept = ["log.0123456789AB.tmp", "log.0123456789.tmp", "notes.tmp", ".0123456789ab.tmp"];
      for (const name of kept) writeFileSync(join(folder, name), "1");
      await (await storage.stage(LOG, lock)).discard();
      checkEquals(readdirSync(folder).sort(), [...kept, "session.lock"].sort());
    },
  },
  {
    name: "stage() leaves the stage of a live writer whose lock file was deleted",
    run: async ({ storage, open, stranger, root }) => {
      const staged = await stageWith(storage, "p/s/", "first");
      await stranger.remove(LOCK);
      const second = open();
      const lock = await second.lock(LOCK);
      await (await second.stage(LOG, lock)).discard();
      checkEquals(readdirSync(join(root, "p/s")).length, 2, "its stage and the new lock file");
      await checkRejects(() => staged.publish(), "LOCK_LOST");
      checkEquals(await second.stat(LOG), null);
    },
  },
  ...[false, true].map((isClaim): ContractCase<FileContext> => ({
    name: `a process that dies at any call of a publish by ${
      isClaim ? "claim" : "link"
    } leaves nothing or the whole file`,
    run: async ({ open, root }) => {
      const seen = new Set<string>();
      let calls = 0;
      for (; calls < CALLS_MAX; calls++) {
        const folder = `die/${calls}/`;
        const { isAcknowledged, bury } = await dieIn(open, folder, calls, isClaim);
        if (isAcknowledged) {
          await bury();
          break;
        }
        const survivor = open();
        const found = await survivor.stat(`${folder}log`);
        if (found !== null) {
          checkEquals(textOf(await survivor.read(`${folder}log`)), "whole content", `after ${calls} calls`);
        }
        seen.add(found === null ? "nothing" : "whole");
        await using lock = await survivor.lock(`${folder}session.lock`);
        if (found === null) await publish(survivor, `${folder}log`, bytesOf("again"), lock);
        else await (await survivor.open(`${folder}log`, lock)).close();
        await (await survivor.stage(`${folder}log`, lock)).discard();
        checkEquals(readdirSync(join(root, folder)).sort(), ["log", "session.lock"], `swept after ${calls} calls`);
        await survivor.close();
        await bury();
      }
      check(calls < CALLS_MAX, "the sweep reached the end of the publish");
      checkEquals([...seen].sort(), ["nothing", "whole"], "both outcomes were seen");
    },
  })),
  {
    name: "a claim that was taken for a dead one and replaced is given up, and the other writer's file stays",
    run: async ({ open, root }) => {
      const real = systemKernelLock();
      const path = join(root, LOG);
      const acquire = (asked: string) => {
        if (asked === path) {
          unlinkSync(path);
          writeFileSync(path, "theirs");
        }
        return real.acquire(asked);
      };
      const storage = open({ fs: withoutLinks("EPERM").fs, kernelLock: { ...real, acquire } });
      const staged = await stageWith(storage, "p/s/", "mine");
      await checkRejects(() => staged.publish(), "LOCK_LOST");
      checkEquals(textOf(await storage.read(LOG)), "theirs");
      checkEquals(readdirSync(join(root, "p/s")).sort(), ["log", "session.lock"]);
    },
  },
  {
    name: "a claim that cannot be finished for lack of room leaves no name, and works when there is room",
    run: async ({ open, root }) => {
      const faulty = withoutLinks("EPERM");
      const storage = open({ fs: faulty.fs });
      const lock = await storage.lock(LOCK);
      const staged = await stageWith(storage, "p/s/", "one", lock);
      faulty.next("writeSync", () => {
        throw errorWith("ENOSPC", "no space left on device");
      });
      await checkRejects(() => staged.publish(), "STORAGE_FULL");
      checkEquals(readdirSync(join(root, "p/s")), ["session.lock"]);
      await publish(storage, LOG, bytesOf("one"), lock);
      check(existsSync(join(root, LOG)), "published");
    },
  },
];

function withoutLinks(code: string): FaultyFileSystem {
  const faulty = new FaultyFileSystem();
  faulty.always("linkSync", () => {
    throw errorWith(code, "link is not to be had here");
  });
  return faulty;
}

async function stageWith(storage: StoragePort, folder: string, text: string, lock?: StorageLock) {
  const staged = await storage.stage(`${folder}log`, lock ?? await storage.lock(`${folder}session.lock`));
  await staged.append(bytesOf(text));
  return staged;
}

/** Publishes in a process that dies after so many calls to the system, counted from the stage on. */
async function dieIn(
  open: FileContext["open"],
  folder: string,
  calls: number,
  isClaim: boolean,
): Promise<{ isAcknowledged: boolean; bury: () => Promise<void> }> {
  const faulty = isClaim ? withoutLinks("EPERM") : new FaultyFileSystem();
  const kernelLock = new MortalKernelLock();
  const storage = open({ fs: faulty.fs, kernelLock });
  const lock = await storage.lock(`${folder}session.lock`);
  faulty.dieAfter(calls);
  let isAcknowledged = false;
  try {
    const staged = await stageWith(storage, folder, "whole content", lock);
    await staged.publish();
    isAcknowledged = true;
  } catch (error) {
    check((error as { code?: string }).code !== undefined, `a dead process is told a code: ${error}`);
  }
  kernelLock.die();
  const bury = () => {
    faulty.dieAfter(Infinity);
    return storage.close();
  };
  return { isAcknowledged, bury };
}
