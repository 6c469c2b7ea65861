/**
 * A lock of this adapter: a Web Lock, and a file under its name so that it can be seen.
 *
 * @module
 */

import { LockHeldError, LockLostError, StorageLostError } from "../../errors.ts";
import { nameParts } from "../../storage/names.ts";
import type { StorageLock } from "../../storage/storage_port.ts";
import type { FolderHandle } from "./platform.ts";
import { isMissing } from "./refusal.ts";
import type { OpfsResources } from "./resources.ts";
import { storedPart } from "./stored_names.ts";
import { takeWebLock, type WebLock } from "./web_lock.ts";
import { writeAll } from "./write_bytes.ts";

/** An empty file would count as a name that is claimed and not published. */
const LOCK_FILE_BYTES = new TextEncoder().encode("{}\n");

/**
 * Takes the lock `name`, making its folder and file. Whatever fails after the Web Lock was granted gives it back.
 *
 * @throws {LockHeldError} when somebody has it, in this tab or another
 */
export async function takeLock(resources: OpfsResources, name: string, what: string): Promise<HeldLock> {
  const parts = nameParts(name);
  const stored = storedPart(parts.at(-1) ?? "");
  const web = await grant(resources, name, what);
  try {
    const { folder, file } = await resources.tree.makeFile(parts, what);
    if ((await file.getFile()).size === 0) {
      const handle = await resources.pool.open(file, what);
      try {
        await handle.use(what, (it) => writeAll(it, LOCK_FILE_BYTES, 0));
      } finally {
        await handle.close();
      }
    }
    resources.checkOpen(what);
    return new HeldLock(name, resources, web, folder, stored);
  } catch (error) {
    await web.release();
    throw await resources.refusal(error, what);
  }
}

async function grant(resources: OpfsResources, name: string, what: string): Promise<WebLock> {
  let web: WebLock | null;
  try {
    web = await takeWebLock(resources.platform.locks, resources.lockPrefix + name);
  } catch (error) {
    throw await resources.refusal(error, what);
  }
  if (web === null) throw new LockHeldError(`Cannot ${what}: another holder is alive`);
  return web;
}

/** A held lock of the OPFS adapter. */
export class HeldLock implements StorageLock {
  readonly name: string;
  readonly #resources: OpfsResources;
  readonly #web: WebLock;
  readonly #folder: FolderHandle;
  readonly #stored: string;
  #isReleased = false;
  /** Whether we removed the lock file ourselves. */
  #isRemoved = false;
  /** Folders whose orphaned stages were swept under this lock. */
  readonly sweptFolders: Set<string> = new Set();
  /** Files that were there under this lock and were not removed: nobody else may remove them. */
  readonly seen: Set<string> = new Set();

  constructor(name: string, resources: OpfsResources, web: WebLock, folder: FolderHandle, stored: string) {
    this.name = name;
    this.#resources = resources;
    this.#web = web;
    this.#folder = folder;
    this.#stored = stored;
    resources.add(this);
  }

  async isHeld(): Promise<boolean> {
    return this.#isIntact && await this.#isThere(`look at the lock "${this.name}"`);
  }

  async release(): Promise<void> {
    await this.close();
  }

  /** Gives the lock back. Harmless when done twice. */
  async close(): Promise<void> {
    this.#isReleased = true;
    this.#resources.delete(this);
    await this.#web.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** The lock file was removed by whoever holds the lock. */
  removed(): void {
    this.#isRemoved = true;
  }

  /** Throws unless the lock is ours, as far as can be told at once. `what` completes "Cannot …". */
  checkHeld(resources: OpfsResources, what: string): void {
    if (resources !== this.#resources) {
      throw new TypeError(`Cannot ${what}: the lock "${this.name}" is of another storage`);
    }
    if (this.#isIntact) return;
    throw new LockLostError(`Cannot ${what}: the lock "${this.name}" is not ours any more`);
  }

  /**
   * Throws unless the lock is ours and its file is there.
   *
   * @throws {StorageLostError} when the file is gone although nobody may remove it: the site's data was cleared
   */
  async checkThere(resources: OpfsResources, what: string): Promise<void> {
    this.checkHeld(resources, what);
    if (await this.#isThere(what)) return;
    throw new StorageLostError(
      `Cannot ${what}: the file of the lock "${this.name}" was deleted under it, as when the site's data is cleared`,
    );
  }

  get #isIntact(): boolean {
    return !this.#isReleased && !this.#isRemoved && !this.#web.isStolen;
  }

  async #isThere(what: string): Promise<boolean> {
    try {
      await this.#folder.getFileHandle(this.#stored);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw await this.#resources.refusal(error, what);
    }
  }
}
