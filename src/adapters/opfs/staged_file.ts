/**
 * A file that is written under a name nobody looks at, and then copied to its own.
 *
 * @module
 */

import { LockHeldError, SessionClosedError, StorageLostError } from "../../errors.ts";
import { checkFirstByte } from "../../storage/names.ts";
import type { ByteRange, StagedFile, StorageFile } from "../../storage/storage_port.ts";
import { publishByClaim } from "./claim.ts";
import type { PooledHandle } from "./handle_pool.ts";
import type { HeldLock } from "./held_lock.ts";
import { OpenFile } from "./open_file.ts";
import type { FolderHandle } from "./platform.ts";
import type { Occupant, OpfsResources } from "./resources.ts";
import { stageName } from "./stored_names.ts";
import { sweepOnce } from "./sweep.ts";
import { appendBytes, type FailedWrite } from "./write_bytes.ts";

/** A staged file of the OPFS adapter. */
export class OpfsStage implements StagedFile, Occupant {
  readonly #name: string;
  readonly #parts: readonly string[];
  readonly #resources: OpfsResources;
  readonly #lock: HeldLock;
  readonly #folder: FolderHandle;
  readonly #stored: string;
  readonly #handle: PooledHandle;
  #sizeBytes = 0;
  #isDone = false;

  /** Makes the folder and the staging file, after those that dead writers left were taken away. */
  static async create(
    name: string,
    parts: readonly string[],
    resources: OpfsResources,
    lock: HeldLock,
  ): Promise<OpfsStage> {
    const what = `stage "${name}"`;
    const folderParts = parts.slice(0, -1);
    const stored = stageName(resources.platform.token());
    resources.stages.add(stored);
    try {
      const { folder, file } = await resources.tree.makeStored(folderParts, stored, what);
      try {
        await sweepOnce(resources, lock, folderParts, folder);
        const handle = await resources.pool.open(file, what);
        resources.pool.touch(handle);
        return new OpfsStage(name, parts, resources, lock, folder, stored, handle);
      } catch (error) {
        await removeQuietly(folder, stored);
        throw error;
      }
    } catch (error) {
      resources.stages.delete(stored);
      throw await resources.refusal(error, what);
    }
  }

  private constructor(
    name: string,
    parts: readonly string[],
    resources: OpfsResources,
    lock: HeldLock,
    folder: FolderHandle,
    stored: string,
    handle: PooledHandle,
  ) {
    this.#name = name;
    this.#parts = parts;
    this.#resources = resources;
    this.#lock = lock;
    this.#folder = folder;
    this.#stored = stored;
    this.#handle = handle;
    resources.add(this);
  }

  async append(bytes: Uint8Array): Promise<void> {
    const what = `stage "${this.#name}"`;
    this.#checkUsable(what);
    if (this.#sizeBytes === 0 && bytes.length > 0) checkFirstByte(this.#name, bytes[0]);
    let failed: FailedWrite | null;
    try {
      failed = await this.#handle.use(what, (handle) => {
        this.#checkUsable(what);
        const failed = appendBytes(handle, bytes, this.#sizeBytes);
        if (failed === null) this.#sizeBytes += bytes.length;
        return failed;
      });
    } catch (error) {
      throw await this.#resources.refusal(error, what);
    }
    if (failed === null) return;
    if (!failed.isCutBack) await this.close();
    throw await this.#resources.refusal(failed.error, what);
  }

  async read({ startBytes, endBytes = Infinity }: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    const what = `read the stage of "${this.#name}"`;
    this.#checkUsable(what);
    const bytes = new Uint8Array(Math.max(0, Math.min(endBytes, this.#sizeBytes) - startBytes));
    try {
      const count = await this.#handle.use(what, (handle) => handle.read(bytes, { at: startBytes }));
      if (count === bytes.length) return bytes;
      throw new StorageLostError(`Cannot ${what}: found ${count} bytes where ${bytes.length} were appended`);
    } catch (error) {
      throw await this.#resources.refusal(error, what);
    }
  }

  async publish(): Promise<StorageFile> {
    const what = `publish "${this.#name}"`;
    this.#checkUsable(what);
    if (this.#sizeBytes === 0) checkFirstByte(this.#name, undefined);
    try {
      const handle = await this.#claim(what);
      const sizeBytes = this.#sizeBytes;
      return new OpenFile({ name: this.#name, resources: this.#resources, lock: this.#lock, handle, sizeBytes });
    } catch (error) {
      throw await this.#resources.refusal(error, what);
    } finally {
      await this.close();
    }
  }

  discard(): Promise<void> {
    return this.close();
  }

  /** Throws the content away. Harmless when there is nothing left to throw. */
  async close(): Promise<void> {
    if (this.#isDone) return;
    this.#isDone = true;
    try {
      await this.#handle.close();
      await removeQuietly(this.#folder, this.#stored);
    } finally {
      this.#resources.stages.delete(this.#stored);
      this.#resources.delete(this);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  /** Only a name that is being published is removed under a stage, and its removal fails while the claim is open. */
  removed(): Promise<void> {
    return Promise.resolve();
  }

  async #claim(what: string): Promise<PooledHandle> {
    const { occupied } = this.#resources;
    if (occupied.get(this.#name) instanceof OpfsStage) {
      throw new LockHeldError(`Cannot ${what}: another stage is just claiming the name`);
    }
    const isOpen = occupied.has(this.#name);
    if (!isOpen) occupied.set(this.#name, this);
    try {
      // The stage is read as others read it, so a publish never needs two handles at once.
      await this.#handle.close();
      const target = { parts: this.#parts, folder: this.#folder, isOpen };
      return await publishByClaim(this.#resources, target, this.#handle.file, this.#sizeBytes, what);
    } finally {
      if (occupied.get(this.#name) === this) occupied.delete(this.#name);
    }
  }

  #checkUsable(what: string): void {
    this.#resources.checkOpen(what);
    if (this.#isDone) throw new SessionClosedError(`Cannot ${what}: the stage was published or discarded`);
    this.#lock.checkHeld(this.#resources, what);
  }
}

/** What cannot be removed stays as an orphan, which the next writer sweeps. */
async function removeQuietly(folder: FolderHandle, stored: string): Promise<void> {
  try {
    await folder.removeEntry(stored);
  } catch {
    return;
  }
}
