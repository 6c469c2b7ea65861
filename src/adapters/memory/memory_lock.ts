/**
 * A lock in memory: the kernel lock on a node that has a name.
 *
 * @module
 */

import { LockLostError } from "../../errors.ts";
import type { StorageLock } from "../../storage/storage_port.ts";
import type { MediumHolder, MediumNode } from "./medium.ts";
import type { MemoryProcess } from "./memory_process.ts";

/** A held lock of the memory adapter. */
export class MemoryLock implements StorageLock {
  readonly name: string;
  readonly #process: MemoryProcess;
  readonly #node: MediumNode;
  readonly #holder: MediumHolder;
  #isReleased = false;

  constructor(name: string, process: MemoryProcess, node: MediumNode, holder: MediumHolder) {
    this.name = name;
    this.#process = process;
    this.#node = node;
    this.#holder = holder;
  }

  isHeld(): Promise<boolean> {
    return Promise.resolve(this.#isIntact());
  }

  release(): Promise<void> {
    this.#isReleased = true;
    this.#process.free(this.#node, this.#holder);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Throws unless the lock is still ours and its name still leads to what we locked. `what` completes "Cannot …". */
  checkHeld(process: MemoryProcess, what: string): void {
    if (process !== this.#process) throw new TypeError(`Cannot ${what}: the lock "${this.name}" is of another storage`);
    if (!this.#isIntact()) throw new LockLostError(`Cannot ${what}: the lock "${this.name}" is not ours any more`);
  }

  #isIntact(): boolean {
    return !this.#isReleased && this.#node.holder === this.#holder &&
      this.#process.medium.names.get(this.name) === this.#node;
  }
}
