/**
 * The machine below both media: one tree, the processes that use it, and the operations they run, each of which may fail.
 *
 * @module
 */

import {
  LockHeldError,
  SessionClosedError,
  StorageFullError,
  StorageLostError,
  SyncFailedError,
} from "../../../mod.ts";
import type { CrashBounds, Draws } from "./crash_bounds.ts";
import { type MediumFault, MediumFaults, type MediumOperationKind } from "./faults.ts";
import type { FileNode, FolderNode, Holder } from "./nodes.ts";

/** What a call on a medium that lost power, or of a process that was killed, rejects with. Its code is `STORAGE_LOST`. */
export class MediumCrashError extends StorageLostError {}

/** A simulated process: what it holds, and whether it lives. */
export class SimulatedProcess {
  readonly name: string;
  state: "alive" | "closed" | "dead" = "alive";
  /** Files whose lock or handle it has. */
  readonly held: Map<FileNode, Holder> = new Map();
  /** Names of Web Locks it has (OPFS). */
  readonly webLocks: Map<string, Holder> = new Map();
  /** Ids of folders whose own name this process has synced (POSIX). */
  readonly syncedFolders: Set<number> = new Set();

  /** A fresh one. */
  constructor(name: string) {
    this.name = name;
  }
}

/** A disk, its cache, and who uses it. */
export class SimulatedDisk {
  readonly root: FolderNode;
  readonly bounds: CrashBounds;
  readonly faults: MediumFaults = new MediumFaults();
  readonly processes: Set<SimulatedProcess> = new Set();
  /** Web Locks that are taken, by name. */
  readonly webLocks: Map<string, Holder> = new Map();
  readonly draws: Draws;
  /** What dead processes held, for those who want it refused for a while after a restart. */
  readonly heldAtDeath: { readonly files: Set<number>; readonly webLocks: Set<string> } = {
    files: new Set(),
    webLocks: new Set(),
  };
  /** Counts what happens outside of operations. */
  disturbances = 0;
  isDead = false;
  /** How often what a killed process held still refuses others. */
  readonly lockHeldAfterDeath: number;
  #lastId: number;

  constructor(root: FolderNode, bounds: CrashBounds, draws: Draws, lockHeldAfterDeath: number, lastId: number) {
    this.root = root;
    this.lockHeldAfterDeath = lockHeldAfterDeath;
    this.bounds = bounds;
    this.draws = draws;
    this.#lastId = lastId;
  }

  get lastId(): number {
    return this.#lastId;
  }

  nextId(): number {
    return ++this.#lastId;
  }

  start(name: string): SimulatedProcess {
    const actor = new SimulatedProcess(name);
    this.processes.add(actor);
    return actor;
  }

  /** Throws unless the process can still do something. `what` completes "Cannot …". */
  checkAlive(actor: SimulatedProcess, what: string): void {
    if (this.isDead) throw new MediumCrashError(`Cannot ${what}: the simulated machine lost power`);
    if (actor.state === "dead") throw new MediumCrashError(`Cannot ${what}: the simulated process was killed`);
    if (actor.state === "closed") throw new SessionClosedError(`Cannot ${what}: the storage is closed`);
  }

  /** The same, and the medium must answer. */
  checkReadable(actor: SimulatedProcess, what: string): void {
    this.checkAlive(actor, what);
    if (this.faults.isUnreadable) throw new StorageLostError(`Cannot ${what}: input/output error (simulated)`);
  }

  /** Takes the lock or the handle of a file. A ghost refuses as often as it has tries left, and `tries` of them are used up. */
  hold(actor: SimulatedProcess, file: FileNode, tries = 1): Holder | null {
    const holder = take(file.holder, actor, tries);
    if (holder === null) return null;
    file.holder = holder;
    actor.held.set(file, holder);
    return holder;
  }

  free(actor: SimulatedProcess, file: FileNode, holder: Holder): void {
    if (file.holder !== holder) return;
    file.holder = null;
    actor.held.delete(file);
  }

  holdWebLock(actor: SimulatedProcess, name: string): Holder | null {
    const holder = take(this.webLocks.get(name) ?? null, actor, 1);
    if (holder === null) return null;
    this.webLocks.set(name, holder);
    actor.webLocks.set(name, holder);
    return holder;
  }

  freeWebLock(actor: SimulatedProcess, name: string, holder: Holder): void {
    if (this.webLocks.get(name) !== holder) return;
    this.webLocks.delete(name);
    actor.webLocks.delete(name);
  }

