/**
 * What open files of both media have in common: count, cut back, and be spent by a failed sync.
 *
 * @module
 */

import { LockLostError, SessionClosedError, type StorageFile, StorageLostError } from "../../../mod.ts";
import type { Target } from "./disk.ts";
import type { FileNode, Holder } from "./nodes.ts";
import type { SimulatedLock, SimulatedStorage } from "./simulated_storage.ts";
import { answer } from "./tree.ts";

/** An open file; what a writer checks is the medium's matter. */
export abstract class SimulatedFile implements StorageFile {
  readonly name: string;
  protected readonly storage: SimulatedStorage;
  protected readonly lock: SimulatedLock;
  protected readonly target: Target;
  readonly #holder: Holder;
  /** The length we left. While the file has another one, somebody else wrote, and this file writes no more. */
  #sizeBytes: number;
  /** Why every later call throws. */
  protected spent: Error | null = null;
  #isClosed = false;

  /** An open file that is held by its holder. */
  constructor(name: string, storage: SimulatedStorage, lock: SimulatedLock, file: FileNode, holder: Holder) {
    this.name = name;
    this.storage = storage;
    this.lock = lock;
    this.target = storage.targetOf(name, file);
    this.#holder = holder;
    this.#sizeBytes = file.written.sizeBytes;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Throws unless the lock and the file are ours, as far as this medium can tell. */
  protected abstract checkOurs(what: string): void;
  /** Writes all the bytes behind the file's end, or throws. */
  protected abstract writeAll(bytes: Uint8Array, what: string): void;

  append(bytes: Uint8Array): Promise<void> {
    return answer(() => {
      const what = `append to "${this.name}"`;
      this.#checkWritable(what);
      if (bytes.length === 0) return;
      try {
        this.writeAll(bytes, what);
        this.#sizeBytes += bytes.length;
      } catch (error) {
        if (!this.storage.disk.isDead && !this.#cutBack(what)) {
          const message = `Cannot use "${this.name}": a failed append could not be cut back, reopen it`;
          this.spent = new StorageLostError(message, { cause: error });
        }
        throw error;
      }
    });
  }

  sync(): Promise<void> {
    return answer(() => {
      const what = `sync "${this.name}"`;
      this.#checkUsable(what);
      try {
        this.storage.disk.sync(this.storage.process, this.target, what);
      } catch (error) {
        // What was dropped is called clean from now on: another sync of this file would prove nothing.
        if (!this.storage.disk.isDead && error instanceof Error) this.spent = error;
        throw error;
      }
      this.afterSync();
    });
  }

  truncate(sizeBytes: number): Promise<void> {
    return answer(() => {
      const what = `truncate "${this.name}"`;
      this.#checkUsable(what);
      if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0 || sizeBytes > this.#sizeBytes) {
        throw new RangeError(`Cannot ${what} to ${sizeBytes} bytes: it has ${this.#sizeBytes}`);
      }
      this.#checkWritable(what);
      this.storage.disk.truncate(this.storage.process, this.target, sizeBytes, what);
      this.#sizeBytes = sizeBytes;
    });
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.releaseHandle();
      this.afterClose();
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Others may have the file from now on. */
  protected releaseHandle(): void {
    this.storage.disk.free(this.storage.process, this.target.file, this.#holder);
  }

  /** What the medium looks at when a sync worked. */
  protected afterSync(): void {}

  /** What the medium forgets when the file is closed. */
  protected afterClose(): void {}

  #cutBack(what: string): boolean {
    if (this.target.file.written.sizeBytes === this.#sizeBytes) return true;
    try {
      this.storage.disk.truncate(this.storage.process, this.target, this.#sizeBytes, what);
      return true;
    } catch {
      return false;
    }
  }

  #checkUsable(what: string): void {
    this.storage.disk.checkAlive(this.storage.process, what);
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${what}: the file is closed`);
    if (this.spent !== null) throw this.spent;
  }

  #checkWritable(what: string): void {
    this.#checkUsable(what);
    this.checkOurs(what);
    const foundBytes = this.target.file.written.sizeBytes;
    if (foundBytes === this.#sizeBytes) return;
    throw new LockLostError(`Cannot ${what}: found ${foundBytes} bytes where we left ${this.#sizeBytes}`);
  }
}
