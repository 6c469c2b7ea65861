/**
 * A few values in IndexedDB, of which no tab can keep the others away.
 *
 * A browser may freeze a page at any instant, also between the answer to a request and the next request of the same transaction.
 * That transaction then stays open, and every later one on the same store waits for it: one frozen tab stops all others. So
 * everything a transaction shall do is asked for in one task and committed in the same task, and what a value is changed to is
 * worked out in between two transactions. Libraries that offer an `update` run it inside of one.
 *
 * A value is kept under `[key, version]`; the highest version counts. A plain `key`, as earlier builds wrote it, is version 0.
 *
 * @see Indexed Database API 3.0, "IDBTransaction.commit()"; Page Lifecycle, "frozen"
 * @module
 */

/** The names under which earlier builds kept their values, so that they are found again. */
const DATABASE = "keyval-store";
const STORE = "keyval";

/** How often a change is tried while others change the same value. One of those who try at once always gets through. */
export const UPDATE_TRIES_MAX = 1_000;

/** A value and which one it is. */
interface Versioned {
  readonly version: number;
  readonly value: unknown;
}

/**
 * What is kept under a key; `undefined` when nothing is.
 *
 * @example
 * ```ts
 * import { getValue } from "./values.ts";
 *
 * const inAPage = async () => typeof await getValue("model");
 * ```
 */
export async function getValue(key: string): Promise<unknown> {
  return (await read(await opened(), key)).value;
}

/**
 * Reads, changes and writes one value. Nobody comes in between: when somebody did, it is done again with the newer value. It is
 * kept when it resolves, and never half.
 *
 * @param change may be called several times; `undefined` forgets the value
 * @throws {DOMException} when the browser refuses
 *
 * @example
 * ```ts
 * import { updateValue } from "./values.ts";
 *
 * const inAPage = () => updateValue("visits", (old) => (typeof old === "number" ? old : 0) + 1);
 * ```
 */
export async function updateValue(key: string, change: (old: unknown) => unknown): Promise<void> {
  const database = await opened();
  for (let tries = 1; tries <= UPDATE_TRIES_MAX; tries++) {
    const { version, value } = await read(database, key);
    if (await write(database, key, { version: version + 1, value: change(value) })) return;
  }
  throw new DOMException(`Cannot change value "${key}": others change it all the time`, "TimeoutError");
}

function read(database: IDBDatabase, key: string): Promise<Versioned> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, "readonly");
    const store = transaction.objectStore(STORE);
    const newest = store.openCursor(versionsOf(key), "prev");
    const plain = store.get(key);
    let found: Versioned | null = null;
    newest.onsuccess = () => {
      const cursor = newest.result;
      if (cursor !== null) found = { version: (cursor.key as [string, number])[1], value: cursor.value };
    };
    plain.onsuccess = () => resolve(found ?? { version: 0, value: plain.result });
    transaction.onabort = () => reject(transaction.error);
    transaction.commit();
  });
}

/** Writes the version behind the one that was read. @returns false when somebody else was faster; nothing counts then */
function write(database: IDBDatabase, key: string, { version, value }: Versioned): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, "readwrite");
    const store = transaction.objectStore(STORE);
    const added = store.add(value, [key, version]);
    // A version that is there already takes the transaction back. One that was there, and was followed by others that took it
    // away, is found out by the highest: what then stays of ours counts for nothing, and goes with the next write.
    const newest = store.openKeyCursor(versionsOf(key), "prev");
    store.delete(IDBKeyRange.bound([key], [key, version], false, true));
    store.delete(key);
    let isNewest = false;
    newest.onsuccess = () => isNewest = (newest.result?.key as [string, number] | undefined)?.[1] === version;
    transaction.oncomplete = () => resolve(isNewest);
    transaction.onabort = () => added.error?.name === "ConstraintError" ? resolve(false) : reject(transaction.error);
    transaction.commit();
  });
}

/** From `[key, 0]` on. An array stands behind every number, so it ends what begins with this key. */
function versionsOf(key: string): IDBKeyRange {
  return IDBKeyRange.bound([key], [key, []]);
}

let opening: Promise<IDBDatabase> | null = null;

/** Opened once; anew when the browser has closed it, or could not open it. */
function opened(): Promise<IDBDatabase> {
  return opening ??= new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(DATABASE);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE);
      request.transaction!.commit();
    };
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const database = request.result;
      // Somebody deletes it, or clears the site: whoever holds it open would be in the way.
      database.onversionchange = () => {
        database.close();
        opening = null;
      };
      database.onclose = () => opening = null;
      resolve(database);
    };
  }).catch((error) => {
    opening = null;
    throw error;
  });
}
