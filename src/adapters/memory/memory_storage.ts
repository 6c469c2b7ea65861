/**
 * The storage port in memory: a place for tests and for sessions nobody needs to keep, and a disk that can fail on purpose.
 *
 * With `simulate: "disk"` it keeps apart what a program wrote and what a power cut leaves, and it can crash at every operation
 * and at every byte. A sweep runs a script once without faults, reads `operations`, and then, for each of them and for each of
 * its steps, runs the script on a fresh storage with `failAt({ operation, kind: "crash", steps })` and goes on with `crash(…)`.
 *
 * @module
 */

import { LockHeldError, NotFoundError, StorageLostError } from "../../errors.ts";
import { checkCovered, folderOf, folderParts, nameParts } from "../../storage/names.ts";
import type {
  ByteRange,
  StagedFile,
  StorageEntry,
  StorageFile,
  StorageLock,
  StoragePort,
  StorageStat,
  StorageTraits,
} from "../../storage/storage_port.ts";
import type { Fault, OperationRecord } from "./faults.ts";
import { type KeepUnsynced, type MediumNode, MemoryMedium } from "./medium.ts";
import { MemoryFile } from "./memory_file.ts";
import { MemoryLock } from "./memory_lock.ts";
import { MemoryProcess } from "./memory_process.ts";
import { MemoryStage } from "./memory_stage.ts";
import { type MemoryStranger, strangerOn } from "./stranger.ts";

/** What kind of medium to simulate. */
export interface MemoryStorageOptions {
  /** `"disk"`: `sync` means `device`, and the storage can crash. Without it nothing is promised and nothing can. */
  readonly simulate?: "disk";
  /** Whether a published name survives a power cut at once, the default, or not before `writeBack()`. */
  readonly names?: StorageTraits["names"];
  /** How many bytes all files together may have; no bound by default. */
  readonly capacityBytes?: number;
}

/** What a crash leaves of the steps no sync took to the disk. */
export interface CrashOptions {
  /**
   * `"none"`, the default: a power cut, only what is durable is there. `"all"`: kill -9, the page cache lives on, and what was
   * not synced is still not synced. A number: a power cut after the cache wrote the first so many steps, in order (at most
   * `unsyncedSteps`). A function: what is to be found under each name, for a disk that reorders.
   */
  readonly keepUnsynced?: "none" | "all" | number | KeepUnsynced;
}

/**
 * Named bytes in memory.
 *
 * @example
 * ```ts
 * import { publish } from "../../storage/storage_port.ts";
 * import { MemoryStorage } from "./memory_storage.ts";
 *
 * const storage = new MemoryStorage({ simulate: "disk" });
 * const lock = await storage.lock("a/session.lock");
 * await publish(storage, "a/log", new TextEncoder().encode("one"), lock);
 * const file = await storage.open("a/log", lock);
 * await file.append(new TextEncoder().encode("two"));
 *
 * const restarted = storage.crash({ keepUnsynced: 1 });
 * if (new TextDecoder().decode(await restarted.read("a/log")) !== "onet") throw new Error("unreachable");
 * ```
 */
export class MemoryStorage implements StoragePort {
  readonly traits: StorageTraits;
  readonly #options: MemoryStorageOptions;
  readonly #medium: MemoryMedium;
  readonly #process: MemoryProcess;

  /** A fresh medium, unless `medium` is given. */
  constructor(options: MemoryStorageOptions = {}, medium?: MemoryMedium) {
    const isDisk = options.simulate === "disk";
    this.#options = options;
    this.#medium = medium ?? new MemoryMedium(isDisk);
    if (medium === undefined) this.#medium.capacityBytes = options.capacityBytes ?? Infinity;
    this.#process = new MemoryProcess(this.#medium);
    this.traits = {
      medium: "memory",
      sync: isDisk ? "device" : "none",
      names: options.names ?? "synced",
      publish: "link",
      lockScope: isDisk ? "host" : "process",
      persistence: isDisk ? "persistent" : "volatile",
    };
  }

