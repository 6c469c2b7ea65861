/**
 * A file open for appending. A steady append and sync is one `write`, one `flush`, and one look whether the name is still there.
 *
 * @module
 */

import {
  LockHeldError,
  LockLostError,
  NotFoundError,
  SessionClosedError,
  StorageLostError,
  SyncFailedError,
} from "../../errors.ts";
import type { ByteRange, StorageFile } from "../../storage/storage_port.ts";
import type { PooledHandle } from "./handle_pool.ts";
import type { HeldLock } from "./held_lock.ts";
import type { FileHandle, SyncHandle } from "./platform.ts";
import { isMissing, syncRefusal } from "./refusal.ts";
import type { OpfsResources } from "./resources.ts";
import { appendBytes, type FailedWrite } from "./write_bytes.ts";

/**
 * Opens a published file.
 *
 * @throws {NotFoundError} when it is no more than a claim
 * @throws {LockHeldError} when a live writer still has it
 */
export async function openForAppending(
  resources: OpfsResources,
  lock: HeldLock,
  name: string,
  file: FileHandle,
  what: string,
): Promise<OpenFile> {
  const handle = await resources.pool.open(file, what);
  try {
    const sizeBytes = await handle.use(what, (it) => it.getSize());
    if (sizeBytes === 0 || await handle.use(what, firstByteOf) === 0) {
      throw new NotFoundError(`Cannot ${what}: it is not published yet`);
    }
    return new OpenFile({ name, resources, lock, handle, sizeBytes });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The first byte of a file that is not empty. */
export function firstByteOf(handle: SyncHandle): number {
  const first = new Uint8Array(1);
  handle.read(first, { at: 0 });
  return first[0]!;
}

/** An open file of the OPFS adapter. */
export class OpenFile implements StorageFile {
  readonly name: string;
  readonly #resources: OpfsResources;
  readonly #lock: HeldLock;
  readonly #handle: PooledHandle;
  /** The length this file remembers. While it differs from the file's, somebody else wrote, and this file writes no more. */
  #sizeBytes: number;
  /** Why every later call throws. */
  #spent: Error | null = null;
  #isClosed = false;

  constructor(options: {
    readonly name: string;
    readonly resources: OpfsResources;
    readonly lock: HeldLock;
    readonly handle: PooledHandle;
    readonly sizeBytes: number;
  }) {
    this.name = options.name;
    this.#resources = options.resources;
    this.#lock = options.lock;
    this.#handle = options.handle;
    this.#sizeBytes = options.sizeBytes;
    this.#lock.seen.add(this.name);
    this.#resources.add(this);
    this.#resources.occupied.set(this.name, this);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async append(bytes: Uint8Array): Promise<void> {
    const what = `append to "${this.name}"`;
    const failed = await this.#use(what, (handle): FailedWrite | null => {
      this.#checkOurs(handle, what);
      if (bytes.length === 0) return null;
      this.#handle.isDirty = true;
      const failed = appendBytes(handle, bytes, this.#sizeBytes);
      if (failed === null) this.#sizeBytes += bytes.length;
      else if (!failed.isCutBack) this.#spend(`a failed append could not be cut back, reopen it`, failed.error);
      return failed;
    });
    if (failed !== null) throw await this.#resources.refusal(failed.error, what);
  }

  async sync(): Promise<void> {
    const what = `sync "${this.name}"`;
    this.#checkUsable(what);
    // Asked before the flush, so that it is answered meanwhile: `flush()` succeeds on a file that was deleted under its handle.
    const isThere = this.#handle.isThere();
    try {
      await this.#handle.flush(what);
    } catch (error) {
      this.#checkUsable(what);
      throw this.#spent = error instanceof SyncFailedError
        ? error
        : await syncRefusal(this.#resources.platform, error, what);
    }
    if (await isThere) return;
    throw this.#spend("it was deleted under its handle, as when the site's data is cleared");
  }

  async truncate(sizeBytes: number): Promise<void> {
    const what = `truncate "${this.name}"`;
    await this.#use(what, (handle) => {
      if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0 || sizeBytes > this.#sizeBytes) {
        throw new RangeError(`Cannot ${what} to ${sizeBytes} bytes: it has ${this.#sizeBytes}`);
      }
      this.#checkOurs(handle, what);
      if (sizeBytes === this.#sizeBytes) return;
      this.#handle.isDirty = true;
      handle.truncate(sizeBytes);
      this.#sizeBytes = sizeBytes;
    });
  }

  /** A range of what this file holds, without a snapshot; `null` when the handle is parked or not to be trusted. */
  readOwn({ startBytes, endBytes = Infinity }: ByteRange): Uint8Array<ArrayBuffer> | null {
    const handle = this.#handle.current;
    if (handle === null || this.#spent !== null || this.#isClosed || handle.getSize() !== this.#sizeBytes) return null;
    const bytes = new Uint8Array(Math.max(0, Math.min(endBytes, this.#sizeBytes) - startBytes));
    return handle.read(bytes, { at: startBytes }) === bytes.length ? bytes : null;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      await this.#handle.close();
    } finally {
      this.#resources.delete(this);
      if (this.#resources.occupied.get(this.name) === this) this.#resources.occupied.delete(this.name);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Its name is about to be removed, by us. */
  async removed(): Promise<void> {
    this.#spent ??= new LockLostError(`Cannot use "${this.name}": it was removed`);
    await this.#handle.close();
  }

  /** Runs `act` with the handle open, and translates what the browser throws. */
  async #use<Result>(what: string, act: (handle: SyncHandle) => Result): Promise<Result> {
    this.#checkUsable(what);
    this.#lock.checkHeld(this.#resources, what);
    try {
      return await this.#handle.use(what, (handle) => {
        this.#checkUsable(what);
        return act(handle);
      });
    } catch (error) {
      if (isMissing(error)) throw this.#spend("it was deleted while its handle was parked", error);
      if (error instanceof LockHeldError) {
        throw new LockLostError(`Cannot ${what}: another writer took it while its handle was parked`, { cause: error });
      }
      throw await this.#resources.refusal(error, what);
    }
  }

  #spend(found: string, cause?: unknown): Error {
    return this.#spent = new StorageLostError(`Cannot use "${this.name}": ${found}`, { cause });
  }

  #checkUsable(what: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${what}: the file is closed`);
    if (this.#spent !== null) throw this.#spent;
  }

  #checkOurs(handle: SyncHandle, what: string): void {
    const foundBytes = handle.getSize();
    if (foundBytes === this.#sizeBytes) return;
    throw new LockLostError(`Cannot ${what}: found ${foundBytes} bytes where we left ${this.#sizeBytes}`);
  }
}
