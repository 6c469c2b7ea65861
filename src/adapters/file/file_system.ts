/**
 * The few calls the file adapter makes to the operating system, as an interface, so that a test can make each of them fail.
 *
 * They are the synchronous ones of `node:fs`, which Deno and Node share: in both an append is then exactly one `write` and a
 * sync exactly one `fdatasync`, where the asynchronous calls cost 14 to 17 system calls and up to twice the time. Only when
 * several files wait to be synced at once is the asynchronous sync the better one, because then the syncs overlap.
 *
 * @module
 */

import * as nodeFs from "node:fs";

/** What the adapter looks at in a `stat`. */
export interface FileStat {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mode: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly birthtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** A name in a folder. */
export interface FileEntry {
  readonly name: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** The operating system, as far as the adapter needs it. Every call blocks, and throws an error with a `code` like `ENOENT`. */
export interface FileSystem {
  openSync(path: string, flags: number, mode?: number): number;
  closeSync(descriptor: number): void;
  /** Writes at the end of the file when `position` is `null`. Returns how many bytes were taken. */
  writeSync(descriptor: number, bytes: Uint8Array, offset: number, length: number, position: number | null): number;
  readSync(descriptor: number, bytes: Uint8Array, offset: number, length: number, position: number): number;
  fstatSync(descriptor: number): FileStat;
  lstatSync(path: string): FileStat;
  fdatasyncSync(descriptor: number): void;
  fsyncSync(descriptor: number): void;
  ftruncateSync(descriptor: number, sizeBytes: number): void;
  fchmodSync(descriptor: number, mode: number): void;
  chmodSync(path: string, mode: number): void;
  linkSync(existingPath: string, newPath: string): void;
  renameSync(oldPath: string, newPath: string): void;
  unlinkSync(path: string): void;
  mkdirSync(path: string, options: { readonly mode: number }): void;
  rmdirSync(path: string): void;
  readdirSync(path: string, options: { readonly withFileTypes: true }): readonly FileEntry[];
}

/** What Deno says of a path. */
interface DenoFileInfo {
  readonly dev: number;
  readonly ino: number | null;
  readonly size: number;
  readonly mode: number | null;
  readonly mtime: Date | null;
  readonly ctime: Date | null;
  readonly birthtime: Date | null;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
}

const deno = (globalThis as { Deno?: { lstatSync(path: string): DenoFileInfo } }).Deno;

/**
 * The real one. Two looks at paths are on the way of every flush, and Deno's own `lstatSync` makes the same system call with a
 * quarter of the time of its `node:fs` (1.3 µs instead of 5.9 µs), which fills in all that Node's answer has.
 */
export const nodeFileSystem: FileSystem = deno === undefined || nodeFs.constants.O_NOFOLLOW === undefined
  ? nodeFs
  : { ...nodeFs, lstatSync: (path) => new DenoFileStat(deno.lstatSync(path)) };

/** A `fdatasync` on another thread, so that those of several files overlap. */
export function fdatasyncElsewhere(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    nodeFs.fdatasync(descriptor, (error) => error ? reject(error) : resolve());
  });
}

/** Deno's answer in the words of Node's. */
class DenoFileStat implements FileStat {
  readonly #info: DenoFileInfo;

  constructor(info: DenoFileInfo) {
    this.#info = info;
  }

  get dev(): number {
    return this.#info.dev;
  }

  get ino(): number {
    return this.#info.ino ?? 0;
  }

  get size(): number {
    return this.#info.size;
  }

  get mode(): number {
    return this.#info.mode ?? 0;
  }

  get mtimeMs(): number {
    return this.#info.mtime?.getTime() ?? 0;
  }

  get ctimeMs(): number {
    return this.#info.ctime?.getTime() ?? 0;
  }

  get birthtimeMs(): number {
    return this.#info.birthtime?.getTime() ?? 0;
  }

  isFile(): boolean {
    return this.#info.isFile;
  }

  isDirectory(): boolean {
    return this.#info.isDirectory;
  }
}

/** Open flags. Windows has neither `O_NOFOLLOW` nor `O_NONBLOCK`; nothing is written there. */
export const FLAGS: {
  /** Read, never through a symbolic link; a pipe that was put in our way does not block us. */
  readonly read: number;
  /** Append to what is there. */
  readonly append: number;
  /** Create what is not there, and append. */
  readonly createAppend: number;
  /** Create what is not there, and write anywhere. */
  readonly createWrite: number;
} = (() => {
  const { O_RDONLY, O_RDWR, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = nodeFs.constants;
  const safe = O_NOFOLLOW | O_NONBLOCK;
  return {
    read: O_RDONLY | safe,
    append: O_WRONLY | O_APPEND | safe,
    createAppend: O_RDWR | O_APPEND | O_CREAT | O_EXCL | safe,
    createWrite: O_WRONLY | O_CREAT | O_EXCL | safe,
  };
})();

/** Mode of every folder we make: nobody else may look in. */
export const FOLDER_MODE = 0o700;
/** Mode of every file we make. */
export const FILE_MODE = 0o600;

/** Which file it is, whatever its name: device and inode. */
export function identityOf(stat: { readonly dev: number; readonly ino: number | null }): string {
  return `${stat.dev}:${stat.ino}`;
}