  // deno-lint-ignore require-await -- rejects rather than throws, as every port verb does
  async list(prefix: string): Promise<readonly StorageEntry[]> {
    this.#process.checkAlive(`list "${prefix}"`);
    folderParts(prefix);
    if (prefix !== "") this.#checkFolders(prefix + "x", "list");
    const kinds = new Map<string, StorageEntry["kind"]>();
    for (const name of this.#medium.names.keys()) {
      if (!name.startsWith(prefix)) continue;
      const end = name.indexOf("/", prefix.length);
      kinds.set(end < 0 ? name : name.slice(0, end + 1), end < 0 ? "file" : "folder");
    }
    return [...kinds].map(([name, kind]) => ({ name, kind })).sort((a, b) => a.name < b.name ? -1 : 1);
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async stat(name: string): Promise<StorageStat | null> {
    const node = this.#find(name, "stat");
    return node === null ? null : { sizeBytes: node.written.sizeBytes, revision: `${node.id}:${node.writes}` };
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async read(name: string, range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    const node = this.#find(name, "read");
    if (node === null) throw new NotFoundError(`Cannot read "${name}": there is no such file`);
    return node.written.slice(range.startBytes, range.endBytes);
  }

  async lock(name: string): Promise<StorageLock> {
    let node = this.#find(name, "lock");
    if (node === null) {
      const created = node = this.#medium.createNode();
      await this.#process.run({
        kind: "lock",
        name,
        steps: 1,
        apply: (steps) => steps > 0 && this.#medium.setName(name, created),
      });
    }
    const holder = this.#process.hold(node);
    if (holder === null) throw new LockHeldError(`Cannot lock "${name}": another holder is alive`);
    return new MemoryLock(name, this.#process, node, holder);
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async isLocked(name: string): Promise<boolean> {
    return (this.#find(name, "look at the lock")?.holder ?? null) !== null;
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async stage(name: string, lock: StorageLock): Promise<StagedFile> {
    nameParts(name);
    const held = this.#checkLock(lock, name, "stage");
    this.#checkFolders(name, "stage");
    return new MemoryStage({
      name,
      process: this.#process,
      lock: held,
      isTaken: () => this.#medium.names.has(name) || this.#isFolder(name),
      namesAreSynced: this.traits.names === "synced",
    });
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async open(name: string, lock: StorageLock): Promise<StorageFile> {
    const node = this.#find(name, "open");
    const held = this.#checkLock(lock, name, "open");
    if (node === null) throw new NotFoundError(`Cannot open "${name}": there is no such file`);
    const holder = this.#process.hold(node);
    if (holder === null) throw new LockHeldError(`Cannot open "${name}": a live writer holds the file`);
    if (this.traits.names === "synced") this.#medium.syncNames();
    return new MemoryFile(name, this.#process, held, node, holder);
  }

  async remove(name: string, lock: StorageLock): Promise<void> {
    if (name.endsWith("/")) folderParts(name);
    else nameParts(name);
    this.#checkLock(lock, name, "remove");
    this.#checkFolders(name, "remove");
    const isOurs = (other: string) => name.endsWith("/") ? other.startsWith(name) : other === name;
    if (!name.endsWith("/") && this.#isFolder(name)) throw notAFile(name, "remove");
    const names = [...this.#medium.names.keys()].filter(isOurs).sort();
    names.sort((a, b) => Number(a === lock.name) - Number(b === lock.name));
    if (names.length === 0) return;
    for (const each of names) {
      const holder = this.#medium.names.get(each)?.holder ?? null;
      if (holder === null || holder.process === this.#process) continue;
      throw new LockHeldError(`Cannot remove "${name}": a live writer holds "${each}"`);
    }
    const isSynced = this.traits.names === "synced";
    await this.#process.run({
      kind: "remove",
      name,
      steps: names.length + (isSynced ? 1 : 0),
      apply: (steps) => {
        for (const each of names.slice(0, steps)) this.#medium.removeName(each);
        if (steps > names.length) this.#medium.syncNames();
      },
    });
  }

  close(): Promise<void> {
    this.#process.end("closed");
    return Promise.resolve();
  }

  /** Does what `close` does. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Plans a fault. Several may be planned; each is used `times` times. Works with and without `simulate`.
   *
   * @see Fault for what can fail and how far it gets
   */
  failAt(fault: Fault): void {
    this.#process.plan.add(fault);
  }

  /** Forgets every planned fault: the disk is well again. */
  heal(): void {
    this.#process.plan.clear();
  }

  /** The operations started so far, at most `OPERATIONS_LISTED_MAX`. A restarted storage begins anew. */
  get operations(): readonly OperationRecord[] {
    return this.#process.plan.operations;
  }

  /** How many operations were started so far; also the index of the next. */
  get operationCount(): number {
    return this.#process.plan.operationCount;
  }

  /** How many steps (bytes, truncates, names) no sync took to the disk yet: the range of `crash({ keepUnsynced: n })`. */
  get unsyncedSteps(): number {
    return this.#medium.waiting;
  }

  /** How many bytes all files together may have. May be changed at any time: a disk that fills, a disk that is cleared. */
  get capacityBytes(): number {
    return this.#medium.capacityBytes;
  }

  set capacityBytes(capacityBytes: number) {
    this.#medium.capacityBytes = capacityBytes;
  }

  /**
   * Ends this process and returns the storage as the restarted machine finds it, with every lock free and no fault planned.
   * May be asked again with other options: each answer is a machine of its own, and this one stays dead.
   *
   * Calls on a storage that crashed reject with {@linkcode SimulatedCrashError}; releasing and closing what it had is harmless.
   *
   * @throws {TypeError} without `simulate: "disk"`
   */
  crash(options: CrashOptions = {}): MemoryStorage {
    if (this.#options.simulate !== "disk") throw new TypeError('Cannot crash a storage without simulate: "disk"');
    this.kill();
    const keep = options.keepUnsynced ?? "none";
    if (keep === "all") return new MemoryStorage(this.#options, this.#medium.copy());
    if (typeof keep === "function") return new MemoryStorage(this.#options, this.#medium.afterCrashKeeping(keep));
    return new MemoryStorage(this.#options, this.#medium.afterCrash(keep === "none" ? 0 : keep));
  }

  /** Ends this process alone, as kill -9 does: its locks are free, the machine and its other processes go on. */
  kill(): void {
    this.#process.end("dead");
  }

  /** Whether a planned crash or `kill()` ended this process. */
  get isDead(): boolean {
    return this.#process.isDead;
  }

  /** Another process on the same machine: the same files, locks of its own, its own faults. */
  peer(): MemoryStorage {
    return new MemoryStorage(this.#options, this.#medium);
  }

  /** Takes everything that waits to the disk, as the cache does after a while by itself. */
  writeBack(): void {
    this.#medium.writeBack();
  }

  /** A program on the same machine that ignores our locks. */
  get stranger(): MemoryStranger {
    return strangerOn(this.#medium);
  }

  /** The node of a name, `null` when there is none. */
  #find(name: string, verb: string): MediumNode | null {
    this.#process.checkAlive(`${verb} "${name}"`);
    nameParts(name);
    this.#checkFolders(name, verb);
    if (this.#isFolder(name)) throw notAFile(name, verb);
    return this.#medium.names.get(name) ?? null;
  }

  #isFolder(name: string): boolean {
    for (const other of this.#medium.names.keys()) if (other.startsWith(name + "/")) return true;
    return false;
  }

  /** Throws when a file stands where a folder of this name should be. */
  #checkFolders(name: string, verb: string): void {
    for (let folder = folderOf(name); folder !== ""; folder = folderOf(folder)) {
      const isFile = this.#medium.names.has(folder.slice(0, -1));
      if (isFile) throw new StorageLostError(`Cannot ${verb} "${name}": "${folder.slice(0, -1)}" is not a folder`);
    }
  }

  #checkLock(lock: StorageLock, name: string, verb: string): MemoryLock {
    const what = `${verb} "${name}"`;
    this.#process.checkAlive(what);
    checkCovered(lock.name, name);
    if (!(lock instanceof MemoryLock)) {
      throw new TypeError(`Cannot ${what}: the lock "${lock.name}" is of another storage`);
    }
    lock.checkHeld(this.#process, what);
    return lock;
  }
}

function notAFile(name: string, verb: string): StorageLostError {
  return new StorageLostError(`Cannot ${verb} "${name}": it is a folder`);
}
