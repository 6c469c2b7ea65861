/**
 * The storage port over files, for Deno and Node.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { NotFoundError } from "../../errors.ts";
import { checkCovered, folderParts, nameParts } from "../../storage/names.ts";
import type {
  ByteRange,
  StagedFile,
  StorageEntry,
  StorageFile,
  StorageLock,
  StoragePort,
  StorageStat,
  StorageTraits,
} from "../../storage/storage_port.ts";
import { isUnfinishedClaim } from "./claim.ts";
import { attempt, codeOf, isMissing, refusal } from "./errno.ts";
import {
  fdatasyncElsewhere,
  type FileEntry,
  type FileStat,
  type FileSystem,
  FLAGS,
  identityOf,
  nodeFileSystem,
} from "./file_system.ts";
import type { KernelLock } from "./guard.ts";
import { HeldLock, takeLock } from "./held_lock.ts";
import { systemKernelLock } from "./kernel_lock.ts";
import { openForAppending } from "./open_file.ts";
import { readRange } from "./read_range.ts";
import { removeFile, removeFolder } from "./remove.ts";
import { FileResources } from "./resources.ts";
import { FileStage } from "./staged_file.ts";
import { parseStagingName } from "./staging_names.ts";
import { sweepOrphans } from "./sweep.ts";
import { Tree } from "./tree.ts";

/** Where to keep files. */
export interface FileStorageOptions {
  /** A folder; made at the first lock. A relative path is taken from the current folder, now and not later. */
  readonly root: string;
  /** The calls to the operating system, for tests that make them fail. */
  readonly fs?: FileSystem;
  /** A `fdatasync` on another thread, for tests. With an `fs` of its own and without this, every sync blocks. */
  readonly fdatasync?: (descriptor: number) => Promise<void>;
  /** The kernel's lock, for tests. */
  readonly kernelLock?: KernelLock;
}

