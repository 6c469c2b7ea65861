/**
 * Cases about the folders and files themselves: modes, links, syncs, system calls.
 *
 * @module
 */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { openFileStorage } from "../../../src/adapters/file/mod.ts";
import { publish } from "../../../src/storage/storage_port.ts";
import { check, checkEquals, checkRejects, type ContractCase } from "../../../src/testing/check.ts";
import { bytesOf, textOf } from "../../../src/testing/storage_contract.ts";
import { errorWith, FaultyFileSystem } from "./faulty_file_system.ts";
import type { FileContext } from "./file_context.ts";

const LOCK = "p/s/session.lock";
const LOG = "p/s/log";

export const fileTreeCases: readonly ContractCase<FileContext>[] = [
  ...[0o000, 0o022, 0o777].map((umask): ContractCase<FileContext> => ({
    name: `field/G07 umask ${umask.toString(8).padStart(4, "0")} does not decide modes: folders 0700, files 0600`,
    run: async ({ storage, root }) => {
      const old = process.umask(umask);
      try {
        const lock = await storage.lock(LOCK);
        await publish(storage, LOG, bytesOf("one"), lock);
        await publish(storage, "p/s/blobs/1", bytesOf("one"), lock);
        const unfinished = await storage.stage("p/s/blobs/2", lock);
        await unfinished.append(bytesOf("two"));
      } finally {
        process.umask(old);
      }
      const found = modesBelow(root);
      checkEquals(found.length, 8);
      for (const { path, isFolder, mode } of found) checkEquals(mode, isFolder ? 0o700 : 0o600, path);
    },
  })),
  {
    name: "a root several folders deep is made with mode 0700 all the way",
    run: async ({ open, root }) => {
      const storage = open({ root: join(root, "x", "y") });
      checkEquals(await storage.list(""), []);
      check(!existsSync(root), "reading makes no root");
      await publish(storage, LOG, bytesOf("one"), await storage.lock(LOCK));
      for (const { isFolder, mode } of modesBelow(root)) if (isFolder) checkEquals(mode, 0o700);
    },
  },
  ...["p", "p/s", LOG, LOCK, "p/s/blobs"].map((planted): ContractCase<FileContext> => ({
    name: `a symbolic link planted at ${planted} is refused by every verb, and nothing behind it is touched`,
    run: async ({ storage, root, open }) => {
      const lock = await storage.lock(LOCK);
      await publish(storage, LOG, bytesOf("one"), lock);
      await publish(storage, "p/s/blobs/1", bytesOf("blob"), lock);
      await lock.release();
      // Behind the link lies exactly what was there before, so that only the link itself can be the reason.
      const [path, behind] = [join(root, planted), join(dirname(root), "behind")];
      renameSync(path, behind);
      symlinkSync(behind, path);
      const before = listBelow(behind);
      const fresh = open();
      const refused = (run: () => Promise<unknown>) => checkRejects(run, "STORAGE_LOST");
      const isAbove = (name: string) => name === planted || name.startsWith(planted + "/");
      for (const name of [LOG, LOCK, "p/s/blobs/1"].filter(isAbove)) {
        await refused(() => fresh.stat(name));
        await refused(() => fresh.read(name));
        await refused(() => fresh.isLocked(name));
      }
      if (isAbove(LOCK)) await refused(() => fresh.lock(LOCK));
      else await refuseWriting(fresh, planted);
      for (const prefix of ["p/", "p/s/", "p/s/blobs/"].filter((prefix) => prefix.startsWith(planted + "/"))) {
        await refused(() => fresh.list(prefix));
      }
      const listed = await fresh.list("").then(async (top) =>
        planted === "p" ? top : await fresh.list(`${dirname(planted)}/`)
      );
      checkEquals(listed.find((entry) => entry.name === planted)?.kind, "other");
      checkEquals(listBelow(behind), before);
    },
  })),
  {
    name: "a dangling symbolic link as lock file creates nothing where it leads",
    run: async ({ storage, root }) => {
      await (await storage.lock(LOCK)).release();
      symlinkSync(join(dirname(root), "made"), join(root, "p/s/other.lock"));
      await checkRejects(() => storage.lock("p/s/other.lock"), "STORAGE_LOST");
      check(!existsSync(join(dirname(root), "made")), "nothing was made");
    },
  },
  {
    name: "remove() of a folder takes links and not what they lead to",
    run: async ({ storage, root }) => {
      const outside = join(dirname(root), "outside");
      mkdirSync(outside);
      writeFileSync(join(outside, "precious"), "1");
      const lock = await storage.lock(LOCK);
      symlinkSync(outside, join(root, "p/s/link"));
      symlinkSync(join(outside, "precious"), join(root, "p/s/link2"));
      await storage.remove("p/s/", lock);
      checkEquals([readdirSync(outside), readdirSync(join(root, "p"))], [["precious"], []]);
    },
  },
  {
    name: "remove() of a folder takes the lock file last",
    run: async ({ open, root }) => {
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      const lock = await storage.lock(LOCK);
      for (const name of [LOG, "p/s/a", "p/s/z/deep"]) await publish(storage, name, bytesOf("1"), lock);
      const before = faulty.calls.length;
      await storage.remove("p/s/", lock);
      const removals = faulty.calls.slice(before).filter(({ call }) => call === "unlinkSync" || call === "rmdirSync");
      checkEquals(removals.slice(-2).map(({ target }) => target), [join(root, LOCK), join(root, "p/s")]);
      checkEquals(removals.length, 6);
    },
  },
  {
    name: "list() shows a name that no verb would take, as something else than a file",
    run: async ({ storage, root }) => {
      await (await storage.lock(LOCK)).release();
      writeFileSync(join(root, "p/s/a\\b"), "1");
      checkEquals(await storage.list("p/s/"), [{ name: "p/s/a\\b", kind: "other" }, { name: LOCK, kind: "file" }]);
    },
  },
  {
    name: "the root itself may be a symbolic link",
    run: async ({ root, open }) => {
      mkdirSync(root + "-real");
      symlinkSync(root + "-real", root);
      for (const [name, path] of [["a", root], ["b", join(root, "below")]] as const) {
        const storage = open({ root: path });
        await publish(storage, `${name}/log`, bytesOf("one"), await storage.lock(`${name}/session.lock`));
      }
      checkEquals(readFileSync(join(root + "-real", "a/log"), "utf8"), "one");
      checkEquals(readFileSync(join(root + "-real", "below/b/log"), "utf8"), "one");
    },
  },
  {
    name: "openFileStorage() refuses a root that is no folder",
    // deno-lint-ignore require-await -- a contract case is asynchronous
    run: async ({ root }) => {
      writeFileSync(root, "a file");
      let code: unknown;
      try {
        openFileStorage({ root });
      } catch (error) {
        code = (error as { code?: unknown }).code;
      }
      checkEquals(code, "STORAGE_LOST");
    },
  },
  {
    name: "a folder that cannot be read is an error and not an absence",
    run: async ({ open }) => {
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      await (await storage.lock(LOCK)).release();
      faulty.next("readdirSync", () => {
        throw errorWith("EACCES", "permission denied");
      });
      await checkRejects(() => storage.list("p/s/"), "STORAGE_LOST");
      faulty.next("lstatSync", () => {
        throw errorWith("EIO", "input/output error");
      });
      await checkRejects(() => storage.stat(LOG), "STORAGE_LOST");
    },
  },
  {
    name: "a steady append and sync is two lstat, one write and one fdatasync",
    run: async ({ open }) => {
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      const lock = await storage.lock(LOCK);
      await publish(storage, LOG, bytesOf("one"), lock);
      const file = await storage.open(LOG, lock);
      const before = faulty.calls.length;
      for (let flush = 0; flush < 50; flush++) {
        await file.append(bytesOf("two"));
        await file.sync();
      }
      const calls = faulty.calls.slice(before).map(({ call }) => call);
      checkEquals(calls, Array(50).fill(["lstatSync", "lstatSync", "writeSync", "fdatasyncSync"]).flat());
    },
  },
  {
    name:
      "publish() syncs the content before the name appears, then every folder on the way, the root's own folder too",
    run: async ({ open, root }) => {
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      const paths = new Map<unknown, unknown>();
      faulty.always("openSync", (real, [path]) => {
        const descriptor = real();
        paths.set(descriptor, `${path}`.replace(/\/\.$/, ""));
        return descriptor;
      });
      const synced: unknown[] = [];
      faulty.always("fsyncSync", (real, [descriptor]) => (synced.push(paths.get(descriptor)), real()));
      faulty.always("linkSync", (real) => (synced.push("link"), real()));
      faulty.always("fdatasyncSync", (real) => (synced.push("content"), real()));
      const lock = await storage.lock(LOCK);
      synced.length = 0;
      await publish(storage, LOG, bytesOf("one"), lock);
      const [s, p] = [join(root, "p/s"), join(root, "p")];
      checkEquals(synced, ["content", "link", s, p, root, dirname(root)]);
      synced.length = 0;
      await publish(storage, "p/s/side", bytesOf("two"), lock);
      checkEquals(synced, ["content", "link", s]);
    },
  },
  {
    name: "a root whose own folder may not be read is used, when it was there before us",
    run: async ({ open, root }) => {
      mkdirSync(root, { mode: 0o700 });
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      faulty.always("openSync", (real, [path]) => {
        if (path === `${dirname(root)}/.`) throw errorWith("EACCES", "permission denied");
        return real();
      });
      await publish(storage, LOG, bytesOf("one"), await storage.lock(LOCK));
      checkEquals(textOf(await storage.read(LOG)), "one");
    },
  },
  {
    name: "a folder whose sync fails takes the name back, and the next publish succeeds",
    run: async ({ open }) => {
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      const lock = await storage.lock(LOCK);
      await publish(storage, "p/s/first", bytesOf("0"), lock);
      faulty.next("fsyncSync", () => {
        throw errorWith("EIO", "input/output error");
      });
      await checkRejects(() => publish(storage, LOG, bytesOf("one"), lock), "STORAGE_LOST");
      checkEquals(await storage.stat(LOG), null);
      await publish(storage, LOG, bytesOf("two"), lock);
      checkEquals(textOf(await storage.read(LOG)), "two");
    },
  },
  {
    name: "where there is no lock, as on Windows, the adapter reads and makes nothing",
    run: async ({ storage, root, open }) => {
      await publish(storage, LOG, bytesOf("one"), await storage.lock(LOCK));
      const kernelLock = { unusable: "no lock here", acquire: () => null, probe: () => false };
      const reader = open({ kernelLock });
      checkEquals(textOf(await reader.read(LOG)), "one");
      const error = await checkRejects(() => reader.lock("q/session.lock"), "STORAGE_LOST");
      check(error.message.includes("no lock here"), error.message);
      check(!existsSync(join(root, "q")), "nothing was made");
    },
  },
  {
    name: "errors without a code are understood: EFBIG as Deno reports it is STORAGE_FULL",
    run: async ({ open }) => {
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      const lock = await storage.lock(LOCK);
      await publish(storage, LOG, bytesOf("one"), lock);
      const file = await storage.open(LOG, lock);
      for (
        const error of [
          new Error("File too large (os error 27)"),
          errorWith("EDQUOT", "quota"),
          errorWith("EFBIG", "big"),
        ]
      ) {
        faulty.next("writeSync", () => {
          throw error;
        });
        await checkRejects(() => file.append(bytesOf("two")), "STORAGE_FULL");
      }
      await file.append(bytesOf("two"));
      checkEquals(textOf(await storage.read(LOG)), "onetwo");
    },
  },
  {
    name: "a failed append never cuts foreign bytes that came in between",
    run: async ({ open, stranger }) => {
      const faulty = new FaultyFileSystem();
      const storage = open({ fs: faulty.fs });
      const lock = await storage.lock(LOCK);
      await publish(storage, LOG, bytesOf("one"), lock);
      const file = await storage.open(LOG, lock);
      faulty.next("writeSync", () => {
        void stranger.append(LOG, bytesOf("FOREIGN"));
        throw errorWith("EIO", "input/output error");
      });
      await checkRejects(() => file.append(bytesOf("two")), "STORAGE_LOST");
      await checkRejects(() => file.append(bytesOf("two")), "STORAGE_LOST");
      checkEquals(textOf(await storage.read(LOG)), "oneFOREIGN");
    },
  },
];

async function refuseWriting(storage: FileContext["storage"], planted: string): Promise<void> {
  const lock = await storage.lock(LOCK);
  const [name, code] = planted === LOG ? [LOG, "ALREADY_EXISTS"] : ["p/s/blobs/1", "STORAGE_LOST"];
  await checkRejects(() => storage.open(name, lock), "STORAGE_LOST");
  await checkRejects(() => storage.remove(name, lock), "STORAGE_LOST");
  await checkRejects(() => publish(storage, name, bytesOf("x"), lock), code ?? "");
}

function modesBelow(path: string): { path: string; isFolder: boolean; mode: number }[] {
  const stat = lstatSync(path);
  const own = { path, isFolder: stat.isDirectory(), mode: stat.mode & 0o777 };
  return [own, ...(own.isFolder ? readdirSync(path).flatMap((name) => modesBelow(join(path, name))) : [])];
}

function listBelow(path: string): string[] {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return [`${path} ${stat.ino} ${readFileSync(path, "utf8")}`];
  return readdirSync(path).flatMap((name) => listBelow(join(path, name)));
}
