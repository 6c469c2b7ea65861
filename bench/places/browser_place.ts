/**
 * A dedicated worker of a browser: the OPFS store, and what a page would use instead of it.
 *
 * @module
 */
import { createStore, set } from "idb-keyval";
import { openOpfsStore } from "../../src/entry/opfs.ts";
import type { Absent, LogParser, Place, RawWriter } from "../bench_case.ts";
import { parseRows } from "../rows.ts";
import { settled } from "./settled.ts";

/** A sync access handle as far as it is used here; the type libraries of pages do not have it. */
interface SyncHandle {
  write(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  read(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  flush(): void;
  close(): void;
}

type FileWithSyncHandle = FileSystemFileHandle & { createSyncAccessHandle(): Promise<SyncHandle> };

/** A place that leaves nothing behind in the browser. */
export interface BrowserPlace extends Place {
  /** Removes everything that was written here. What cannot be removed is left, silently: it is no part of a measurement. */
  clean(): Promise<void>;
}

/** What a worker may bring besides what every browser has. */
export interface BrowserPlaceOptions {
  /** Makes a further writer over files in a folder below the origin's root, which it creates. */
  readonly moreWriters?: readonly { readonly name: string; make(folder: string): Promise<RawWriter> }[];
  /** What is known beforehand not to be there. */
  readonly absent?: readonly Absent[];
}

/**
 * A place in the origin of the worker we run in. Everything lies below one folder and one prefix of database names.
 *
 * A baseline that this browser refuses, as some do in private windows, is absent with the browser's reason.
 *
 * @throws {Error} when the browser has no sync access handles for us: then there is nothing to measure
 *
 * @example
 * ```ts
 * import { browserPlace } from "./browser_place.ts";
 *
 * async function inAWorker(): Promise<string> {
 *   return (await browserPlace("Chromium 156")).rawWriters.map(({ name }) => name).join();
 * }
 * if (typeof inAWorker !== "function") throw new Error("unreachable");
 * ```
 */
export async function browserPlace(runtime: string, options: BrowserPlaceOptions = {}): Promise<BrowserPlace> {
  const folder = `${PREFIX}${crypto.randomUUID().slice(0, 8)}`;
  let opened = 0;
  const freshName = (kind: string) => `${folder}-${kind}-${opened++}`;
  const databases: string[] = [];
  const freshDatabase = () => {
    const name = freshName("db");
    databases.push(name);
    return name;
  };
  await probeOpfs(folder);
  const rawWriters: [RawWriter, ...RawWriter[]] = [opfsWriter(folder, freshName)];
  const absent: Absent[] = [...options.absent ?? []];
  const others = [
    { name: KEY_VALUE, make: () => Promise.resolve(keyValueWriter(freshDatabase)) },
    { name: STRICT, make: () => Promise.resolve(strictWriter(freshDatabase)) },
    ...options.moreWriters ?? [],
  ];
  for (const { name, make } of others) {
    try {
      const writer = await make(folder);
      await tryOut(writer);
      rawWriters.push(writer);
    } catch (error) {
      absent.push({ name, reason: `this browser refuses: ${(error as Error).name}: ${(error as Error).message}` });
    }
  }
  return {
    runtime,
    medium: "OPFS",
    openStore: (wish = {}) => openOpfsStore({ root: `${folder}/${freshName("store")}`, ...wish }),
    hasUncompressed: true,
    rawWriters,
    logParser: textParser(folder, freshName),
    absent,
    nowMs: () => performance.now(),
    sleep: (delayMs) => new Promise((wake) => setTimeout(wake, delayMs)),
    async clean() {
      for (const name of databases) indexedDB.deleteDatabase(name);
      const root = await navigator.storage.getDirectory();
      await root.removeEntry(folder, { recursive: true }).catch(() => {});
    },
  };
}

/** How every folder and every database of a place begins. */
const PREFIX = "holdfast-bench-";

/**
 * Removes what places of workers that were ended have left. Nobody else may be measuring.
 *
 * @example
 * ```ts
 * import { removeLeftovers } from "./browser_place.ts";
 *
 * if (typeof removeLeftovers !== "function") throw new Error("unreachable");
 * ```
 */
export async function removeLeftovers(): Promise<void> {
  try {
    for (const { name } of await indexedDB.databases()) {
      if (name?.startsWith(PREFIX)) indexedDB.deleteDatabase(name);
    }
    const root = await navigator.storage.getDirectory() as FileSystemDirectoryHandle & {
      keys(): AsyncIterable<string>;
    };
    for await (const name of root.keys()) {
      if (name.startsWith(PREFIX)) await root.removeEntry(name, { recursive: true });
    }
  } catch {
    // A browser that refuses this refuses the measurement too, and says why there.
  }
}

/** Asks for what everything here needs, and says in words of ours what a browser lacks. */
async function probeOpfs(folder: string): Promise<void> {
  if (typeof navigator.storage?.getDirectory !== "function") {
    throw new Error(
      "This browser gives the page no private file system (OPFS). It needs https or this machine's own address.",
    );
  }
  let below: FileSystemDirectoryHandle;
  try {
    const root = await navigator.storage.getDirectory();
    below = await root.getDirectoryHandle(folder, { create: true });
  } catch (error) {
    const { name, message } = error as Error;
    throw new Error(
      `This browser refuses its private file system (OPFS), as some do in private windows: ${name}: ${message}`,
    );
  }
  const file = await below.getFileHandle("probe", { create: true }) as FileWithSyncHandle;
  if (typeof file.createSyncAccessHandle !== "function") {
    throw new Error("This browser has no sync access handles: nothing can be written and flushed from a worker.");
  }
  try {
    (await file.createSyncAccessHandle()).close();
  } catch (error) {
    throw new Error(`This browser refuses sync access handles: ${(error as Error).name}: ${(error as Error).message}`);
  }
}

async function tryOut(writer: RawWriter): Promise<void> {
  const open = await writer.open();
  try {
    await open.write(new Uint8Array(1));
  } finally {
    await open.close();
  }
}

async function rawHandle(folder: string, name: string): Promise<SyncHandle> {
  const root = await navigator.storage.getDirectory();
  const below = await root.getDirectoryHandle(folder, { create: true });
  return await (await below.getFileHandle(name, { create: true }) as FileWithSyncHandle).createSyncAccessHandle();
}

function opfsWriter(folder: string, freshName: (kind: string) => string): RawWriter {
  return {
    name: "OPFS write + flush",
    async open() {
      const handle = await rawHandle(folder, freshName("raw"));
      let at = 0;
      return {
        write(bytes) {
          const written = handle.write(bytes, { at });
          if (written !== bytes.length) throw new Error(`Cannot write ${bytes.length} bytes: ${written} were taken`);
          at += written;
          handle.flush();
        },
        close: () => handle.close(),
      };
    },
  };
}

/** Plain text: a browser has no zstd that would be no part of ours. */
function textParser(folder: string, freshName: (kind: string) => string): LogParser {
  return {
    name: "OPFS read + JSON.parse",
    async prepare(parts) {
      const handle = await rawHandle(folder, freshName("rows"));
      const sizesBytes: number[] = [];
      let end = 0;
      for await (const part of parts) {
        const bytes = new TextEncoder().encode(part);
        if (handle.write(bytes, { at: end }) !== bytes.length) {
          throw new Error("Cannot write the rows: not all were taken");
        }
        sizesBytes.push(bytes.length);
        end += bytes.length;
      }
      handle.flush();
      return {
        parse() {
          let rows = 0;
          let at = 0;
          for (const sizeBytes of sizesBytes) {
            const bytes = new Uint8Array(sizeBytes);
            handle.read(bytes, { at });
            at += sizeBytes;
            rows += parseRows(new TextDecoder().decode(bytes));
          }
          return rows;
        },
        close: () => handle.close(),
      };
    },
  };
}

const KEY_VALUE = "idb-keyval set (relaxed)";
const STRICT = "IndexedDB add, strict";

function keyValueWriter(freshDatabase: () => string): RawWriter {
  return {
    name: KEY_VALUE,
    open() {
      // Not the default store: that one may hold somebody's settings.
      const store = createStore(freshDatabase(), "log");
      let written = 0;
      return Promise.resolve({ write: (bytes) => set(written++, bytes, store), close() {} });
    },
  };
}

function strictWriter(freshDatabase: () => string): RawWriter {
  return {
    name: STRICT,
    async open() {
      const opening = indexedDB.open(freshDatabase(), 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("log", { autoIncrement: true });
      const database = await settled(opening, "success", () => opening.result);
      return {
        write(bytes) {
          const transaction = database.transaction("log", "readwrite", { durability: "strict" });
          transaction.objectStore("log").add(bytes);
          return settled(transaction, "complete", () => {});
        },
        close: () => database.close(),
      };
    },
  };
}
