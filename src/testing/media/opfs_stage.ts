/**
 * Publishing on an OPFS-like medium.
 *
 * @see opfs_storage.ts for the contract
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
import { FileNode, type FolderNode, type Holder } from "./nodes.ts";
import { isWhole, OpfsFile, type OpfsLock, writeAll } from "./opfs_file.ts";
import { openHandle } from "./opfs_handle.ts";
import { StagedBytes } from "./staged_bytes.ts";
import type { SimulatedStorage } from "./simulated_storage.ts";
import { answer, findFolder } from "./tree.ts";

/** How much of a stage is copied at once. */
const COPY_CHUNK_BYTES = 65_536;

/** A staged file: published by a claim, whose first byte is written last. */
export class OpfsStage implements StagedFile {
  readonly #name: string;
  readonly #storage: SimulatedStorage;
  readonly #lock: OpfsLock;
  readonly #target: Target;
  readonly #opened: Map<FileNode, OpfsFile>;
  readonly #bytes: StagedBytes;

  /** @param file without a name; @param opened the files this worker has open */
  constructor(
    name: string,
    storage: SimulatedStorage,
    lock: OpfsLock,
    file: FileNode,
    opened: Map<FileNode, OpfsFile>,
  ) {
    this.#opened = opened;
    this.#name = name;
    this.#storage = storage;
    this.#lock = lock;
    const target = this.#target = { file, name, vanish: () => {} };
    const write = (bytes: Uint8Array, what: string) =>
      writeAll(storage, target, target.file.written.sizeBytes, bytes, what);
    this.#bytes = new StagedBytes({ name, storage, lock, target, write });
  }

  append(bytes: Uint8Array): Promise<void> {
    return this.#bytes.append(bytes, () => this.#bytes.end());
  }

  read(range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes.read(range);
  }

  publish(): Promise<StorageFile> {
    return answer(() => {
      const what = `publish "${this.#name}"`;
      this.#bytes.checkPublishable(what);
      this.#bytes.end();
      const [file, holder] = this.#claim(what);
      return new OpfsFile(this.#name, this.#storage, this.#lock, file, holder, this.#opened);
    });
  }

  discard(): Promise<void> {
    this.#bytes.end();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  #claim(what: string): [FileNode, Holder] {
    const { disk, process } = this.#storage;
    const parts = nameParts(this.#name);
    const part = parts.at(-1)!;
    const folder = findFolder(disk.root, parts.slice(0, -1), what);
    if (folder === null) throw new StorageLostError(`Cannot ${what}: its folder is not there any more`);
    let file = folder.written.get(part) ?? null;
    const isTaken = file !== null && (file.kind === "folder" || this.#opened.has(file) || isWhole(file.written));
    if (isTaken) throw new AlreadyExistsError(`Cannot ${what}: the name is taken`);
    if (file === null) {
      const created = file = new FileNode(disk.nextId());
      disk.run(process, "create", this.#name, what, () => folder.set(part, created));
    }
    const claimed = file as FileNode;
    const holder = openHandle(this.#storage, this.#name, claimed, what);
    try {
      this.#copyByteZeroLast(this.#storage.targetOf(this.#name, claimed), what);
    } catch (error) {
      if (!disk.isDead) this.#takeBack(folder, part, claimed, what);
      disk.free(process, claimed, holder);
      throw error;
    }
    return [claimed, holder];
  }

  #copyByteZeroLast(target: Target, what: string): void {
    const { disk, process } = this.#storage;
    const bytes = this.#target.file.written.slice();
    const first = bytes.slice(0, 1);
    bytes[0] = 0;
    disk.truncate(process, target, 0, what);
    for (let at = 0; at < bytes.length; at += COPY_CHUNK_BYTES) {
      writeAll(this.#storage, target, at, bytes.subarray(at, at + COPY_CHUNK_BYTES), what);
    }
    this.#flush(target, what);
    writeAll(this.#storage, target, 0, first, what);
    this.#flush(target, what);
  }

  #flush(target: Target, what: string): void {
    try {
      this.#storage.disk.sync(this.#storage.process, target, what);
    } catch (error) {
      throw error instanceof SyncFailedError && error.cause instanceof StorageFullError ? error.cause : error;
    }
  }

  /** Nobody was told of the name yet, and empty it counts as absent: the same publish can be tried again. */
  #takeBack(folder: FolderNode, part: string, file: FileNode, what: string): void {
    const { disk, process } = this.#storage;
    try {
      disk.truncate(process, this.#storage.targetOf(this.#name, file), 0, what);
    } catch {
      // Its first byte may be there: then the whole content is, and the name is published.
    }
    try {
      disk.run(process, "unlink", this.#name, what, () => folder.remove(part));
    } catch {
      return; // What stays counts as absent, or is whole.
    }
  }
}
