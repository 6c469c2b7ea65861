/**
 * A dedicated worker of a browser: the OPFS store, and what a page would use instead of it.
 *
 * @module
 */
import { set } from "idb-keyval";
import { openOpfsStore } from "../../src/entry/opfs.ts";
import type { LogParser, Place, RawWriter } from "../bench_case.ts";
import { parseRows } from "../rows.ts";

/** A sync access handle as far as it is used here; the type libraries of pages do not have it. */
interface SyncHandle {
  write(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  read(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  flush(): void;
  close(): void;
}

type FileWithSyncHandle = FileSystemFileHandle & { createSyncAccessHandle(): Promise<SyncHandle> };

/**
 * A place in the origin of the worker we run in.
 *
 * @example
 * ```ts
 * import { browserPlace } from "./browser_place.ts";
 *
 * function inAWorker(): string {
 *   return browserPlace("Chromium 156").rawWriters.map(({ name }) => name).join();
 * }
 * ```
 */
export function browserPlace(runtime: string): Place {
  return {
    runtime,
    medium: "OPFS",
    openStore: () => openOpfsStore({ root: freshName("store") }),
    rawWriters: [opfsWriter, keyValueWriter, strictWriter],
    logParser: textParser,
    absent: [{ name: "node:sqlite WAL FULL", reason: "a browser has none" }],
    nowMs: () => performance.now(),
    sleep: (delayMs) => new Promise((wake) => setTimeout(wake, delayMs)),
  };
}

let opened = 0;

function freshName(kind: string): string {
  return `${kind}-${opened++}`;
}

const opfsWriter: RawWriter = {
  name: "OPFS write + flush",
  async open() {
    const folder = await navigator.storage.getDirectory();
    const file = await folder.getFileHandle(freshName("raw"), { create: true }) as FileWithSyncHandle;
    const handle = await file.createSyncAccessHandle();
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

/** Plain text: a browser has no zstd that would be no part of ours. */
const textParser: LogParser = {
  name: "OPFS read + JSON.parse",
  async prepare(parts) {
    const folder = await navigator.storage.getDirectory();
    const file = await folder.getFileHandle(freshName("rows"), { create: true }) as FileWithSyncHandle;
    const handle = await file.createSyncAccessHandle();
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

const keyValueWriter: RawWriter = {
  name: "idb-keyval set (relaxed)",
  open() {
    const prefix = freshName("raw");
    let written = 0;
    return Promise.resolve({ write: (bytes) => set(`${prefix}-${written++}`, bytes), close() {} });
  },
};

const strictWriter: RawWriter = {
  name: "IndexedDB add, strict",
  async open() {
    const opening = indexedDB.open(freshName("raw"), 1);
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

function settled<Value>(
  source: EventTarget & { readonly error: DOMException | null },
  event: string,
  value: () => Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    source.addEventListener(event, () => resolve(value()));
    for (const name of ["error", "abort"]) source.addEventListener(name, () => reject(source.error));
  });
}
