/**
 * Publishing on a POSIX-like medium.
 *
 * @see posix_storage.ts for the contract
 * @module
 */

import {
  AlreadyExistsError,
  type ByteRange,
  nameParts,
  type StagedFile,
  type StorageFile,
  StorageFullError,
  StorageLostError,
  SyncFailedError,
} from "../../../mod.ts";
import type { Target } from "./disk.ts";
import type { FileNode, Holder } from "./nodes.ts";
import { PosixFile, writeAll } from "./posix_file.ts";
import { syncNames } from "./posix_names.ts";
import type { SimulatedLock, SimulatedStorage } from "./simulated_storage.ts";
import { StagedBytes } from "./staged_bytes.ts";
import { answer, findFolder, lookUp } from "./tree.ts";

/** A staged file: published by a sync, a link, and a sync of its folder. */
export class PosixStage implements StagedFile {
  readonly #name: string;
  readonly #storage: SimulatedStorage;
  readonly #lock: SimulatedLock;
  readonly #target: Target;
  readonly #holder: Holder;
  readonly #bytes: StagedBytes;

  constructor(name: string, storage: SimulatedStorage, lock: SimulatedLock, file: FileNode, holder: Holder) {
    this.#name = name;
    this.#storage = storage;
    this.#lock = lock;
    this.#target = storage.targetOf(name, file);
    this.#holder = holder;
    const target = this.#target;
    const write = (bytes: Uint8Array, what: string) => writeAll(storage, target, bytes, what);
    this.#bytes = new StagedBytes({ name, storage, lock, target, write });
  }

  append(bytes: Uint8Array): Promise<void> {
    return this.#bytes.append(bytes, () => this.#end());
  }

  read(range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes.read(range);
  }

  publish(): Promise<StorageFile> {
    return answer(() => {
      const what = `publish "${this.#name}"`;
      this.#bytes.checkPublishable(what);
      try {
        this.#syncContent(what);
        this.#link(what);
        this.#syncNameOrTakeBack(what);
      } catch (error) {
        this.#end();
        throw error;
      }
      this.#bytes.end();
      return new PosixFile(this.#name, this.#storage, this.#lock, this.#target.file, this.#holder);
    });
  }

  discard(): Promise<void> {
    if (!this.#bytes.isDone) this.#end();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  #syncContent(what: string): void {
    try {
      this.#storage.disk.sync(this.#storage.process, this.#target, what);
    } catch (error) {
      throw error instanceof SyncFailedError && error.cause instanceof StorageFullError ? error.cause : error;
    }
  }

  #link(what: string): void {
    const { disk, process } = this.#storage;
    const parts = nameParts(this.#name);
    disk.run(process, "link", this.#name, what, () => {
      const folder = findFolder(disk.root, parts.slice(0, -1), what);
      if (folder === null) throw new StorageLostError(`Cannot ${what}: its folder is not there any more`);
      if (folder.written.has(parts.at(-1)!)) throw new AlreadyExistsError(`Cannot ${what}: the name is taken`);
      folder.set(parts.at(-1)!, this.#target.file);
    });
  }

  /** When the name cannot be synced, nobody was told of it yet, and without it the same publish can be tried again. */
  #syncNameOrTakeBack(what: string): void {
    const { disk } = this.#storage;
    const parts = nameParts(this.#name);
    try {
      syncNames(this.#storage, parts.slice(0, -1), what);
    } catch (error) {
      if (!disk.isDead && lookUp(disk.root, this.#name) === this.#target.file) this.#removeQuietly(parts, what);
      throw error;
    }
  }

  #removeQuietly(parts: readonly string[], what: string): void {
    const { disk, process } = this.#storage;
    try {
      disk.run(process, "unlink", this.#name, what, () => {
        findFolder(disk.root, parts.slice(0, -1), what)?.remove(parts.at(-1)!);
      });
    } catch {
      return; // It stays published, whole, and whoever tries again is told that the name is taken.
    }
  }

  #end(): void {
    this.#bytes.end();
    this.#storage.disk.free(this.#storage.process, this.#target.file, this.#holder);
  }
}
