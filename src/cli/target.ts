/**
 * What a person means by `ID|FILE`: a session under the root, or a log file anywhere.
 *
 * @module
 */
import { closeSync, existsSync, openSync, readSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  CorruptLogError,
  hasCode,
  HoldfastError,
  type LogReader,
  NotFoundError,
  type OpenOptions,
  StorageLostError,
  UnsupportedFormatError,
} from "../../mod.ts";
import { openFileStore, openLogFile } from "../entry/file.ts";
import type { CommandContext } from "./command.ts";
import { findSession } from "./find.ts";

/** What a zstd frame begins with (RFC 8878 §3.1.1). */
const ZSTD_MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd];
/** What a zip archive begins with. */
const ZIP_MAGIC: readonly number[] = [0x50, 0x4b, 0x03, 0x04];
/** What a log that is not compressed begins with. */
const OPENING_BRACE = 0x7b;

/** A log that was found, and is not read yet. Disposing it closes what it was found in. */
export interface Target extends AsyncDisposable {
  /** The session's id; `null` for a bare file, whose header says it. */
  readonly id: string | null;
  /** The path of the log, as given when it is a bare file. */
  readonly file: string;
  readonly sizeBytes: number;
  readonly encoding: "zstd" | "none" | null;
  /** Whether a writer holds it now. */
  readonly live: boolean;
  open(options: OpenOptions): Promise<LogReader>;
}

/**
 * Finds a session or a log file.
 *
 * What looks like a path is a file when there is one, and anything else a session when there is one, so that a stray file never
 * hides a session of the same name.
 *
 * @throws {NotFoundError} when it is neither
 * @throws {UsageError} when it is the beginning of several ids
 */
export async function findTarget(
  argument: string,
  { cwd, root, storeName, openStore }: Pick<CommandContext, "cwd" | "root" | "storeName" | "openStore">,
): Promise<Target> {
  const path = resolve(cwd, argument);
  const isPath = /[/\\]/.test(argument) || /\.jsonl(\.zstd)?$/.test(argument);
  if (isPath && isFile(path, argument)) return await fileTarget(argument, path);
  try {
    return await sessionTarget(argument, root, storeName, openStore);
  } catch (error) {
    if (!hasCode(error, "NOT_FOUND")) throw error;
    if (!isPath && isFile(path, argument)) return await fileTarget(argument, path);
    if (!isPath) throw error;
    throw new NotFoundError(
      `Cannot open "${argument}": there is no such session, and no regular file of this name`,
    );
  }
}

async function sessionTarget(
  prefix: string,
  root: string,
  storeName: string | null,
  openStore: CommandContext["openStore"],
): Promise<Target> {
  const store = await openStore();
  try {
    const row = await findSession(store, root, prefix);
    const { id, sizeBytes, encoding, live } = row;
    return {
      ...{
        id,
        file: storeName === null ? join(root, row.name) : `${storeName} ${row.name}`,
        sizeBytes,
        encoding,
        live,
      },
      open: (options) => store.open(id, "read", options),
      [Symbol.asyncDispose]: () => store.close(),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function fileTarget(file: string, path: string): Promise<Target> {
  // Whoever names a link means the file behind it; the storage below follows none.
  const real = realpathSync(path);
  return {
    ...{ id: null, file, sizeBytes: statSync(real).size, encoding: encodingOf(real) },
    live: await isLive(real),
    open: (options) => isNoLog(real) ? Promise.reject(noLog(file, real)) : openLogFile(real, options),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function isFile(path: string, argument: string): boolean {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "ENOTDIR" || code === "ELOOP" || code === "ENAMETOOLONG" || code === "ENOENT") return false;
    throw new StorageLostError(`Cannot open file "${argument}": ${(error as Error).message}`, { cause: error });
  }
  return found?.isFile() === true;
}

/** Whether a file is certainly something else: not even a log that was torn in its first bytes begins like this. */
function isNoLog(path: string): boolean {
  const first = firstBytes(path);
  const isBegun = first.every((byte, index) => byte === ZSTD_MAGIC[index]);
  return !isBegun && first[0] !== OPENING_BRACE;
}

function noLog(file: string, path: string): Error {
  const first = firstBytes(path);
  if (ZIP_MAGIC.every((byte, index) => first[index] === byte)) {
    const advice = `holdfast import takes it in as a session, which can be looked at then`;
    return new UnsupportedFormatError(`Cannot open "${file}": it is a zip archive, not a log; ${advice}`);
  }
  const found = "not a session log: it begins neither with a zstd frame nor with {";
  return new CorruptLogError(`Cannot open "${file}": ${found}`, { offsetBytes: 0 });
}

/** Tells the encoding from the first bytes: a zstd frame, or JSON. `null` when it is neither. */
function encodingOf(path: string): "zstd" | "none" | null {
  const first = firstBytes(path);
  if (first.length === ZSTD_MAGIC.length && ZSTD_MAGIC.every((byte, index) => byte === first[index])) return "zstd";
  return first[0] === OPENING_BRACE ? "none" : null;
}

/** As many bytes as a magic number has, or as many as there are. */
function firstBytes(path: string): Uint8Array {
  const first = new Uint8Array(ZSTD_MAGIC.length);
  try {
    const descriptor = openSync(path, "r");
    try {
      return first.subarray(0, readSync(descriptor, first, 0, first.length, 0));
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new StorageLostError(`Cannot read file "${path}": ${(error as Error).message}`, { cause: error });
  }
}

/** Whether a bare file is a session's log after all, which a writer holds now. */
async function isLive(path: string): Promise<boolean> {
  const folder = dirname(path);
  if (!existsSync(join(folder, "session.lock"))) return false;
  const root = resolve(folder, "..", "..");
  // A folder is named by its session's id; what a file system could not take is written as ~ and four digits.
  const id = basename(folder).replace(/~([0-9A-F]{4})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
  try {
    await using store = openFileStore({ root });
    const row = await store.stat(id);
    return row !== null && join(root, row.name) === path && row.live;
  } catch (error) {
    // What lies above the file, or beside it, is not what was asked about.
    if (error instanceof HoldfastError || error instanceof RangeError) return false;
    throw error;
  }
}
