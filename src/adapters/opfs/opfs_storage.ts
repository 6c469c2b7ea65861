/**
 * The storage port over the origin private file system of a browser, inside a dedicated worker.
 *
 * @module
 */

import { LockHeldError, NotFoundError, StorageLostError } from "../../errors.ts";
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
import { HeldLock, takeLock } from "./held_lock.ts";
import { OpenFile, openForAppending } from "./open_file.ts";
import { type FileHandle, type FolderHandle, type OpfsPlatform, workerPlatform } from "./platform.ts";
import { findFoundation, type ProbeScope } from "./probe.ts";
import { isMissing } from "./refusal.ts";
import { removeFile, removeFolder } from "./remove.ts";
import { OpfsResources } from "./resources.ts";
import { OpfsStage } from "./staged_file.ts";
import { isStageName, partOf } from "./stored_names.ts";
import { sweepOnce } from "./sweep.ts";
import { isWebLockHeld } from "./web_lock.ts";

/** The folder below the origin's root that is used unless another one is asked for. */
export const DEFAULT_ROOT = "holdfast";

/** Where to keep files. */
export interface OpfsStorageOptions {
  /** A folder below the origin's root; made at the first lock. Default {@linkcode DEFAULT_ROOT}. */
  readonly root?: string;
  /** The browser, for tests that make it fail. Default: the worker we run in. */
  readonly platform?: OpfsPlatform;
}

/**
 * Opens a folder of the origin private file system as a storage. Creates nothing, not even the folder.
 *
 * Works in a dedicated worker only. Names are stored in a spelling that means the same in every browser. At most
 * `SYNC_HANDLES_MAX` files have a handle open at once; more may be written, and reading takes none.
 *
 * @throws {StorageLostError} when this is no dedicated worker, or the browser refuses; the message says which
 * @see probeOpfs, which says the same without throwing
 *
 * @example
 * ```ts
 * import { publish } from "../../storage/storage_port.ts";
 * import { openOpfsStorage } from "./opfs_storage.ts";
 *
 * async function inWorker() {
 *   await using storage = await openOpfsStorage({ root: "notes" });
 *   const lock = await storage.lock("a/session.lock");
 *   await publish(storage, "a/log", new TextEncoder().encode("one"), lock);
 * }
 * if (typeof inWorker !== "function") throw new Error("unreachable");
 * ```
 */
export async function openOpfsStorage(options: OpfsStorageOptions = {}): Promise<StoragePort> {
  const root = nameParts(options.root ?? DEFAULT_ROOT);
  // Our types know the names of Deno and a page, not those of a worker; the probe asks for each before it is used.
  const platform = options.platform ?? await findPlatform(globalThis as unknown as ProbeScope);
  const storage = new OpfsStorage(new OpfsResources(platform, root));
  await storage.askWhetherPersisted();
  return storage;
}

async function findPlatform(scope: ProbeScope): Promise<OpfsPlatform> {
  const found = await findFoundation(scope);
  if ("reason" in found) {
    throw new StorageLostError(`Cannot open the origin private file system: ${found.message}`, { cause: found });
  }
  return workerPlatform(found.origin, found.storage, found.locks);
}

class OpfsStorage implements StoragePort {
  readonly #resources: OpfsResources;
  #isPersisted = false;

  constructor(resources: OpfsResources) {
    this.#resources = resources;
  }

  get traits(): StorageTraits {
    return {
      medium: "opfs",
      sync: "device",
      // Chromium flushes a file, and nothing flushes its name. Firefox does both, and cannot be told apart for certain.
      names: "deferred",
      publish: "claim",
      lockScope: "origin",
      persistence: this.#isPersisted ? "persistent" : "best-effort",
    };
  }

  /** The answer may change when the person is asked, so it is asked for at each lock. */
  async askWhetherPersisted(): Promise<void> {
    this.#isPersisted = await this.#resources.platform.persisted().catch(() => false);
  }

