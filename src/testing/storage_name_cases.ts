/**
 * Contract cases about names, folders and reading: what a reader finds, and that it leaves no trace.
 *
 * @module
 */

import { check, checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { bytesOf, publishWhole, type StorageContext, textOf } from "./storage_context.ts";

const ESCAPING_NAMES = [
  "",
  "/",
  "/etc/passwd",
  "../x",
  "a/../../x",
  "a/..",
  ".",
  "a/./b",
  "a//b",
  "a/",
  "a\\b",
  "a\0b",
  "\ud800",
];
const ESCAPING_FOLDERS = ["a", "/", "../", "a/../", "./", "a//", "a\\b/", "a/b"];

/** Names and reading. */
export const storageNameCases: readonly ContractCase<StorageContext>[] = [
  {
    name: "every verb refuses a name that could leave the root",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      for (const name of ESCAPING_NAMES) {
        await checkRejects(() => storage.stat(name), "RangeError");
        await checkRejects(() => storage.read(name), "RangeError");
        await checkRejects(() => storage.lock(name), "RangeError");
        await checkRejects(() => storage.isLocked(name), "RangeError");
        await checkRejects(() => storage.stage(name, lock), "RangeError");
        await checkRejects(() => storage.open(name, lock), "RangeError");
        if (!name.endsWith("/") || name === "/") await checkRejects(() => storage.remove(name, lock), "RangeError");
      }
      for (const prefix of ESCAPING_FOLDERS) await checkRejects(() => storage.list(prefix), "RangeError");
      checkEquals(await storage.list(""), [{ name: "session.lock", kind: "file" }]);
    },
  },
  {
    name: "a writer cannot touch what its lock does not cover",
    run: async ({ storage }) => {
      const lock = await storage.lock("a/session.lock");
      await checkRejects(() => storage.stage("b/log", lock), "RangeError");
      await checkRejects(() => storage.open("log", lock), "RangeError");
      await checkRejects(() => storage.remove("ab/", lock), "RangeError");
      await publishWhole(storage, "a/b/c/log", bytesOf("deep"), lock);
      checkEquals(textOf(await storage.read("a/b/c/log")), "deep");
    },
  },
  {
    name: "readers create nothing on an empty medium",
    run: async ({ storage }) => {
      checkEquals(await storage.list(""), []);
      checkEquals(await storage.list("a/b/"), []);
      checkEquals(await storage.stat("a/b"), null);
      checkEquals(await storage.isLocked("a/session.lock"), false);
      await checkRejects(() => storage.read("a/b"), "NOT_FOUND");
      checkEquals(await storage.list(""), []);
    },
  },
  {
    name: "list() gives one level, folders with a slash, in UTF-16 order",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      for (const name of ["b/x", "a", "é", "b/y/z", "B", "~0041", "b-"]) {
        await publishWhole(storage, name, bytesOf("1"), lock);
      }
      const names = (await storage.list("")).map((entry) => entry.name);
      checkEquals(names, ["B", "a", "b-", "b/", "session.lock", "~0041", "é"]);
      checkEquals(await storage.list("b/"), [{ name: "b/x", kind: "file" }, { name: "b/y/", kind: "folder" }]);
      checkEquals(await storage.list("c/"), []);
    },
  },
  {
    name: "a folder is not a file and a file is not a folder",
    run: async ({ storage }) => {
      const lock = await storage.lock("a/session.lock");
      await publishWhole(storage, "a/log", bytesOf("1"), lock);
      await checkRejects(() => storage.stat("a"), "STORAGE_LOST");
      await checkRejects(() => storage.read("a"), "STORAGE_LOST");
      await checkRejects(() => storage.stat("a/log/x"), "STORAGE_LOST");
      await checkRejects(() => storage.list("a/log/"), "STORAGE_LOST");
      await checkRejects(() => storage.stage("a/log/x", lock), "STORAGE_LOST");
    },
  },
  {
    name: "read() clips a range to the file",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      await publishWhole(storage, "log", bytesOf("0123456789"), lock);
      const read = async (startBytes: number, endBytes?: number) =>
        textOf(await storage.read("log", { startBytes, endBytes }));
      checkEquals(await read(0), "0123456789");
      checkEquals(await read(3, 5), "34");
      checkEquals(await read(8, 99), "89");
      checkEquals(await read(10), "");
      checkEquals(await read(99, 100), "");
      checkEquals(await read(5, 3), "");
    },
  },
  {
    name: "stat() tells size, and a revision that changes with every write and replacement",
    run: async ({ storage }) => {
      const lock = await storage.lock("session.lock");
      await publishWhole(storage, "log", bytesOf("one"), lock);
      const first = await storage.stat("log");
      checkEquals(first?.sizeBytes, 3);
      checkEquals(await storage.stat("log"), first, "a look changes nothing");
      const file = await storage.open("log", lock);
      await file.append(bytesOf("two"));
      await file.close();
      const second = await storage.stat("log");
      checkEquals(second?.sizeBytes, 6);
      check(second?.revision !== first?.revision, "an append changes the revision");
      await storage.remove("log", lock);
      checkEquals(await storage.stat("log"), null);
    },
  },
];
