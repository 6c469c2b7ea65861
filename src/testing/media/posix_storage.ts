/**
 * A POSIX-like medium: files of a journaling file system on a device with a write cache, as the file adapter uses them.
 *
 * This is the contract of the medium. "Durable" is what a power cut leaves; "cache" is what every process reads meanwhile.
 *
 * **Files.**
 *
 * 1. A write and a cut are in the cache at once and wait. A power cut leaves of what waits: either a part of it *in order*
 *    (every earlier change whole, of one write its first bytes, byte by byte), or *by block*: the file's length is one that it
 *    had since its last sync, or a block's edge that a write passed, and each block below that length holds any one of the
 *    contents it had since then. A block that had none reads as zeros: the length can be there before the data.
 * 2. A block (512 bytes, a sector) is written whole or not at all. So bytes that were durable are never lost by a write behind
 *    them, in the same block or not.
 * 3. When `sync()` (fdatasync) resolves, the content and the length the file then has are durable. Its name is not.
 * 4. A sync that fails has dropped what waited, or has kept it waiting: nobody can tell. Dropped bytes go on being read, may or
 *    may not be durable block by block, and no later sync writes them, unless something in the same block is written again;
 *    a block is written whole.
 * 5. A failed write has taken some bytes, and says how many or what was wrong; they can be cut off again.
 *
 * **Names.**
 *
 * 6. A name that comes or goes is in the cache at once and waits, by itself: before or after the data it leads to, before or
 *    after any other name. A sync of its folder makes it durable, and every other name that waits in that folder. The folder's
 *    own name waits in the folder above.
 * 7. `link` gives a name that is free and never takes one that is not. A name leads to a whole file: what it holds is the
 *    matter of 1 to 4.
 * 8. What is published was synced, then linked; its folder is synced, and those above unless this process did it before.
 *    `open()` syncs them again, because whoever published may have been killed before. A lock file's name is not synced.
 * 9. A stage has no name anybody looks at: a crash leaves nothing of it that a reader or writer could meet.
 *
 * **Processes.**
 *
 * 10. A lock (flock) is on the file behind the name and ends with its process. Another process may still be refused a few
 *     times after that, as when a child of the dead one has the descriptor. A power cut leaves no lock.
 * 11. A killed process leaves the cache as it is: what it wrote is read by the next one, and waits as before.
 * 12. A stranger may remove or replace any name at any time: whoever writes looks at its lock's name, its file's name and
 *     its file's length first. Between the look and the write there is no promise.
 *
 * Left out, and why: reordering inside a block (2 says why), bytes of deleted files of others in a new block (file systems
 * clear blocks before a file gets them), a name that leads to another file than ever before, and a device that acknowledges a
 * flush it did not make: there is no protocol against those.
 *
 * @see POSIX.1-2017 fsync(), fdatasync(), link(): nothing is promised before a sync, and a sync of a file is not one of its name
 * @see fsync(2): "does not necessarily ensure that the entry in the directory containing the file has also reached disk"
 * @see Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014: appends of which the length is there before the data,
 *   and directory operations out of order, on ext3, ext4, btrfs and xfs
 * @see Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020: pages are marked clean after a failure
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
  type StorageTraits,
} from "../../../mod.ts";
import type { Content } from "./content.ts";
import { makeFolder } from "./make_folder.ts";
import { FileNode, type FolderNode } from "./nodes.ts";
import { PosixFile, PosixLock } from "./posix_file.ts";
import { syncNames } from "./posix_names.ts";
import { PosixStage } from "./posix_stage.ts";
import { SimulatedStorage } from "./simulated_storage.ts";
import { answer, filesBelow, findFile, findFolder } from "./tree.ts";

const TRAITS: StorageTraits = {
  medium: "simulated-posix",
  sync: "device",
  names: "synced",
  publish: "link",
  lockScope: "host",
  persistence: "persistent",
};

/** A process on a POSIX-like medium. */
export class PosixStorage extends SimulatedStorage {
  readonly traits = TRAITS;

  isPublished(_content: Content): boolean {
    return true;
  }

