/**
 * An OPFS-like medium: the origin private file system of a browser, as the OPFS adapter uses it.
 *
 * This is the contract of the medium. "Durable" is what a power cut leaves; "cache" is what every worker of the origin reads
 * meanwhile.
 *
 * **Files.**
 *
 * 1. A write and a cut through an exclusive handle are in the cache at once and wait, and a power cut leaves of what waits what
 *    it leaves on a POSIX-like medium (there, 1 and 2): the browser keeps each file as a file of the machine below it.
 * 2. When `sync()` (`flush()`) resolves, the content and the length are durable. A flush that fails has dropped what waited or
 *    kept it waiting (there, 4).
 * 3. A failed write has taken some bytes; they can be cut off again. A count that is not the wanted one is a failure, and no
 *    hint how many bytes are there: browsers return wrapped and short numbers.
 *
 * **Names.**
 *
 * 4. A name that comes or goes is in the cache at once and waits, and *no call makes it durable*: only time does
 *    (`writeBack()`). Until then a power cut leaves it or not, by itself: a file that was flushed a hundred times may be gone,
 *    and a removed one back. A folder that is lost takes everything below it along.
 * 5. There is no publishing without overwriting but this: a name is claimed by an exclusive handle on it, and the content
 *    counts once its first byte is not 0. That byte is written last, after a flush of all the others, and is flushed itself.
 *    A file of no bytes, or whose first byte is 0, is as good as absent to everybody; the next claim starts it over.
 * 6. A stage is a file of its own under a name nobody looks at, and is copied into the claim. A crash leaves nothing of it that
 *    a reader or writer could meet.
 *
 * **Workers.**
 *
 * 7. A Web Lock excludes by its name, an exclusive handle by the file: at most one of each in an origin. Both end with their
 *    worker. The browser may take a moment to notice: until then a lock is refused, and a handle is tried
 *    {@linkcode HANDLE_TRIES} times before it counts as held. A restarted browser has neither.
 * 8. A worker that is terminated leaves the cache as it is, as does a browser that is killed.
 * 9. Clearing the site's data removes a file under its handle: writing and flushing still succeed, and only a look for the name
 *    tells. That look is part of `sync()`.
 * 10. Nobody else can write: there are no strangers in an origin.
 *
 * Left out: a browser that makes names durable (Firefox does) is a case of 4 in which none is lost; `move()`, because it
 * overwrites and is not used; parking of handles that were not used for long, which only makes bytes durable earlier.
 *
 * @see https://fs.spec.whatwg.org/#api-filesystemsyncaccesshandle-flush for what `flush()` says, which is all the specification says
 *   about durability
 * @see Chromium: a flush is one fdatasync of the file, and creating or removing appends to a LevelDB log that nothing syncs
 *   (seen with strace, version 156)
 * @module
 */

import {
  folderParts,
  LockHeldError,
  nameParts,
  NotFoundError,
  type StagedFile,
  type StorageFile,
  type StorageLock,
  StorageLostError,
  type StorageTraits,
} from "../../../mod.ts";
import type { Content } from "./content.ts";
import { makeFolder } from "./make_folder.ts";
import { FileNode, type FolderNode } from "./nodes.ts";
import { isWhole, OpfsFile, OpfsLock, writeAll } from "./opfs_file.ts";
import { openHandle } from "./opfs_handle.ts";
import { OpfsStage } from "./opfs_stage.ts";
import { SimulatedStorage } from "./simulated_storage.ts";
import { answer, filesBelow, findFile, findFolder } from "./tree.ts";

const TRAITS: StorageTraits = {
  medium: "simulated-opfs",
  sync: "device",
  names: "deferred",
  publish: "claim",
  lockScope: "origin",
  persistence: "best-effort",
};

/** An empty file would count as a name that is claimed and not published. */
const LOCK_FILE_BYTES: Uint8Array = new TextEncoder().encode("{}\n");

/** A worker on an OPFS-like medium. */
export class OpfsStorage extends SimulatedStorage {
  readonly traits = TRAITS;
  /** Files this worker has open. */
  readonly opened: Map<FileNode, OpfsFile> = new Map();

  isPublished(content: Content): boolean {
    return isWhole(content);
  }

  isLocked(name: string): Promise<boolean> {
    return answer(() => {
      this.disk.checkReadable(this.process, `look at the lock "${name}"`);
      nameParts(name);
      const holder = this.disk.webLocks.get(name);
      return holder !== undefined && (holder.process !== null || holder.triesLeft > 0);
    });
  }

