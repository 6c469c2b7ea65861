/**
 * What the ports of both media have in common: looking, reading, and the checks before a write.
 *
 * @module
 */

import {
  type ByteRange,
  checkCovered,
  folderParts,
  LockLostError,
  nameParts,
  NotFoundError,
  type StagedFile,
  type StorageEntry,
  type StorageFile,
  type StorageLock,
  type StoragePort,
  type StorageStat,
  type StorageTraits,
} from "../../../mod.ts";
import type { Content } from "./content.ts";
import type { SimulatedDisk, SimulatedProcess, Target } from "./disk.ts";
import type { FileNode } from "./nodes.ts";
import { answer, findFile, findFolder, lookUp } from "./tree.ts";

/** A process of a simulated machine, as a storage port. Each call runs in one go: processes take turns between calls. */
export abstract class SimulatedStorage implements StoragePort {
  abstract readonly traits: StorageTraits;
  readonly disk: SimulatedDisk;
  readonly process: SimulatedProcess;

  /** A port of this process. */
  constructor(disk: SimulatedDisk, process: SimulatedProcess) {
    this.disk = disk;
    this.process = process;
  }

  abstract isLocked(name: string): Promise<boolean>;
  abstract lock(name: string): Promise<StorageLock>;
  abstract stage(name: string, lock: StorageLock): Promise<StagedFile>;
  abstract open(name: string, lock: StorageLock): Promise<StorageFile>;
  abstract remove(name: string, lock: StorageLock): Promise<void>;
  /** Whether a file with this content counts as being there. */
  abstract isPublished(content: Content): boolean;

  list(prefix: string): Promise<readonly StorageEntry[]> {
    return answer(() => {
      const what = `list "${prefix}"`;
      this.disk.checkReadable(this.process, what);
      const folder = findFolder(this.disk.root, folderParts(prefix), what);
      const entries: StorageEntry[] = [];
      for (const [name, node] of folder?.written ?? []) {
        if (node.kind === "folder") entries.push({ name: `${prefix}${name}/`, kind: "folder" });
        else if (this.isPublished(node.written)) entries.push({ name: prefix + name, kind: "file" });
      }
      return entries.sort((a, b) => a.name < b.name ? -1 : 1);
    });
  }

  stat(name: string): Promise<StorageStat | null> {
    return answer(() => {
      const file = this.find(name, `stat "${name}"`);
      return file && { sizeBytes: file.written.sizeBytes, revision: `${file.id}:${file.writes}` };
    });
  }

  read(name: string, range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    return answer(() => {
      const file = this.find(name, `read "${name}"`);
      if (file === null) throw new NotFoundError(`Cannot read "${name}": there is no such file`);
      return file.written.slice(range.startBytes, range.endBytes);
    });
  }

  close(): Promise<void> {
    this.disk.end(this.process, "closed");
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The published file of a name, `null` when there is none. */
  find(name: string, what: string): FileNode | null {
    this.disk.checkReadable(this.process, what);
    const { file } = findFile(this.disk.root, nameParts(name), what);
    return file !== null && this.isPublished(file.written) ? file : null;
  }

  /** Checks a lock that a writing call was given. */
  checkLock(lock: StorageLock, name: string, what: string): SimulatedLock {
    this.disk.checkAlive(this.process, what);
    checkCovered(lock.name, name);
    if (!(lock instanceof SimulatedLock)) {
      throw new TypeError(`Cannot ${what}: the lock "${lock.name}" is of another storage`);
    }
    lock.checkHeld(this, what);
    return lock;
  }

  /** The file as something that operations are done to. */
  targetOf(name: string, file: FileNode): Target {
    const vanish = () => {
      const parts = nameParts(name);
      const folder = findFolder(this.disk.root, parts.slice(0, -1), `remove "${name}"`);
      if (folder?.written.get(parts.at(-1)!) === file) folder.erase(parts.at(-1)!);
    };
    return { file, name, vanish };
  }

  /** Whether a name leads to this file now. */
  leadsTo(name: string, file: FileNode): boolean {
    return lookUp(this.disk.root, name) === file;
  }
}

/** A held lock; what makes it intact is the medium's matter. */
export abstract class SimulatedLock implements StorageLock {
  readonly name: string;
  readonly storage: SimulatedStorage;
  protected isReleased = false;

  /** A lock of this storage. */
  constructor(name: string, storage: SimulatedStorage) {
    this.name = name;
    this.storage = storage;
  }

  abstract isHeld(): Promise<boolean>;
  abstract release(): Promise<void>;
  /** Whether the lock is still ours, as far as a writer looks. */
  protected abstract get isIntact(): boolean;

  /** Throws unless the lock is this storage's and still ours. `what` completes "Cannot …". */
  checkHeld(storage: SimulatedStorage, what: string): void {
    if (storage !== this.storage) {
      throw new TypeError(`Cannot ${what}: the lock "${this.name}" is of another storage`);
    }
    if (this.isIntact) return;
    throw new LockLostError(`Cannot ${what}: the lock "${this.name}" is not ours any more`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
