/**
 * Locks and open files on a POSIX-like medium.
 *
 * @see posix_storage.ts for the contract
 * @module
 */

import { LockLostError, ShortWriteError } from "../../../mod.ts";
import type { Target } from "./disk.ts";
import type { FileNode, Holder } from "./nodes.ts";
import { SimulatedFile } from "./simulated_file.ts";
import { SimulatedLock, type SimulatedStorage } from "./simulated_storage.ts";

/** A held lock: flock on the file behind the name. */
export class PosixLock extends SimulatedLock {
  readonly #file: FileNode;
  readonly #holder: Holder;

  constructor(name: string, storage: SimulatedStorage, file: FileNode, holder: Holder) {
    super(name, storage);
    this.#file = file;
    this.#holder = holder;
  }

  isHeld(): Promise<boolean> {
    return Promise.resolve(this.isIntact);
  }

  release(): Promise<void> {
    this.isReleased = true;
    this.storage.disk.free(this.storage.process, this.#file, this.#holder);
    return Promise.resolve();
  }

  protected get isIntact(): boolean {
    return !this.isReleased && this.#file.holder === this.#holder && this.storage.leadsTo(this.name, this.#file);
  }
}

/** An open file, whose writer looks at two names and a length before each write. */
export class PosixFile extends SimulatedFile {
  protected checkOurs(what: string): void {
    this.lock.checkHeld(this.storage, what);
    if (this.storage.leadsTo(this.name, this.target.file)) return;
    throw new LockLostError(`Cannot ${what}: the name does not lead to the file we opened any more`);
  }

  protected writeAll(bytes: Uint8Array, what: string): void {
    writeAll(this.storage, this.target, bytes, what);
  }
}

/** Writes all the bytes behind the file's end. A short write is followed by one for the rest: that one says why. */
export function writeAll({ disk, process }: SimulatedStorage, target: Target, bytes: Uint8Array, what: string): void {
  for (let doneBytes = 0; doneBytes < bytes.length;) {
    const rest = doneBytes === 0 ? bytes : bytes.subarray(doneBytes);
    const takenBytes = disk.write(process, target, target.file.written.sizeBytes, rest, what);
    if (takenBytes === 0) throw new ShortWriteError(`Cannot ${what}: of ${rest.length} bytes the system took 0`);
    doneBytes += takenBytes;
  }
}
