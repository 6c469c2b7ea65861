/**
 * Locks and open files on an OPFS-like medium.
 *
 * @see opfs_storage.ts for the contract
 * @module
 */

import { LockLostError, ShortWriteError, StorageLostError } from "../../../mod.ts";
import type { Content } from "./content.ts";
import type { Target } from "./disk.ts";
import type { FileNode, Holder } from "./nodes.ts";
import { SimulatedFile } from "./simulated_file.ts";
import { SimulatedLock, type SimulatedStorage } from "./simulated_storage.ts";
import { lookUp } from "./tree.ts";

/** Whether a file is published: it has bytes, and the first is not 0. */
export function isWhole(content: Content): boolean {
  return content.sizeBytes > 0 && content.view[0] !== 0;
}

/** A held lock: a Web Lock, and a file under its name so that it can be seen. */
export class OpfsLock extends SimulatedLock {
  /** Files that were there under this lock and were not removed: nobody else may remove them. */
  readonly seen: Set<string> = new Set();
  /** Whether we removed the lock file ourselves. */
  isRemoved = false;
  readonly #holder: Holder;

  constructor(name: string, storage: SimulatedStorage, holder: Holder) {
    super(name, storage);
    this.#holder = holder;
  }

  isHeld(): Promise<boolean> {
    return Promise.resolve(this.isIntact && this.#isThere);
  }

  release(): Promise<void> {
    this.isReleased = true;
    this.storage.disk.freeWebLock(this.storage.process, this.name, this.#holder);
    return Promise.resolve();
  }

  /** Throws when the lock's file is gone although nobody may remove it. */
  checkThere(what: string): void {
    if (this.#isThere) return;
    throw new StorageLostError(
      `Cannot ${what}: the file of the lock "${this.name}" was deleted under it, as when the site's data is cleared`,
    );
  }

  protected get isIntact(): boolean {
    return !this.isReleased && !this.isRemoved && this.storage.disk.webLocks.get(this.name) === this.#holder;
  }

  get #isThere(): boolean {
    return lookUp(this.storage.disk.root, this.name)?.kind === "file";
  }
}

/** An open file, whose exclusive handle is the fence. */
export class OpfsFile extends SimulatedFile {
  readonly #opened: Map<FileNode, OpfsFile>;

  /** An open file; it is in `opened` until it is closed. */
  constructor(
    name: string,
    storage: SimulatedStorage,
    lock: OpfsLock,
    file: FileNode,
    holder: Holder,
    opened: Map<FileNode, OpfsFile>,
  ) {
    super(name, storage, lock, file, holder);
    this.#opened = opened;
    this.#opened.set(file, this);
    lock.seen.add(name);
  }

  /** Its name is about to be removed, by us. */
  removed(): void {
    this.spent ??= new LockLostError(`Cannot use "${this.name}": it was removed`);
    this.releaseHandle();
  }

  protected checkOurs(what: string): void {
    this.lock.checkHeld(this.storage, what);
  }

  protected writeAll(bytes: Uint8Array, what: string): void {
    writeAll(this.storage, this.target, this.target.file.written.sizeBytes, bytes, what);
  }

  protected override afterSync(): void {
    if (lookUp(this.storage.disk.root, this.name)?.kind === "file") return;
    throw this.spent = new StorageLostError(
      `Cannot use "${this.name}": it was deleted under its handle, as when the site's data is cleared`,
    );
  }

  protected override afterClose(): void {
    this.#opened.delete(this.target.file);
  }
}

/** Writes bytes at an offset. A count that is not the wanted one is believed in nothing. */
export function writeAll(
  { disk, process }: SimulatedStorage,
  target: Target,
  offsetBytes: number,
  bytes: Uint8Array,
  what: string,
): void {
  const takenBytes = disk.write(process, target, offsetBytes, bytes, what);
  if (takenBytes === bytes.length) return;
  throw new ShortWriteError(
    `Cannot ${what}: of ${bytes.length} bytes the browser says it took ${takenBytes} (simulated)`,
  );
}