  lock(name: string): Promise<StorageLock> {
    return answer(() => {
      const what = `lock "${name}"`;
      this.disk.checkReadable(this.process, what);
      const parts = nameParts(name);
      const holder = this.disk.holdWebLock(this.process, name);
      if (holder === null) throw new LockHeldError(`Cannot ${what}: another holder is alive`);
      try {
        this.#makeLockFile(name, parts, what);
      } catch (error) {
        this.disk.freeWebLock(this.process, name, holder);
        throw error;
      }
      return new OpfsLock(name, this, holder);
    });
  }

  stage(name: string, lock: StorageLock): Promise<StagedFile> {
    return answer(() => {
      const what = `stage "${name}"`;
      const parts = nameParts(name);
      const held = this.#checkOpfsLock(lock, name, what);
      held.checkThere(what);
      makeFolder(this, parts.slice(0, -1), what);
      this.disk.run(this.process, "create", name, what, () => {});
      return new OpfsStage(name, this, held, new FileNode(this.disk.nextId()), this.opened);
    });
  }

  open(name: string, lock: StorageLock): Promise<StorageFile> {
    return answer(() => {
      const what = `open "${name}"`;
      const parts = nameParts(name);
      const held = this.#checkOpfsLock(lock, name, what);
      const { file } = findFile(this.disk.root, parts, what);
      if (file !== null && this.opened.has(file)) throw new LockHeldError(`Cannot ${what}: this storage has it open`);
      if (file !== null) {
        const holder = openHandle(this, name, file, what);
        if (this.isPublished(file.written)) return new OpfsFile(name, this, held, file, holder, this.opened);
        this.disk.free(this.process, file, holder);
      }
      held.checkThere(what);
      if (!held.seen.has(name)) throw new NotFoundError(`Cannot ${what}: there is no such file`);
      throw new StorageLostError(
        `Cannot ${what}: it was there under this lock and is gone, as when the site's data is cleared`,
      );
    });
  }

  remove(name: string, lock: StorageLock): Promise<void> {
    return answer(() => {
      const what = `remove "${name}"`;
      const isFolder = name.endsWith("/");
      const parts = isFolder ? folderParts(name) : nameParts(name);
      const held = this.#checkOpfsLock(lock, name, what);
      const parent = findFolder(this.disk.root, parts.slice(0, -1), what);
      const node = isFolder ? findFolder(this.disk.root, parts, what) : findFile(this.disk.root, parts, what).file;
      if (parent === null || node === null) return;
      const files = node.kind === "folder" ? [...filesBelow(node)].map(([, file]) => file) : [node];
      for (const file of files) this.opened.get(file)?.removed();
      for (const { holder } of files) {
        if (holder !== null && holder.process !== this.process && holder.process !== null) {
          throw new LockHeldError(`Cannot ${what}: a live writer holds it`);
        }
      }
      this.disk.run(this.process, "unlink", name, what, () => {
        if (node.kind === "folder") removeAllIn(node);
        parent.remove(parts.at(-1)!);
      });
      for (const seen of [...held.seen]) {
        if (seen === name || (isFolder && seen.startsWith(name))) held.seen.delete(seen);
      }
      if (lock.name === name || (isFolder && lock.name.startsWith(name))) held.isRemoved = true;
    });
  }

  #makeLockFile(name: string, parts: readonly string[], what: string): void {
    const folder = makeFolder(this, parts.slice(0, -1), what);
    let { file } = findFile(this.disk.root, parts, what);
    if (file === null) {
      const created = file = new FileNode(this.disk.nextId());
      this.disk.run(this.process, "create", name, what, () => folder.set(parts.at(-1)!, created));
    }
    if (file.written.sizeBytes > 0) return;
    const holder = openHandle(this, name, file, what);
    try {
      writeAll(this, this.targetOf(name, file), 0, LOCK_FILE_BYTES, what);
    } finally {
      this.disk.free(this.process, file, holder);
    }
  }

  #checkOpfsLock(lock: StorageLock, name: string, what: string): OpfsLock {
    const held = this.checkLock(lock, name, what);
    if (held instanceof OpfsLock) return held;
    throw new TypeError(`Cannot ${what}: the lock "${lock.name}" is of another medium`);
  }
}

function removeAllIn(folder: FolderNode): void {
  for (const [name, node] of folder.written) {
    if (node.kind === "folder") removeAllIn(node);
    folder.remove(name);
  }
}