/**
 * Opens a folder as a storage. Creates nothing, not even the folder.
 *
 * Folders are made with mode 0700 and files with 0600, whatever the umask. A symbolic link anywhere below the root is refused.
 * On Windows only reading works.
 *
 * @throws {StorageLostError} when the root is there and is not a folder that can be read
 * @see flock(2) for the lock, which is the one DeepSeek Harness takes
 *
 * @example
 * ```ts
 * import { publish } from "../../storage/storage_port.ts";
 * import { openFileStorage } from "./file_storage.ts";
 *
 * const root = await Deno.makeTempDir();
 * await using storage = openFileStorage({ root });
 * const lock = await storage.lock("a/session.lock");
 * await publish(storage, "a/log", new TextEncoder().encode("one"), lock);
 * if ((await storage.stat("a/log"))?.sizeBytes !== 3) throw new Error("unreachable");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export function openFileStorage(options: FileStorageOptions): StoragePort {
  const root = resolve(options.root);
  const fs = options.fs ?? nodeFileSystem;
  try {
    fs.readdirSync(root, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw refusal(error, `use "${root}" as root`);
  }
  const syncElsewhere = options.fdatasync ?? (options.fs === undefined ? fdatasyncElsewhere : null);
  const kernel = options.kernelLock ?? systemKernelLock();
  return new FileStorage(new FileResources(new Tree(root, fs), kernel, syncElsewhere));
}

class FileStorage implements StoragePort {
  readonly #resources: FileResources;
  readonly #tree: Tree;
  readonly #fs: FileSystem;

  constructor(resources: FileResources) {
    this.#resources = resources;
    this.#tree = resources.tree;
    this.#fs = resources.fs;
  }

  get traits(): StorageTraits {
    return {
      medium: "file",
      sync: "device",
      names: "synced",
      publish: this.#resources.publishedBy,
      lockScope: "host",
      persistence: "persistent",
    };
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async list(prefix: string): Promise<readonly StorageEntry[]> {
    const what = `list "${prefix}"`;
    this.#resources.checkOpen(what);
    const folder = this.#tree.findFolder(folderParts(prefix), what);
    if (folder === null) return [];
    const found = attempt(what, () => this.#fs.readdirSync(folder, { withFileTypes: true }));
    const claimed = new Set(
      found.map((entry) => parseStagingName(entry.name)).filter((it) => it?.isClaim).map((it) => it?.finalName),
    );
    return found
      .filter((entry) => parseStagingName(entry.name) === null)
      .filter((entry) => !claimed.has(entry.name) || !this.#isUnfinished(join(folder, entry.name), what))
      .map((entry) => toEntry(prefix, entry))
      .sort((a, b) => a.name < b.name ? -1 : 1);
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async stat(name: string): Promise<StorageStat | null> {
    const what = `stat "${name}"`;
    const found = this.#find(name, what);
    if (found === null || this.#isUnfinished(found.path, what)) return null;
    const { size, mtimeMs, ctimeMs } = found.stat;
    return { sizeBytes: size, revision: `${identityOf(found.stat)}:${size}:${mtimeMs}:${ctimeMs}` };
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async read(name: string, range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    const what = `read "${name}"`;
    const found = this.#find(name, what);
    const descriptor = found && this.#openFound(found.path, what);
    if (!found || descriptor === null) throw new NotFoundError(`Cannot ${what}: there is no such file`);
    try {
      if (isUnfinishedClaim(this.#fs, found.path, descriptor, what)) {
        throw new NotFoundError(`Cannot ${what}: it is not published yet`);
      }
      return readRange(this.#fs, descriptor, range, what);
    } finally {
      this.#fs.closeSync(descriptor);
    }
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async lock(name: string): Promise<StorageLock> {
    const what = `lock "${name}"`;
    this.#resources.checkOpen(what);
    return takeLock(this.#resources, name, what);
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async isLocked(name: string): Promise<boolean> {
    const what = `look at the lock "${name}"`;
    const found = this.#find(name, what);
    if (found === null) return false;
    try {
      return this.#resources.kernel.probe(found.path);
    } catch (error) {
      if (isMissing(error)) return false;
      throw refusal(error, what);
    }
  }

  async stage(name: string, lock: StorageLock): Promise<StagedFile> {
    const what = `stage "${name}"`;
    const parts = nameParts(name);
    const held = this.#checkLock(lock, name, what);
    const folder = parts.slice(0, -1);
    const folderPath = this.#tree.makeFolder(folder, what);
    if (!held.sweptFolders.has(folderPath)) {
      sweepOrphans(this.#resources, folderPath, what);
      held.sweptFolders.add(folderPath);
    }
    return await FileStage.create({ name, path: this.#tree.pathOf(parts), folder }, this.#resources, held);
  }

  async open(name: string, lock: StorageLock): Promise<StorageFile> {
    const what = `open "${name}"`;
    const found = this.#find(name, what);
    const held = this.#checkLock(lock, name, what);
    if (found === null || this.#isUnfinished(found.path, what)) {
      throw new NotFoundError(`Cannot ${what}: there is no such file`);
    }
    const file = await openForAppending(this.#resources, held, name, found.path, what);
    try {
      // A writer that was killed between link and sync left a name that only the cache knows.
      this.#tree.syncNames(nameParts(name).slice(0, -1), what);
    } catch (error) {
      await file.close();
      throw error;
    }
    return file;
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async remove(name: string, lock: StorageLock): Promise<void> {
    const what = `remove "${name}"`;
    const isFolder = name.endsWith("/");
    const parts = isFolder ? folderParts(name) : nameParts(name);
    this.#checkLock(lock, name, what);
    const parent = parts.slice(0, -1);
    if (this.#tree.findFolder(isFolder ? parts : parent, what) === null) return;
    const path = this.#tree.pathOf(parts);
    if (isFolder) removeFolder(this.#resources, path, this.#tree.pathOf(nameParts(lock.name)), what);
    else removeFile(this.#resources, path, what);
    this.#tree.syncNames(parent, what);
  }

  close(): Promise<void> {
    return this.#resources.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The path of a file that is there and its stat, without following a link; `null` when there is none. */
  #find(name: string, what: string): { readonly path: string; readonly stat: FileStat } | null {
    this.#resources.checkOpen(what);
    const parts = nameParts(name);
    const folder = this.#tree.findFolder(parts.slice(0, -1), what);
    if (folder === null) return null;
    const path = join(folder, parts.at(-1) ?? "");
    const stat = this.#tree.statFile(path, what);
    return stat && { path, stat };
  }

  /** Opens a file for reading; `null` when it went away since we looked. */
  #openFound(path: string, what: string): number | null {
    try {
      return this.#fs.openSync(path, FLAGS.read);
    } catch (error) {
      if (isMissing(error)) return null;
      throw refusal(error, what);
    }
  }

  #isUnfinished(path: string, what: string): boolean {
    const descriptor = this.#openFound(path, what);
    if (descriptor === null) return true;
    try {
      return isUnfinishedClaim(this.#fs, path, descriptor, what);
    } finally {
      this.#fs.closeSync(descriptor);
    }
  }

  #checkLock(lock: StorageLock, name: string, what: string): HeldLock {
    this.#resources.checkOpen(what);
    checkCovered(lock.name, name);
    if (!(lock instanceof HeldLock)) {
      throw new TypeError(`Cannot ${what}: the lock "${lock.name}" is of another storage`);
    }
    lock.checkHeld(this.#resources, what);
    return lock;
  }
}

/** A name that no verb would take is listed all the same: somebody should see that it is there. */
function toEntry(prefix: string, entry: FileEntry): StorageEntry {
  const kind = !isName(prefix + entry.name)
    ? "other"
    : entry.isDirectory()
    ? "folder"
    : entry.isFile()
    ? "file"
    : "other";
  return { name: prefix + entry.name + (kind === "folder" ? "/" : ""), kind };
}

function isName(name: string): boolean {
  try {
    return nameParts(name).length > 0;
  } catch {
    return false;
  }
}
