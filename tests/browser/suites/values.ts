/**
 * Values that tabs share, in a browser worker on the browser's own database.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { getValue, updateValue } from "../../../web/values.ts";
import { type BrowserCase, reportCases } from "../../support/browser/cases.ts";

/** Who else changes the same values, each with a database connection and an event loop of its own. */
const WORKERS = 4;
const CHANGES = 50;

const cases: BrowserCase[] = [
  {
    name: "values are read, changed and forgotten",
    async run() {
      assertEquals(await getValue("a"), undefined);
      await updateValue("a", (old) => [old ?? "nothing"]);
      await updateValue("a", (old) => [...old as unknown[], { deep: [1] }]);
      await updateValue("ab", () => "another key");
      assertEquals(await getValue("a"), ["nothing", { deep: [1] }]);
      await updateValue("a", () => undefined);
      assertEquals([await getValue("a"), await getValue("ab")], [undefined, "another key"]);
    },
  },
  {
    name: "a value of an earlier build is found, changed, and not there twice",
    async run() {
      await getValue("old");
      const store = (await database()).transaction("keyval", "readwrite").objectStore("keyval");
      store.put({ sessionIds: ["x"] }, "old");
      await ended(store.transaction);
      assertEquals(await getValue("old"), { sessionIds: ["x"] });
      await updateValue("old", (old) => ({ ...old as object, isPersisted: true }));
      assertEquals(await getValue("old"), { sessionIds: ["x"], isPersisted: true });
      assertEquals(await keysOf("old"), [["old", 1]]);
    },
  },
  {
    name: "nothing is left open for code to run: every transaction is committed in the task that began it",
    async run() {
      await getValue("warm");
      const begun: IDBTransaction[] = [];
      const late: string[] = [];
      const committed = new Set<IDBTransaction>();
      const { transaction } = IDBDatabase.prototype;
      const { commit } = IDBTransaction.prototype;
      IDBDatabase.prototype.transaction = function (...args) {
        const one = transaction.apply(this, args);
        begun.push(one);
        queueMicrotask(() => committed.has(one) || late.push(one.mode));
        return one;
      };
      IDBTransaction.prototype.commit = function () {
        committed.add(this);
        commit.apply(this);
      };
      try {
        await getValue("b");
        let openMeanwhile = -1;
        await updateValue("b", () => {
          openMeanwhile = begun.filter((one) => !committed.has(one)).length;
          return 1;
        });
        assertEquals(openMeanwhile, 0, "a change is worked out in no transaction");
      } finally {
        IDBDatabase.prototype.transaction = transaction;
        IDBTransaction.prototype.commit = commit;
      }
      assert(begun.length >= 3);
      assertEquals(late, []);
    },
  },
  {
    name: "a change that takes long keeps nobody away, and is made on what is there then",
    async run() {
      await updateValue("slow", () => ["first"]);
      let other: Promise<void> | null = null;
      await updateValue("slow", (old) => {
        // Somebody else changes it for as long as this one works.
        other ??= updateValue("slow", (now) => [...now as string[], "faster"]);
        return [...old as string[], "slow"];
      });
      await other;
      const found = await getValue("slow") as string[];
      assertEquals([found.length, found[0], found.toSorted()], [3, "first", ["faster", "first", "slow"]]);
    },
  },
  {
    name: "changes of several workers at once: none is lost, and no version stays behind",
    async run() {
      const workers = Array.from({ length: WORKERS }, () => new Worker("counter.js", { type: "module" }));
      await Promise.all(workers.map((worker) =>
        new Promise<void>((resolve, reject) => {
          worker.onmessage = () => resolve();
          worker.onerror = (event) => reject(new Error(event.message));
          worker.postMessage({ key: "count", changes: CHANGES });
        })
      ));
      for (const worker of workers) worker.terminate();
      assertEquals(await getValue("count"), WORKERS * CHANGES);
      await updateValue("count", (old) => old);
      assertEquals((await keysOf("count")).length, 1);
    },
  },
];

await reportCases(cases);

function database(): Promise<IDBDatabase> {
  const opening = indexedDB.open("keyval-store");
  return new Promise((resolve, reject) => {
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

function ended(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

/** What is stored for a key, in whatever version. */
async function keysOf(key: string): Promise<IDBValidKey[]> {
  const connection = await database();
  const asked = connection.transaction("keyval").objectStore("keyval").getAllKeys();
  await ended(asked.transaction!);
  connection.close();
  return asked.result.filter((found) => found === key || (Array.isArray(found) && found[0] === key));
}