  isLocked(name: string): Promise<boolean> {
    return answer(() => {
      const file = this.find(name, `look at the lock "${name}"`);
      const holder = file?.holder ?? null;
      return holder !== null && (holder.process !== null || holder.triesLeft > 0);
    });
  }

  lock(name: string): Promise<StorageLock> {
    return answer(() => {
      const what = `lock "${name}"`;
      const parts = nameParts(name);
      let file = this.find(name, what);
      if (file === null) {
        const folder = makeFolder(this, parts.slice(0, -1), what);
        const created = file = new FileNode(this.disk.nextId());
        this.disk.run(this.process, "create", name, what, () => folder.set(parts.at(-1)!, created));
      }
      const holder = this.disk.hold(this.process, file);
      if (holder === null) throw new LockHeldError(`Cannot ${what}: another holder is alive`);
      return new PosixLock(name, this, file, holder);
    });
  }

  stage(name: string, lock: StorageLock): Promise<StagedFile> {
    return answer(() => {
      const what = `stage "${name}"`;
      const parts = nameParts(name);
      const held = this.checkLock(lock, name, what);
      makeFolder(this, parts.slice(0, -1), what);
      const file = new FileNode(this.disk.nextId());
      this.disk.run(this.process, "create", name, what, () => {});
      return new PosixStage(name, this, held, file, this.disk.hold(this.process, file)!);
    });
  }

  open(name: string, lock: StorageLock): Promise<StorageFile> {
    return answer(() => {
      const what = `open "${name}"`;
      const file = this.find(name, what);
      const held = this.checkLock(lock, name, what);
      if (file === null) throw new NotFoundError(`Cannot ${what}: there is no such file`);
      const holder = this.disk.hold(this.process, file);
      if (holder === null) throw new LockHeldError(`Cannot ${what}: a live writer holds the file`);
      try {
        syncNames(this, nameParts(name).slice(0, -1), what);
      } catch (error) {
        this.disk.free(this.process, file, holder);
        throw error;
      }
      return new PosixFile(name, this, held, file, holder);
    });
  }

  remove(name: string, lock: StorageLock): Promise<void> {
    return answer(() => {
      const what = `remove "${name}"`;
      const isFolder = name.endsWith("/");
      const parts = isFolder ? folderParts(name) : nameParts(name);
      this.checkLock(lock, name, what);
      const parent = findFolder(this.disk.root, parts.slice(0, -1), what);
      if (isFolder) {
        const folder = findFolder(this.disk.root, parts, what);
        if (folder === null) return;
        this.#removeFolder(name, folder, lock.name, what);
        this.disk.run(this.process, "unlink", name, what, () => parent!.remove(parts.at(-1)!));
      } else {
        const { file } = findFile(this.disk.root, parts, what);
        if (parent === null) return;
        if (file !== null) {
          this.#checkUnheld(name, file, what);
          this.disk.run(this.process, "unlink", name, what, () => parent.remove(parts.at(-1)!));
        }
      }
      syncNames(this, parts.slice(0, -1), what);
    });
  }

  /** What is in a folder, the lock file last: until then nobody else starts to write in it. */
  #removeFolder(name: string, folder: FolderNode, lockName: string, what: string): void {
    const files = [...filesBelow(folder, name)];
    for (const [each, file] of files) this.#checkUnheld(each, file, what);
    const removeIn = (inner: FolderNode, path: string) => {
      for (const [part, node] of inner.written) {
        if (path + part === lockName) continue;
        if (node.kind === "folder") removeIn(node, `${path}${part}/`);
        const each = path + part + (node.kind === "folder" ? "/" : "");
        this.disk.run(this.process, "unlink", each, what, () => inner.remove(part));
      }
    };
    removeIn(folder, name);
    const part = lockName.slice(name.length);
    if (lockName.startsWith(name) && folder.written.has(part)) {
      this.disk.run(this.process, "unlink", lockName, what, () => folder.remove(part));
    }
  }

  #checkUnheld(name: string, { holder }: FileNode, what: string): void {
    if (holder === null || holder.process === this.process) return;
    if (holder.process === null && holder.triesLeft === 0) return;
    throw new LockHeldError(`Cannot ${what}: a live writer holds "${name}"`);
  }
}
