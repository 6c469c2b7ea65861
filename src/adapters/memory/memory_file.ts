/**
 * An open file in memory, with the promises of a file on a disk.
 *
 * @module
 */

import { LockLostError, SessionClosedError, StorageLostError, SyncFailedError } from "../../errors.ts";
import type { StorageFile } from "../../storage/storage_port.ts";
import type { MediumHolder, MediumNode } from "./medium.ts";
import type { MemoryLock } from "./memory_lock.ts";
import type { MemoryProcess } from "./memory_process.ts";

/** A file of the memory adapter, open for appending. */
export class MemoryFile implements StorageFile {
  readonly name: string;
  readonly #process: MemoryProcess;
  readonly #lock: MemoryLock;
  readonly #node: MediumNode;
  readonly #holder: MediumHolder;
  /** The length this file remembers. While it differs from the node's, somebody else wrote, and this file writes no more. */
  #sizeBytes: number;
  /** Why every later call throws. */
  #spent: Error | null = null;
  #isClosed = false;

  constructor(name: string, process: MemoryProcess, lock: MemoryLock, node: MediumNode, holder: MediumHolder) {
    this.name = name;
    this.#process = process;
    this.#lock = lock;
    this.#node = node;
    this.#holder = holder;
    this.#sizeBytes = node.written.sizeBytes;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#checkUsable("append to");
    this.#checkOurs("append to");
    const { medium } = this.#process;
    const oldSizeBytes = this.#sizeBytes;
    await this.#process.run({
      kind: "append",
      name: this.name,
      steps: bytes.length,
      room: medium.freeBytes,
      apply: (steps) => medium.append(this.#node, bytes.subarray(0, steps)),
      undo: (fault) => {
        if (fault.cutsBack ?? true) medium.truncate(this.#node, oldSizeBytes);
        else this.#spent = new StorageLostError(`Cannot use "${this.name}": a failed append could not be cut back`);
      },
    });
    this.#sizeBytes = oldSizeBytes + bytes.length;
  }

  async sync(): Promise<void> {
    this.#checkUsable("sync");
    const { medium } = this.#process;
    await this.#process.run({
      kind: "sync",
      name: this.name,
      steps: medium.waitingOf(this.#node),
      apply: (steps) => medium.syncNode(this.#node, steps),
      undo: () => {
        medium.forgetWaiting(this.#node);
        this.#spent = new SyncFailedError(`Cannot use "${this.name}": a sync of it failed, reopen it`);
      },
    });
  }

  async truncate(sizeBytes: number): Promise<void> {
    this.#checkUsable("truncate");
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0 || sizeBytes > this.#sizeBytes) {
      throw new RangeError(`Cannot truncate "${this.name}" to ${sizeBytes} bytes: it has ${this.#sizeBytes}`);
    }
    this.#checkOurs("truncate");
    await this.#process.run({
      kind: "truncate",
      name: this.name,
      steps: 1,
      apply: (steps) => steps > 0 && this.#process.medium.truncate(this.#node, sizeBytes),
    });
    this.#sizeBytes = sizeBytes;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#process.free(this.#node, this.#holder);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkUsable(verb: string): void {
    this.#process.checkAlive(`${verb} "${this.name}"`);
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${verb} "${this.name}": the file is closed`);
    if (this.#spent !== null) throw this.#spent;
  }

  /** The same two looks the file adapter takes: at the lock's name, and at the file's name and size. */
  #checkOurs(verb: string): void {
    this.#lock.checkHeld(this.#process, `${verb} "${this.name}"`);
    const isOurs = this.#process.medium.names.get(this.name) === this.#node;
    if (!isOurs) throw new LockLostError(`Cannot ${verb} "${this.name}": the name does not lead to the file we opened`);
    const foundBytes = this.#node.written.sizeBytes;
    if (foundBytes === this.#sizeBytes) return;
    throw new LockLostError(
      `Cannot ${verb} "${this.name}": found ${foundBytes} bytes where we left ${this.#sizeBytes}`,
    );
  }
}
