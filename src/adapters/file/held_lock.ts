/**
 * The lock file of this adapter, held.
 *
 * @module
 */

import { join } from "node:path";
import { LockHeldError, LockLostError, StorageLostError } from "../../errors.ts";
import { nameParts } from "../../storage/names.ts";
import type { StorageLock } from "../../storage/storage_port.ts";
import { attempt, codeOf, isMissing, refusal } from "./errno.ts";
import { FILE_MODE, FLAGS, identityOf } from "./file_system.ts";
import type { Guard } from "./guard.ts";
import { acquireGuard } from "./kernel_lock.ts";
import type { FileResources } from "./resources.ts";

/** How often a lock file may be deleted or replaced while we lock it before we give up. */
const LOCK_TRIES_MAX = 5;

/**
 * Takes the lock `name`, making its folder and file.
 *
 * @throws {LockHeldError} when somebody has it
 */
export async function takeLock(resources: FileResources, name: string, what: string): Promise<HeldLock> {
  const parts = nameParts(name);
  const { unusable } = resources.kernel;
  if (unusable !== null) throw new StorageLostError(`Cannot ${what}: ${unusable}`);
  for (let tries = 0; tries < LOCK_TRIES_MAX; tries++) {
    const path = join(resources.tree.makeFolder(parts.slice(0, -1), what), parts.at(-1) ?? "");
    const guard = await guardLockFile(resources, path, what);
    if (guard === null) continue;
    const stat = resources.tree.statFile(path, what);
    if (stat !== null && identityOf(stat) === guard.identity) return new HeldLock(name, path, resources, guard);
    // The file was deleted or replaced while we locked it: what we hold protects nothing.
    guard.release();
  }
  throw new StorageLostError(`Cannot ${what}: the lock file is replaced again and again`);
}

/** Creates the lock file when it is missing and locks it; `null` when it went away in between. */
async function guardLockFile({ fs, kernel, tree }: FileResources, path: string, what: string): Promise<Guard | null> {
  try {
    const descriptor = fs.openSync(path, FLAGS.createAppend, FILE_MODE);
    try {
      attempt(what, () => fs.fchmodSync(descriptor, FILE_MODE));
    } finally {
      fs.closeSync(descriptor);
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) !== "EEXIST") throw refusal(error, what);
  }
  if (tree.statFile(path, what) === null) return null;
  let guard: Guard | null;
  try {
    guard = await acquireGuard(kernel, path, what);
  } catch (error) {
    if (error instanceof StorageLostError && isMissing(error.cause)) return null;
    throw error;
  }
  if (guard === null) throw new LockHeldError(`Cannot ${what}: another holder is alive`);
  return guard;
}

/** A held lock of the file adapter. */
export class HeldLock implements StorageLock {
  readonly name: string;
  readonly #path: string;
  readonly #resources: FileResources;
  /** Held until release, and never written through. */
  readonly #guard: Guard;
  #isReleased = false;
  /** Folders whose orphaned stages were swept under this lock. */
  readonly sweptFolders: Set<string> = new Set();

  constructor(name: string, path: string, resources: FileResources, guard: Guard) {
    this.name = name;
    this.#path = path;
    this.#resources = resources;
    this.#guard = guard;
    resources.add(this, guard.identity);
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async isHeld(): Promise<boolean> {
    return this.#isIntact(`look at the lock "${this.name}"`);
  }

  release(): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /** Gives the lock back. Harmless when done twice. */
  close(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#resources.delete(this, this.#guard.identity);
    this.#guard.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** One look at the path. `what` completes "Cannot …". */
  checkHeld(resources: FileResources, what: string): void {
    if (resources !== this.#resources) {
      throw new TypeError(`Cannot ${what}: the lock "${this.name}" is of another storage`);
    }
    if (this.#isIntact(what)) return;
    throw new LockLostError(`Cannot ${what}: the lock "${this.name}" is not ours any more`);
  }

  #isIntact(what: string): boolean {
    if (this.#isReleased) return false;
    const stat = this.#resources.tree.statOurs(this.#path, what);
    return stat !== null && identityOf(stat) === this.#guard.identity;
  }
}
