/**
 * Sessions in files, for Deno and Node: the file adapter, `node:zlib`, and the journal.
 *
 * @module
 */
import { basename, dirname, resolve } from "node:path";
import { openFileStorage } from "../adapters/file/mod.ts";
import { encodeLines } from "../frame/mod.ts";
import { nodeZstd } from "../frame/node_zstd.ts";
import {
  type JournalLimits,
  openJournal,
  openLogFile as openJournalFile,
  type RawLogs,
  rawLogs,
} from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { LogReader, OpenOptions, SessionStore } from "../store/session_store.ts";
import { systemRuntime } from "./system.ts";
import { verifyOnThread } from "./verify_thread.ts";

export type { RawLogs, TakenLog } from "../journal/mod.ts";
export { type FileMigration, migrateFileSession, type Migration } from "./migrate_file.ts";
export * from "./salvage_file.ts";
export { systemClock, systemRandom, systemRuntime } from "./system.ts";

/** Where and how sessions are kept. */
export interface FileStoreOptions {
  /** A folder, made at the first write. */
  readonly root: string;
  /** How new sessions are stored. Default `"zstd"`. */
  readonly compression?: "zstd" | "none";
  /** Bounds of the journal to move; the others keep their defaults. */
  readonly limits?: Partial<JournalLimits>;
  /** Default: the system's. */
  readonly runtime?: Runtime;
}

/**
 * Opens a store over a folder. Nothing is created before the first write.
 *
 * Needs Deno, or Node 22.15 or newer and the `flock` command. On Windows only reading works.
 *
 * @throws {StorageLostError} when the root is there and is not a folder that can be read
 *
 * @example
 * ```ts
 * import { createSession } from "../session/mod.ts";
 * import { openFileStore } from "./file.ts";
 *
 * const root = await Deno.makeTempDir();
 * await using store = openFileStore({ root });
 * const session = await createSession({ store, id: "first" });
 * session.append({ type: "turn/start", data: { turn: 1 } });
 * await session.close();
 * if ((await store.stat("first"))?.state !== "open") throw new Error("unreachable");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export function openFileStore(options: FileStoreOptions): SessionStore {
  const { root, compression, limits, runtime = systemRuntime } = options;
  const journal = { storage: openFileStorage({ root }), codec: nodeZstd(), ...runtime, compression, limits };
  return openJournal({ ...journal, verifyStage: verifyOnThread });
}

/**
 * The logs of a folder as the bytes they are, to take them out whole and in again.
 *
 * @example
 * ```ts
 * import { openFileLogs } from "./file.ts";
 *
 * const root = await Deno.makeTempDir();
 * const header = { type: "session", version: 3, id: "a", createdAt: 0, isSeeded: false, delegationDepth: 0 };
 * const logs = openFileLogs({ root });
 * await logs.take("copy of a.jsonl", new TextEncoder().encode(JSON.stringify(header) + "\n"));
 * if ((await logs.read("a")).name !== "session.v3.jsonl") throw new Error("unreachable");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export function openFileLogs({ root, limits, runtime = systemRuntime }: FileStoreOptions): RawLogs {
  return rawLogs({ storage: openFileStorage({ root }), codec: nodeZstd(), ...runtime, limits });
}

/**
 * Opens one log file anywhere, for reading: its version comes from its header, its encoding from its bytes, and where it lies
 * does not matter. Nothing is written.
 *
 * @throws {NotFoundError}
 * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when not even the header can be read
 *
 * @example
 * ```ts
 * import { openLogFile } from "./file.ts";
 *
 * const path = await Deno.makeTempFile({ suffix: ".jsonl" });
 * const header = { type: "session", version: 3, id: "a", createdAt: 0, isSeeded: false, delegationDepth: 0 };
 * await Deno.writeTextFile(path, JSON.stringify(header) + "\n");
 * await using log = await openLogFile(path);
 * if (log.header.id !== "a") throw new Error("unreachable");
 * await Deno.remove(path);
 * ```
 */
export async function openLogFile(path: string, options: OpenOptions = {}): Promise<LogReader> {
  const absolute = resolve(path);
  const storage = openFileStorage({ root: dirname(absolute) });
  return await openJournalFile({ storage, codec: nodeZstd(), ...systemRuntime }, basename(absolute), options);
}

/**
 * Rows as one zstd frame of a log, for whoever writes a log file of his own: the header row is a frame alone.
 *
 * @param rows JSON texts without line ends
 *
 * @example
 * ```ts
 * import { encodeZstdFrame } from "./file.ts";
 *
 * const frame = encodeZstdFrame(["{}"]);
 * if (frame[0] !== 0x28) throw new Error("unreachable");
 * ```
 */
export function encodeZstdFrame(rows: readonly string[]): Uint8Array {
  return nodeZstd().compress(encodeLines(rows));
}
