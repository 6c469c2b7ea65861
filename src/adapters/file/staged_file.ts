/**
 * A file that is written under a staging name and then gets its own, whole and synced.
 *
 * @module
 */

import { AlreadyExistsError, hasCode, LockHeldError, SessionClosedError } from "../../errors.ts";
import { checkFirstByte } from "../../storage/names.ts";
import type { ByteRange, StagedFile, StorageFile } from "../../storage/storage_port.ts";
import { appendBytes } from "./append_bytes.ts";
import { publishByClaim } from "./claim.ts";
import { attempt, codeOf, hasNoLinks, refusal, syncRefusal } from "./errno.ts";
import { FILE_MODE, type FileSystem, FLAGS, identityOf } from "./file_system.ts";
import type { Guard } from "./guard.ts";
import type { HeldLock } from "./held_lock.ts";
import { acquireGuard } from "./kernel_lock.ts";
import { OpenFile } from "./open_file.ts";
import { readRange } from "./read_range.ts";
import type { FileResources } from "./resources.ts";
import { claimPath, stagingPath } from "./staging_names.ts";

/** Where a stage belongs. */
export interface StageTarget {
  readonly name: string;
  readonly path: string;
  /** The parts of the folder that holds it. */
  readonly folder: readonly string[];
}

/** A staged file of the file adapter. */
export class FileStage implements StagedFile {
  readonly #target: StageTarget;
  readonly #resources: FileResources;
  readonly #lock: HeldLock;
  readonly #descriptor: number;
  /** Held from the start: the lock of a file is the lock of its inode, so it is held on the final name the moment that appears. */
  readonly #guard: Guard;
  #stagePath: string;
  #sizeBytes = 0;
  #isDone = false;

  /** Creates the staging file, which nobody but this adapter looks at. Its folder is there. */
  static async create(target: StageTarget, resources: FileResources, lock: HeldLock): Promise<FileStage> {
    const what = `stage "${target.name}"`;
    const { fs, kernel } = resources;
    const path = stagingPath(target.path);
    const descriptor = attempt(what, () => fs.openSync(path, FLAGS.createAppend, FILE_MODE));
    try {
      attempt(what, () => fs.fchmodSync(descriptor, FILE_MODE));
      const guard = await acquireGuard(kernel, path, what);
      if (guard !== null) return new FileStage(target, resources, lock, path, descriptor, guard);
      throw new LockHeldError(`Cannot ${what}: somebody locked the fresh staging file`);
    } catch (error) {
      fs.closeSync(descriptor);
      removeQuietly(fs, path);
      throw error;
    }
  }

  private constructor(
    target: StageTarget,
    resources: FileResources,
    lock: HeldLock,
    stagePath: string,
    descriptor: number,
    guard: Guard,
  ) {
    this.#target = target;
    this.#resources = resources;
    this.#lock = lock;
    this.#stagePath = stagePath;
    this.#descriptor = descriptor;
    this.#guard = guard;
    resources.add(this, guard.identity);
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async append(bytes: Uint8Array): Promise<void> {
    const what = `stage "${this.#target.name}"`;
    this.#checkUsable(what);
    if (this.#sizeBytes === 0 && bytes.length > 0) checkFirstByte(this.#target.name, bytes[0]);
    const failed = appendBytes(this.#resources.fs, this.#descriptor, bytes, this.#sizeBytes, what);
    if (failed === null) {
      this.#sizeBytes += bytes.length;
      return;
    }
    if (!failed.isCutBack) this.close();
    throw failed.error;
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async read(range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    const what = `read the stage of "${this.#target.name}"`;
    this.#checkUsable(what);
    return readRange(this.#resources.fs, this.#descriptor, range, what);
  }

  async publish(): Promise<StorageFile> {
    const what = `publish "${this.#target.name}"`;
    this.#checkUsable(what);
    if (this.#sizeBytes === 0) checkFirstByte(this.#target.name, undefined);
    try {
      this.#syncContent(what);
      return this.#link(what) ? this.#publishLinked(what) : await this.#publishClaimed(what);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  discard(): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /** Throws the content away. Harmless when there is nothing left to throw. */
  close(): void {
    if (this.#isDone) return;
    removeQuietly(this.#resources.fs, this.#stagePath);
    this.#end();
    this.#guard.release();
    this.#resources.fs.closeSync(this.#descriptor);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  #syncContent(what: string): void {
    try {
      this.#resources.fs.fdatasyncSync(this.#descriptor);
    } catch (error) {
      const refused = syncRefusal(error, what);
      throw hasCode(refused.cause, "STORAGE_FULL") ? refused.cause : refused;
    }
  }

  /** Gives the content its name. False where there are no hard links. */
  #link(what: string): boolean {
    try {
      this.#resources.fs.linkSync(this.#stagePath, this.#target.path);
      return true;
    } catch (error) {
      if (hasNoLinks(error)) return false;
      if (codeOf(error) !== "EEXIST") throw refusal(error, what);
      throw new AlreadyExistsError(`Cannot ${what}: the name is taken`, { cause: error });
    }
  }

  /** The staged inode is the published one, and stays open and guarded as it is. */
  #publishLinked(what: string): StorageFile {
    this.#syncNameOrTakeBack(this.#guard, what);
    this.#resources.publishedBy = "link";
    removeQuietly(this.#resources.fs, this.#stagePath);
    this.#end();
    return this.#open(this.#descriptor, this.#guard);
  }

  /** The content is copied to the claimed name, and the stage goes away last, because until then it marks the claim. */
  async #publishClaimed(what: string): Promise<StorageFile> {
    const { tree, fs, kernel } = this.#resources;
    const { path, folder } = this.#target;
    const marker = claimPath(this.#stagePath);
    attempt(what, () => fs.renameSync(this.#stagePath, marker));
    this.#stagePath = marker;
    tree.syncNames(folder, what);
    const guard = await publishByClaim(fs, kernel, marker, path, what);
    try {
      this.#syncNameOrTakeBack(guard, what);
      const descriptor = attempt(what, () => fs.openSync(path, FLAGS.append));
      this.#resources.publishedBy = "claim";
      this.close();
      return this.#open(descriptor, guard);
    } catch (error) {
      guard.release();
      throw error;
    }
  }

  /** When the name cannot be synced, nobody was told of it yet, and without it the same publish can be tried again. */
  #syncNameOrTakeBack(guard: Guard, what: string): void {
    const { tree, fs } = this.#resources;
    try {
      tree.syncNames(this.#target.folder, what);
    } catch (error) {
      const stat = tree.stat(this.#target.path, what);
      if (stat !== null && identityOf(stat) === guard.identity) removeQuietly(fs, this.#target.path);
      throw error;
    }
  }

  #open(descriptor: number, guard: Guard): StorageFile {
    return new OpenFile({
      name: this.#target.name,
      path: this.#target.path,
      resources: this.#resources,
      lock: this.#lock,
      descriptor,
      guard,
      sizeBytes: this.#sizeBytes,
    });
  }

  #end(): void {
    this.#isDone = true;
    this.#resources.delete(this, this.#guard.identity);
  }

  #checkUsable(what: string): void {
    if (this.#isDone) throw new SessionClosedError(`Cannot ${what}: the stage was published or discarded`);
    this.#lock.checkHeld(this.#resources, what);
  }
}

/** What cannot be removed stays as an orphan, which the next writer sweeps. */
function removeQuietly(fs: FileSystem, path: string): void {
  try {
    fs.unlinkSync(path);
  } catch {
    return;
  }
}