  /** Ends a process. What it held is free, or refuses the next `ghostTries` tries of each. */
  end(actor: SimulatedProcess, state: "closed" | "dead", ghostTries = 0): void {
    if (actor.state === "dead") return;
    actor.state = state;
    this.processes.delete(actor);
    const ghost = () => ghostTries > 0 ? { process: null, triesLeft: ghostTries } : null;
    for (const [file, holder] of actor.held) {
      if (state === "dead") this.heldAtDeath.files.add(file.id);
      if (file.holder === holder) file.holder = ghost();
    }
    for (const [name, holder] of actor.webLocks) {
      if (state === "dead") this.heldAtDeath.webLocks.add(name);
      if (this.webLocks.get(name) !== holder) continue;
      const left = ghost();
      if (left === null) this.webLocks.delete(name);
      else this.webLocks.set(name, left);
    }
    actor.held.clear();
    actor.webLocks.clear();
  }

  /** Counts an operation that is done whole or not at all, and does it. */
  run(actor: SimulatedProcess, kind: MediumOperationKind, name: string, what: string, act: () => void): void {
    const fault = this.#begin(actor, kind, name, what, 0);
    if (fault !== null) throw this.#refusal(fault, what);
    act();
  }

  /** Counts a write. Returns how many bytes were taken. */
  write(actor: SimulatedProcess, target: Target, offsetBytes: number, bytes: Uint8Array, what: string): number {
    const fault = this.#begin(actor, "write", target.name, what, bytes.length, target.vanish, (due) => {
      const takenBytes = Math.min(bytes.length, due.bytes ?? 0);
      target.file.write(offsetBytes, bytes.subarray(0, takenBytes));
    });
    if (fault === null) {
      target.file.write(offsetBytes, bytes);
      return bytes.length;
    }
    const takenBytes = Math.min(fault.bytes ?? this.draws.below(Math.max(1, bytes.length)), bytes.length);
    target.file.write(offsetBytes, bytes.subarray(0, takenBytes));
    if (fault.kind === "short-write") return takenBytes;
    throw this.#refusal(fault, what);
  }

  /** Counts a cut. */
  truncate(actor: SimulatedProcess, target: Target, sizeBytes: number, what: string): void {
    const fault = this.#begin(actor, "truncate", target.name, what, 0, target.vanish);
    if (fault !== null) throw this.#refusal(fault, what);
    target.file.truncate(sizeBytes);
  }

  /** Counts a sync of a file. */
  sync(actor: SimulatedProcess, target: Target, what: string): void {
    const { blockBytes } = this.bounds;
    const fault = this.#begin(actor, "sync", target.name, what, 0, target.vanish);
    if (fault === null) return target.file.settle(blockBytes);
    if (fault.kind !== "sync-refused") target.file.drop(blockBytes);
    const cause = this.#refusal(fault, what);
    throw new SyncFailedError(cause.message, { cause });
  }

  /** Loses power: every process is gone, and nothing more happens here. */
  crash(): void {
    this.isDead = true;
    for (const actor of [...this.processes]) this.end(actor, "dead");
  }

  #begin(
    actor: SimulatedProcess,
    kind: MediumOperationKind,
    name: string,
    what: string,
    sizeBytes: number,
    vanish?: () => void,
    beforeDeath?: (fault: MediumFault) => void,
  ): MediumFault | null {
    this.checkAlive(actor, what);
    const fault = this.faults.next(kind, name, actor.name, sizeBytes);
    if (fault === null) return null;
    if (fault.kind === "vanished") {
      vanish?.();
      return null;
    }
    if (fault.kind !== "crash" && fault.kind !== "kill") return fault;
    beforeDeath?.(fault);
    if (fault.kind === "crash") this.crash();
    else this.end(actor, "dead", this.lockHeldAfterDeath);
    throw new MediumCrashError(
      `Cannot ${what}: the simulated ${fault.kind === "crash" ? "machine lost power" : "process was killed"} here`,
    );
  }

  #refusal({ kind }: MediumFault, what: string): Error {
    switch (kind) {
      case "ENOSPC":
        return new StorageFullError(`Cannot ${what}: no room left (simulated)`);
      case "handle-refused":
        return new LockHeldError(`Cannot ${what}: a live writer holds the file (simulated)`);
      case "sync-refused":
      case "sync-drops":
        return new StorageLostError(`Cannot ${what}: the device refused (simulated)`);
      default:
        return new StorageLostError(`Cannot ${what}: input/output error (simulated)`);
    }
  }
}

/** A file that something is done to. */
export interface Target {
  readonly file: FileNode;
  readonly name: string;
  /** Removes its name, durably. */
  readonly vanish: () => void;
}

/** A new holder, or `null` while somebody else is one. */
function take(current: Holder | null, process: object, tries: number): Holder | null {
  if (current !== null) {
    if (current.process !== null) return null;
    const refused = Math.min(current.triesLeft, tries);
    current.triesLeft -= refused;
    if (refused === tries) return null;
  }
  return { process, triesLeft: 0 };
}