  async list(prefix: string): Promise<readonly StorageEntry[]> {
    const what = `list "${prefix}"`;
    this.#resources.checkOpen(what);
    const parts = folderParts(prefix);
    const found = await this.#resources.tree.attempt(what, async () => {
      const folder = await this.#resources.tree.findFolder(parts, what);
      return folder === null ? [] : await Array.fromAsync(folder.entries());
    });
    const entries = await Promise.all(
      (found ?? []).map(([stored, handle]) => this.#entryOf(prefix, stored, handle, what)),
    );
    return entries.filter((entry) => entry !== null).sort((a, b) => a.name < b.name ? -1 : 1);
  }

  async stat(name: string): Promise<StorageStat | null> {
    const what = `stat "${name}"`;
    this.#resources.checkOpen(what);
    const found = await this.#resources.reader.look(nameParts(name), what);
    return found && { sizeBytes: found.sizeBytes, revision: `${found.sizeBytes}:${found.lastModified}` };
  }

  async read(name: string, range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    const what = `read "${name}"`;
    this.#resources.checkOpen(what);
    const parts = nameParts(name);
    const own = this.#resources.occupied.get(name);
    const bytes = own instanceof OpenFile ? own.readOwn(range) : null;
    if (bytes !== null) return bytes;
    const found = await this.#resources.reader.read(parts, range, what);
    if (found === null) throw new NotFoundError(`Cannot ${what}: there is no such file`);
    return found;
  }

  async lock(name: string): Promise<StorageLock> {
    const what = `lock "${name}"`;
    this.#resources.checkOpen(what);
    const asking = this.askWhetherPersisted();
    const lock = await takeLock(this.#resources, name, what);
    await asking;
    return lock;
  }

  async isLocked(name: string): Promise<boolean> {
    const what = `look at the lock "${name}"`;
    this.#resources.checkOpen(what);
    nameParts(name);
    try {
      return await isWebLockHeld(this.#resources.platform.locks, this.#resources.lockPrefix + name);
    } catch (error) {
      throw await this.#resources.refusal(error, what);
    }
  }

  async stage(name: string, lock: StorageLock): Promise<StagedFile> {
    const what = `stage "${name}"`;
    const parts = nameParts(name);
    const held = this.#checkLock(lock, name, what);
    await held.checkThere(this.#resources, what);
    return await OpfsStage.create(name, parts, this.#resources, held);
  }

  async open(name: string, lock: StorageLock): Promise<StorageFile> {
    const what = `open "${name}"`;
    const parts = nameParts(name);
    const held = this.#checkLock(lock, name, what);
    if (this.#resources.occupied.has(name)) throw new LockHeldError(`Cannot ${what}: this storage has it open`);
    const found = await this.#resources.tree.findFile(parts, what);
    try {
      if (found !== null) {
        await sweepOnce(this.#resources, held, parts.slice(0, -1), found.folder);
        return await openForAppending(this.#resources, held, name, found.file, what);
      }
    } catch (error) {
      if (!isMissing(error)) throw await this.#resources.refusal(error, what);
    }
    await held.checkThere(this.#resources, what);
    if (!held.seen.has(name)) throw new NotFoundError(`Cannot ${what}: there is no such file`);
    throw new StorageLostError(
      `Cannot ${what}: it was there under this lock and is gone, as when the site's data is cleared`,
    );
  }

  async remove(name: string, lock: StorageLock): Promise<void> {
    const what = `remove "${name}"`;
    const isFolder = name.endsWith("/");
    const parts = isFolder ? folderParts(name) : nameParts(name);
    const held = this.#checkLock(lock, name, what);
    if (isFolder) await removeFolder(this.#resources, held, name, parts, what);
    else await removeFile(this.#resources, held, name, parts, what);
  }

  close(): Promise<void> {
    return this.#resources.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What is shown of an entry; `null` for what is not published. */
  async #entryOf(
    prefix: string,
    stored: string,
    handle: FileHandle | FolderHandle,
    what: string,
  ): Promise<StorageEntry | null> {
    if (isStageName(stored)) return null;
    const part = partOf(stored);
    // A name that none of ours is stored under is listed all the same: somebody should see that it is there.
    if (part === null) return { name: prefix + stored, kind: "other" };
    const name = prefix + part;
    if (handle.kind === "directory") return { name: `${name}/`, kind: "folder" };
    const isShown = this.#resources.occupied.get(name) instanceof OpenFile ||
      await this.#resources.reader.isPublished(handle, what);
    return isShown ? { name, kind: "file" } : null;
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
