/**
 * Deno and Node over files: the file store, and what the runtime itself writes files and SQLite with.
 *
 * @module
 */
import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { openFileStore } from "../../src/entry/file.ts";
import { parseRows } from "../rows.ts";
import type { Absent, LogParser, Place, RawWriter } from "../bench_case.ts";
import { otherStores } from "./other_stores.ts";

/** Deno's own file, of which only this much is used. The bundle for Node never reaches it. */
interface DenoFile {
  writeSync(bytes: Uint8Array): number;
  syncDataSync(): void;
  close(): void;
}

const deno = (globalThis as { Deno?: { openSync(path: string, options: object): DenoFile } }).Deno;

/**
 * A place over a folder, for the runtime we run in.
 *
 * @example
 * ```ts
 * import { filePlace } from "./file_place.ts";
 *
 * const folder = await Deno.makeTempDir();
 * const place = await filePlace(folder);
 * const writer = await place.rawWriters[0].open();
 * await writer.write(new Uint8Array(200));
 * await writer.close();
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function filePlace(folder: string): Promise<Place> {
  let opened = 0;
  const nextPath = (kind: string) => join(folder, `${kind}-${opened++}`);
  const rawWriters: [RawWriter, ...RawWriter[]] = [
    deno === undefined ? nodeFsWriter(nextPath) : denoFileWriter(nextPath, deno),
  ];
  const sqlite = await sqliteWriter(nextPath);
  const others = otherStores(nextPath, !("reason" in sqlite));
  const absent: Absent[] = [...others.absent];
  if ("reason" in sqlite) absent.push(sqlite);
  else rawWriters.push(sqlite);
  return {
    runtime: deno === undefined ? `Node ${process.versions.node}` : `Deno ${process.versions["deno"]}`,
    medium: "files",
    openStore: () => openFileStore({ root: nextPath("store") }),
    otherStores: others.stores,
    rawWriters,
    logParser: zstdParser(nextPath),
    absent,
    nowMs: () => performance.now(),
    sleep: (delayMs) => new Promise((wake) => setTimeout(wake, delayMs)),
  };
}

function denoFileWriter(nextPath: (kind: string) => string, { openSync }: NonNullable<typeof deno>): RawWriter {
  return {
    name: "append + fdatasync",
    open() {
      const file = openSync(nextPath("raw"), { append: true, createNew: true });
      return Promise.resolve({
        write(bytes) {
          checkWhole(file.writeSync(bytes), bytes);
          file.syncDataSync();
        },
        close: () => file.close(),
      });
    },
  };
}

function nodeFsWriter(nextPath: (kind: string) => string): RawWriter {
  return {
    name: "append + fdatasync",
    open() {
      const descriptor = openSync(nextPath("raw"), "ax");
      return Promise.resolve({
        write(bytes) {
          checkWhole(writeSync(descriptor, bytes), bytes);
          fdatasyncSync(descriptor);
        },
        close: () => closeSync(descriptor),
      });
    },
  };
}

async function sqliteWriter(nextPath: (kind: string) => string): Promise<RawWriter | Absent> {
  const name = "node:sqlite WAL FULL";
  let sqlite: typeof import("node:sqlite");
  try {
    sqlite = await import("node:sqlite");
  } catch (error) {
    return { name, reason: `this runtime has none: ${(error as Error).message}` };
  }
  return {
    name,
    open() {
      const database = new sqlite.DatabaseSync(nextPath("sqlite"));
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE log (batch BLOB NOT NULL)");
      const insert = database.prepare("INSERT INTO log (batch) VALUES (?)");
      return Promise.resolve({
        write(bytes) {
          insert.run(bytes);
        },
        close: () => database.close(),
      });
    },
  };
}

/** Parts of a mebibyte, each compressed by itself, one after another in one file. */
function zstdParser(nextPath: (kind: string) => string): LogParser {
  return {
    name: "read + zstd + JSON.parse",
    async prepare(parts) {
      const descriptor = openSync(nextPath("rows"), "wx+");
      const sizesBytes: number[] = [];
      for await (const part of parts) {
        const bytes = zstdCompressSync(part);
        checkWhole(writeSync(descriptor, bytes), bytes);
        sizesBytes.push(bytes.length);
      }
      return {
        parse() {
          let rows = 0;
          let at = 0;
          for (const sizeBytes of sizesBytes) {
            const bytes = new Uint8Array(sizeBytes);
            checkWhole(readSync(descriptor, bytes, 0, sizeBytes, at), bytes);
            at += sizeBytes;
            rows += parseRows(zstdDecompressSync(bytes).toString());
          }
          return rows;
        },
        close: () => closeSync(descriptor),
      };
    },
  };
}

function checkWhole(writtenBytes: number, bytes: Uint8Array): void {
  if (writtenBytes !== bytes.length) throw new Error(`Cannot write ${bytes.length} bytes: ${writtenBytes} were taken`);
}
