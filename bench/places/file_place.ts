/**
 * Deno and Node over files: the file store, and what the runtime itself writes files and SQLite with.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { nodeZstd, portableZstd } from "../../src/entry/codecs.ts";
import { encodeZstdFrame, openFileStore } from "../../src/entry/file.ts";
import { parseRows } from "../rows.ts";
import type {
  Absent,
  BenchCodec,
  LogParser,
  NativeWriter,
  Place,
  PlantedSessions,
  Publisher,
  RawWriter,
} from "../bench_case.ts";
import { LIST_READ_BYTES_MAX } from "../session_cases.ts";
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
  const program = process.env[NATIVE_VARIABLE];
  if (!program) absent.push({ name: NATIVE_NAME, reason: "this machine has no C compiler" });
  return {
    runtime: runtimeName(),
    medium: "files",
    openStore: (wish = {}) => openFileStore({ root: nextPath("store"), ...wish }),
    hasUncompressed: true,
    otherStores: others.stores,
    rawWriters,
    ...(program ? { nativeWriter: nativeWriter(program, nextPath) } : {}),
    parallelWriter: parallelWriter(nextPath),
    publisher: linkPublisher(nextPath),
    plantSessions: (count, like) => plantSessions(nextPath("planted"), count, like),
    codecs: CODECS,
    bytesRead,
    residentBytes: () => process.memoryUsage().rss,
    logParser: zstdParser(nextPath),
    absent,
    nowMs: () => performance.now(),
    sleep: (delayMs) => new Promise((wake) => setTimeout(wake, delayMs)),
  };
}

/** The variable that names the compiled `append_sync.c`; empty when nothing could compile it. */
export const NATIVE_VARIABLE = "HOLDFAST_BENCH_NATIVE";
const NATIVE_NAME = "C write + fdatasync";

function runtimeName(): string {
  const { bun, deno, node } = process.versions as Readonly<Record<string, string | undefined>>;
  if (deno !== undefined) return `Deno ${deno}`;
  return bun === undefined ? `Node ${node}` : `Bun ${bun}`;
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

/** The write is synchronous, as ours is; the syncs of several files overlap on the runtime's threads. */
function parallelWriter(nextPath: (kind: string) => string): RawWriter {
  return {
    name: "write + await fdatasync",
    open() {
      const descriptor = openSync(nextPath("raw"), "ax");
      return Promise.resolve({
        write(bytes) {
          checkWhole(writeSync(descriptor, bytes), bytes);
          return new Promise<void>((resolve, reject) => {
            fdatasync(descriptor, (error) => error ? reject(error) : resolve());
          });
        },
        close: () => closeSync(descriptor),
      });
    },
  };
}

/** The program takes the time itself: the way through two pipes is not counted. */
function nativeWriter(program: string, nextPath: (kind: string) => string): NativeWriter {
  return {
    name: NATIVE_NAME,
    open(bytes) {
      const child = spawn(program, [nextPath("native"), String(bytes.length)], { stdio: ["pipe", "pipe", "inherit"] });
      const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
      let asked: PromiseWithResolvers<number> | null = null;
      let answer = Buffer.alloc(0);
      child.stdout.on("data", (part: Uint8Array) => {
        answer = Buffer.concat([answer, part]);
        if (answer.length < 8) return;
        asked?.resolve(Number(answer.readBigUInt64LE(0)) / 1e6);
        answer = answer.subarray(8);
      });
      const fail = (why: string) => asked?.reject(new Error(`Cannot append in C: ${why}`));
      child.once("exit", (code) => fail(`it ended with code ${code}`));
      child.once("error", (error) => fail(error.message));
      child.stdin.write(bytes);
      return Promise.resolve({
        append() {
          asked = Promise.withResolvers();
          child.stdin.write(new Uint8Array(1));
          return asked.promise;
        },
        async close() {
          child.stdin.end();
          await ended;
        },
      });
    },
  };
}

/** A file under a fresh name is synced and gets its own by a link, so that it is there whole or not at all. */
function linkPublisher(nextPath: (kind: string) => string): Publisher {
  return {
    name: "create + fdatasync + link + fsync of the folder",
    publish(bytes) {
      const folder = nextPath("published");
      mkdirSync(folder);
      const staged = join(folder, "staged");
      const descriptor = openSync(staged, "ax");
      checkWhole(writeSync(descriptor, bytes), bytes);
      fdatasyncSync(descriptor);
      linkSync(staged, join(folder, "log"));
      unlinkSync(staged);
      for (const path of [folder, dirname(folder)]) {
        const parent = openSync(path, "r");
        fsyncSync(parent);
        closeSync(parent);
      }
      closeSync(descriptor);
    },
  };
}

/** Sessions like one that the store made: its rows under other ids, written without a sync. */
async function plantSessions(
  root: string,
  count: number,
  { store, id }: Parameters<NonNullable<Place["plantSessions"]>>[1],
): Promise<PlantedSessions> {
  const name = (await store.stat(id))?.name;
  if (name === undefined) throw new Error(`Cannot plant sessions: "${id}" is not there`);
  const reader = await store.open(id, "read");
  const { events } = await reader.read({ limit: 10_000 });
  const rows = encodeZstdFrame(events.map((event) => JSON.stringify(event)));
  for (let index = 0; index < count; index++) {
    const fresh = `${id.slice(0, -6)}${String(index).padStart(6, "0")}`;
    const header = encodeZstdFrame([JSON.stringify({ ...reader.header, id: fresh })]);
    const path = join(root, name.replaceAll(id, fresh));
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, new Uint8Array([...header, ...rows]), { mode: 0o600 });
  }
  await reader.close();
  const planted = openFileStore({ root });
  return { store: planted, readAll: () => readAll(root), close: () => planted.close() };
}

function readAll(root: string): number {
  let readBytes = 0;
  const buffer = new Uint8Array(LIST_READ_BYTES_MAX);
  for (const project of readdirSync(root)) {
    for (const session of readdirSync(join(root, project))) {
      for (const file of readdirSync(join(root, project, session))) {
        const descriptor = openSync(join(root, project, session, file), "r");
        readBytes += readSync(descriptor, buffer, 0, buffer.length, 0);
        closeSync(descriptor);
      }
    }
  }
  return readBytes;
}

const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: 1 } };

const CODECS: readonly BenchCodec[] = [
  {
    name: "node:zlib",
    compress: (plain) => zstdCompressSync(plain, CHECKED),
    decompress: (frame) => zstdDecompressSync(frame),
  },
  ...[nodeZstd(), portableZstd()].map((codec) => ({
    name: `holdfast ${codec.name}`,
    compress: (plain: Uint8Array) => codec.compress(plain),
    decompress: (frame: Uint8Array) => codec.decompress(frame, 2 ** 24),
  })),
];

/** Linux counts what a process reads, its pipes included: nothing comes by them while a list is read. */
function bytesRead(): number | null {
  try {
    const { groups } = /^rchar: (?<bytes>\d+)$/m.exec(readFileSync("/proc/self/io", "utf8")) ?? {};
    return groups === undefined ? null : Number(groups["bytes"]);
  } catch {
    return null;
  }
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
