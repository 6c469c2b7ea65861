/**
 * A file open for appending. A steady append and sync is two looks at paths, one write and one `fdatasync`.
 *
 * A sync that is alone blocks the thread: nothing is faster. When other files of the storage wait for theirs, it goes to another
 * thread, so that they overlap.
 *
 * @module
 */

import {
  type HoldfastError,
  LockHeldError,
  LockLostError,
  SessionClosedError,
  StorageLostError,
} from "../../errors.ts";
import type { StorageFile } from "../../storage/storage_port.ts";
import { appendBytes } from "./append_bytes.ts";
import { attempt, syncRefusal } from "./errno.ts";
import { FLAGS, identityOf } from "./file_system.ts";
import type { Guard } from "./guard.ts";
import type { HeldLock } from "./held_lock.ts";
import { acquireGuard } from "./kernel_lock.ts";
import type { FileResources } from "./resources.ts";

/**
 * Opens the file at `path`, which was there a moment ago.
 *
 * @throws {LockHeldError} when a live writer holds the file itself
 */
export async function openForAppending(
  resources: FileResources,
  lock: HeldLock,
  name: string,
  path: string,
  what: string,
): Promise<OpenFile> {
  const { fs, tree, kernel } = resources;
  const descriptor = attempt(what, () => fs.openSync(path, FLAGS.append));
  let guard: Guard | null = null;
  try {
    guard = await acquireGuard(kernel, path, what);
    if (guard === null) throw new LockHeldError(`Cannot ${what}: a live writer holds the file`);
    // Under the guard: before it, somebody may still have written, or put another file there.
    const opened = attempt(what, () => fs.fstatSync(descriptor));
    const named = tree.statFile(path, what);
    if (guard.identity !== identityOf(opened) || named === null || guard.identity !== identityOf(named)) {
      throw new StorageLostError(`Cannot ${what}: the file was replaced while it was opened`);
    }
    return new OpenFile({ name, path, resources, lock, descriptor, guard, sizeBytes: opened.size });
  } catch (error) {
    guard?.release();
    fs.closeSync(descriptor);
    throw error;
  }
}

/** An open file of the file adapter. */
export class OpenFile implements StorageFile {
  readonly name: string;
  readonly #path: string;
  readonly #resources: FileResources;
  readonly #lock: HeldLock;
  /** Opened for appending, so that even a write that races with a stranger's overwrites none of their bytes. */
  readonly #descriptor: number;
  /** Held until close, and never written through. */
  readonly #guard: Guard;
  /** The length we left. While the file has another one, somebody else wrote, and this file writes no more. */
  #sizeBytes: number;
  /** Why every later call throws. */
  #spent: HoldfastError | null = null;
  #isClosed = false;
  /** The sync that another thread is at, if any. The descriptor stays open until it is over. */
  #syncing: Promise<void> | null = null;
  /** The close that waits for it. */
  #closing: Promise<void> | null = null;

  constructor(options: {
    readonly name: string;
    readonly path: string;
    readonly resources: FileResources;
    readonly lock: HeldLock;
    readonly descriptor: number;
    readonly guard: Guard;
    readonly sizeBytes: number;
  }) {
    this.name = options.name;
    this.#path = options.path;
    this.#resources = options.resources;
    this.#lock = options.lock;
    this.#descriptor = options.descriptor;
    this.#guard = options.guard;
    this.#sizeBytes = options.sizeBytes;
    options.resources.add(this, options.guard.identity);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async append(bytes: Uint8Array): Promise<void> {
    const what = `append to "${this.name}"`;
    this.#checkUsable(what);
    this.#checkOurs(what);
    const failed = appendBytes(this.#resources.fs, this.#descriptor, bytes, this.#sizeBytes, what);
    if (failed === null) {
      this.#sizeBytes += bytes.length;
      this.#resources.unsynced.add(this);
      return;
    }
    if (!failed.isCutBack) {
      const message = `Cannot use "${this.name}": a failed append could not be cut back, reopen it`;
      this.#spent = new StorageLostError(message, { cause: failed.error });
    }
    throw failed.error;
  }

  async sync(): Promise<void> {
    const what = `sync "${this.name}"`;
    this.#checkUsable(what);
    const { fs, unsynced, syncElsewhere } = this.#resources;
    const areOthersWaiting = unsynced.size > (unsynced.has(this) ? 1 : 0);
    try {
      if (areOthersWaiting && syncElsewhere !== null) await this.#outlast(syncElsewhere(this.#descriptor));
      else fs.fdatasyncSync(this.#descriptor);
    } catch (error) {
      // The kernel reports a lost page once and then calls it clean: another sync of this file would prove nothing.
      throw this.#spent ??= syncRefusal(error, what);
    } finally {
      unsynced.delete(this);
    }
  }

  /** Until it is over this file counts as waiting, and whoever closes it waits too: the number of its descriptor is not free. */
  async #outlast(sync: Promise<void>): Promise<void> {
    const before = this.#syncing;
    const whole = this.#syncing = Promise.allSettled([before, sync]).then(() => {});
    try {
      await sync;
    } finally {
      if (this.#syncing === whole) this.#syncing = null;
    }
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async truncate(sizeBytes: number): Promise<void> {
    const what = `truncate "${this.name}"`;
    this.#checkUsable(what);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0 || sizeBytes > this.#sizeBytes) {
      throw new RangeError(`Cannot ${what} to ${sizeBytes} bytes: it has ${this.#sizeBytes}`);
    }
    this.#checkOurs(what);
    attempt(what, () => this.#resources.fs.ftruncateSync(this.#descriptor, sizeBytes));
    this.#sizeBytes = sizeBytes;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return await this.#closing ?? undefined;
    this.#isClosed = true;
    if (this.#syncing !== null) {
      await (this.#closing = this.#syncing.then(() => this.#end()));
      return;
    }
    this.#end();
  }

  #end(): void {
    this.#resources.delete(this, this.#guard.identity);
    this.#guard.release();
    this.#resources.fs.closeSync(this.#descriptor);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkUsable(what: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${what}: the file is closed`);
    if (this.#spent !== null) throw this.#spent;
  }

  /**
   * One look at the lock's path and one at the file's.
   *
   * A folder on the way that was moved and replaced by a link to where it went passes: both paths still lead to what we hold,
   * and a third look would cost every flush. Nothing is lost by it: it is our file that grows, nobody else can lock it under
   * any name, and whatever walks the folders (a reader, the next open, a blob) refuses the link.
   */
  #checkOurs(what: string): void {
    this.#lock.checkHeld(this.#resources, what);
    const stat = this.#resources.tree.statOurs(this.#path, what);
    if (stat === null || identityOf(stat) !== this.#guard.identity) {
      throw new LockLostError(`Cannot ${what}: the name does not lead to the file we opened any more`);
    }
    if (stat.size === this.#sizeBytes) return;
    throw new LockLostError(`Cannot ${what}: found ${stat.size} bytes where we left ${this.#sizeBytes}`);
  }
}
