/**
 * The file of a database, and what must be true of it before it is opened.
 *
 * Nothing here opens a file that SQLite may hold: closing any descriptor of it would drop the locks of this whole process.
 *
 * @see https://www.sqlite.org/howtocorrupt.html, "POSIX advisory locks canceled by a separate thread doing close()"
 * @module
 */
import { closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync, readSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { StorageLostError } from "../../errors.ts";

/** Which file it is, and whether it changed. */
export interface FileFacts {
  /** Device and inode. */
  readonly identity: string;
  /** As `identity`, and changes with what is written. */
  readonly revision: string;
  readonly sizeBytes: number;
}

/** How the writers of a database keep it whole. */
export type JournalKind = "wal" | "rollback";

/** Where a database says which of them it is, in its header. */
const READ_VERSION_OFFSET_BYTES = 19;

/** Permission bits of whoever is not the owner. */
const OTHERS = 0o077n;

/** What is at a path; `null` when there is nothing. Never follows a link. */
export function factsOf(path: string): FileFacts | null {
  const stat = statOf(path);
  if (stat === null) return null;
  const identity = `${stat.dev}:${stat.ino}`;
  return {
    identity,
    revision: `${identity}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`,
    sizeBytes: Number(stat.size),
  };
}

/**
 * Checks that a database may be read: the file and what SQLite keeps beside it are files, not links.
 *
 * @returns `null` when there is no database
 * @throws {StorageLostError}
 */
export function checkReadable(path: string): FileFacts | null {
  for (const name of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) {
    const stat = statOf(name);
    if (stat === null || stat.isFile()) continue;
    throw refused(name, stat.isSymbolicLink() ? "it is a symbolic link, which is not followed" : "it is no file");
  }
  return factsOf(path);
}

/**
 * Checks that a database may be written: as for reading, and that it is ours and nobody else's.
 *
 * @throws {StorageLostError}
 */
export function checkWritable(path: string): FileFacts {
  const facts = checkReadable(path);
  if (facts === null) throw refused(path, "it is not there any more");
  if (process.platform === "win32") return facts;
  const { uid, mode } = statOf(path)!;
  const ours = process.getuid?.();
  if (ours !== undefined && uid !== BigInt(ours)) {
    throw refused(path, `it belongs to user ${uid}, and this is user ${ours}`);
  }
  if ((mode & OTHERS) !== 0n) {
    throw refused(path, `its mode is ${(Number(mode) & 0o777).toString(8).padStart(4, "0")}, wanted 0600`);
  }
  return facts;
}

/**
 * How a database is kept whole, from its header; `wal` when there is none.
 *
 * Opens and closes the file, so it is only for a database that this process does not write.
 *
 * @see https://www.sqlite.org/fileformat2.html#file_format_version_numbers
 */
export function journalKindOf(path: string): JournalKind {
  if (checkReadable(path) === null) return "wal";
  const descriptor = openSync(path, constants.O_RDONLY);
  try {
    const version = new Uint8Array(1);
    readSync(descriptor, version, 0, 1, READ_VERSION_OFFSET_BYTES);
    return version[0] === 1 ? "rollback" : "wal";
  } finally {
    closeSync(descriptor);
  }
}

/** Makes an empty file for the owner alone, and its folders, durable by name. Leaves alone what is there. */
export function createPrivately(path: string): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600));
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return;
    throw error;
  }
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function statOf(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true });
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "")) return null;
    throw error;
  }
}

function refused(path: string, found: string): StorageLostError {
  return new StorageLostError(`Cannot open database "${path}": ${found}`);
}
