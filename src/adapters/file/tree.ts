/**
 * The folders below the root: walked without following a symbolic link, made for nobody else to look into, their names synced.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { StorageLostError } from "../../errors.ts";
import { attempt, codeOf, isMissing, refusal } from "./errno.ts";
import { type FileStat, type FileSystem, FLAGS, FOLDER_MODE } from "./file_system.ts";

/** How many folders we remember as synced. At the bound all are forgotten and synced once more. */
const SYNCED_FOLDERS_MAX = 10_000;

/** The tree of folders and files that a storage keeps below its root. */
export class Tree {
  readonly root: string;
  readonly fs: FileSystem;
  /** Folders whose own name we have synced, told apart from later ones of the same name. At most SYNCED_FOLDERS_MAX. */
  readonly #syncedFolders = new Set<string>();
  #madeRoot = false;

  constructor(root: string, fs: FileSystem) {
    this.root = root;
    this.fs = fs;
  }

  /** The path of a name or of a folder. */
  pathOf(parts: readonly string[]): string {
    return join(this.root, ...parts);
  }

  /**
   * Walks down to a folder, without creating anything.
   *
   * @returns its path, or `null` when it is not there
   * @throws {StorageLostError} when a component below the root is a symbolic link or a file
   */
  findFolder(parts: readonly string[], what: string): string | null {
    let path = this.root;
    for (let depth = 0; depth <= parts.length; depth++) {
      if (depth > 0) path = join(path, parts[depth - 1] ?? "");
      const stat = depth === 0 ? this.#statRoot(what) : this.stat(path, what);
      if (stat === null) return null;
      if (!stat.isDirectory()) {
        throw new StorageLostError(`Cannot ${what}: "${path}" is ${describe(stat)}, not a folder`);
      }
    }
    return path;
  }

  /** Looks at a path itself, not at what a link leads to; `null` when there is nothing. */
  stat(path: string, what: string): FileStat | null {
    try {
      return this.fs.lstatSync(path);
    } catch (error) {
      if (isMissing(error)) return null;
      throw refusal(error, what);
    }
  }

  /** The same for a path that once led to a file of ours: it leads nowhere too when a file took the place of its folder. */
  statOurs(path: string, what: string): FileStat | null {
    try {
      return this.fs.lstatSync(path);
    } catch (error) {
      if (isMissing(error) || codeOf(error) === "ENOTDIR") return null;
      throw refusal(error, what);
    }
  }

  /** Looks at a file. `null` when there is none; anything else than a file is a `STORAGE_LOST`. */
  statFile(path: string, what: string): FileStat | null {
    const stat = this.stat(path, what);
    if (stat !== null && !stat.isFile()) {
      throw new StorageLostError(`Cannot ${what}: "${path}" is ${describe(stat)}, not a file`);
    }
    return stat;
  }

  /** Walks down to a folder, and makes what is missing on the way, whatever the umask. Their names are not synced yet. */
  makeFolder(parts: readonly string[], what: string): string {
    this.#makeRoot(what);
    let path = this.root;
    for (const part of parts) {
      path = join(path, part);
      this.#make(path, what);
    }
    const found = this.findFolder(parts, what);
    if (found === null) throw new StorageLostError(`Cannot ${what}: "${path}" went away while it was made`);
    return found;
  }

  /**
   * Syncs the names in a folder, and the names of the folders that lead to it.
   *
   * The latter only once per folder: a folder somebody else made may not have been synced by them, so who made it does not count.
   */
  syncNames(parts: readonly string[], what: string): void {
    this.#syncFolder(this.pathOf(parts), what);
    for (let depth = parts.length; depth >= 0; depth--) {
      const path = this.pathOf(parts.slice(0, depth));
      const stat = depth === 0 ? this.#statRoot(what) : this.stat(path, what);
      const identity = `${path}:${stat?.dev}:${stat?.ino}:${stat?.birthtimeMs}`;
      if (this.#syncedFolders.has(identity)) continue;
      this.#syncFolder(dirname(path), what, depth === 0 && !this.#madeRoot);
      if (this.#syncedFolders.size >= SYNCED_FOLDERS_MAX) this.#syncedFolders.clear();
      this.#syncedFolders.add(identity);
    }
  }

  /** The root itself may be reached through links, of its own too: whoever named it meant where they lead. */
  #statRoot(what: string): FileStat | null {
    const stat = this.stat(this.root, what);
    if (stat === null || stat.isDirectory() || stat.isFile()) return stat;
    return this.stat(`${this.root}/.`, what);
  }

  #makeRoot(what: string): void {
    const missing: string[] = [];
    for (let path = this.root; this.stat(`${path}/.`, what) === null; path = dirname(path)) missing.unshift(path);
    for (const path of missing) {
      this.#make(path, what);
      this.#syncFolder(dirname(path), what);
      this.#madeRoot = true;
    }
  }

  #make(path: string, what: string): void {
    try {
      this.fs.mkdirSync(path, { mode: FOLDER_MODE });
    } catch (error) {
      if (codeOf(error) === "EEXIST") return;
      throw refusal(error, what);
    }
    // The umask may have taken bits away that we need.
    const mode = (this.stat(path, what)?.mode ?? FOLDER_MODE) & 0o777;
    if (mode !== FOLDER_MODE) attempt(what, () => this.fs.chmodSync(path, FOLDER_MODE));
  }

  /** `isOptional` is for the folder that holds a root we found: we may not be allowed to read it, and it was synced long ago. */
  #syncFolder(path: string, what: string, isOptional = false): void {
    let descriptor: number;
    try {
      // The dot follows a link to the root or above it; below the root the path was walked and holds none.
      descriptor = this.fs.openSync(`${path}/.`, FLAGS.read);
    } catch (error) {
      if (isOptional) return;
      throw refusal(error, what);
    }
    try {
      attempt(what, () => this.fs.fsyncSync(descriptor));
    } finally {
      this.fs.closeSync(descriptor);
    }
  }
}

/** What stands where something else should. */
export function describe(stat: { isFile(): boolean; isDirectory(): boolean }): string {
  return stat.isDirectory() ? "a folder" : stat.isFile() ? "a file" : "a link or a device";
}
