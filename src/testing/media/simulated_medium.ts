/**
 * A simulated medium: named bytes that several simulated processes share, that fail on purpose, and that lose power.
 *
 * @module
 */

import { nameParts, type StoragePort } from "../../../mod.ts";
import type { Content } from "./content.ts";
import { CRASH_BOUNDS, type CrashBounds, type Draws } from "./crash_bounds.ts";
import { CrashSpace, drawState, type MadeState, type SpaceOptions } from "./crash_space.ts";
import { SimulatedDisk } from "./disk.ts";
import type { MediumFault, MediumOperation } from "./faults.ts";
import { drawsOf } from "./draws.ts";
import { FolderNode, type MediumNode } from "./nodes.ts";
import { isWhole } from "./opfs_file.ts";
import { OpfsStorage } from "./opfs_storage.ts";
import { PosixStorage } from "./posix_storage.ts";
import { type MediumStranger, place, strangerOn, writeBack } from "./stranger.ts";
import { filesBelow, imageOf, keyOfTree } from "./tree.ts";

/** Which contract the medium keeps: that of `posix_storage.ts` or that of `opfs_storage.ts`. */
export type MediumKind = "posix" | "opfs";

/** What to simulate. */
export interface SimulatedMediumOptions {
  readonly kind: MediumKind;
  /** Decides how many bytes a failing write takes. Default 1. */
  readonly seed?: number;
  /** How far crash states are enumerated. Default {@linkcode CRASH_BOUNDS}. */
  readonly bounds?: Partial<CrashBounds>;
  /** How often a lock or handle of a dead process still refuses others. Default 0: it is free at once. */
  readonly lockHeldAfterDeath?: number;
}

/** What a power cut leaves. */
export interface CrashState {
  /** Says which of the waiting changes arrived, for a person. */
  describe(): string;
  /** The full names that were waiting and did not arrive: files and folders that the crash took, whatever was in them. */
  lostNames(): readonly string[];
  /** A fresh medium that holds exactly this, all of it durable. Each call makes another. */
  medium(options?: RestartOptions): SimulatedMedium;
  /** A text that is equal for two states exactly when all their names and bytes are, but for a chance of 2⁻⁶⁴. */
  readonly key: string;
  /** The files by name. The bytes are shared and must not be changed. */
  files(): ReadonlyMap<string, Uint8Array>;
}

/** How a machine comes back. */
export interface RestartOptions {
  /** Default: as the medium that crashed had it, so that a run of several crashes repeats. */
  readonly seed?: number;
  /**
   * How often the lock or handle of each file that a dead process had is refused. Default 0, as after a power cut; more is for
   * a state that stands for the death of a process or a browser alone.
   */
  readonly lockHeldAfterDeath?: number;
}

/**
 * A medium and the processes that use it.
 *
 * @example
 * ```ts
 * import { publishWhole } from "../storage_context.ts";
 * import { simulatedMedium } from "./simulated_medium.ts";
 *
 * const medium = simulatedMedium({ kind: "posix" });
 * const storage = medium.open("writer");
 * const lock = await storage.lock("a/session.lock");
 * await publishWhole(storage, "a/log", new TextEncoder().encode("one"), lock);
 * const file = await storage.open("a/log", lock);
 * await file.append(new TextEncoder().encode("two"));
 *
 * const found = new Set<string>();
 * for (const state of medium.crashStates()) found.add(new TextDecoder().decode(state.files().get("a/log")));
 * // Any part of what was not synced, or its length without its bytes.
 * if ([...found].join() !== "one,onet,onetw,onetwo,one\0\0\0") throw new Error([...found].join());
 * ```
 */
export class SimulatedMedium {
  readonly kind: MediumKind;
  readonly #disk: SimulatedDisk;
  readonly #seed: number;
  /** What a power cut may leave, as of the operation it was asked at. */
  #space: { readonly at: string; readonly space: CrashSpace } | null = null;

  /** Use {@linkcode simulatedMedium}. */
  constructor(kind: MediumKind, disk: SimulatedDisk, seed: number) {
    this.kind = kind;
    this.#disk = disk;
    this.#seed = seed;
  }

  /** Starts a process. Its name is for messages, `kill()` and `operationLog`; two may have the same. */
  open(processName: string): StoragePort {
    const actor = this.#disk.start(processName);
    return this.kind === "posix" ? new PosixStorage(this.#disk, actor) : new OpfsStorage(this.#disk, actor);
  }

  /** How many operations were started; also the index of the next. */
  get operations(): number {
    return this.#disk.faults.count;
  }

  /** The operations so far, at most `OPERATIONS_LISTED_MAX`. */
  get operationLog(): readonly MediumOperation[] {
    return this.#disk.faults.listed;
  }

  /** Told of every operation before anything of it is done: what a crash can leave at that moment is what came before it. */
  get observer(): ((operation: MediumOperation) => void) | null {
    return this.#disk.faults.observer;
  }

  set observer(observer: ((operation: MediumOperation) => void) | null) {
    this.#disk.faults.observer = observer;
  }

  /** Plans a fault. Several may be planned. */
  failAt(fault: MediumFault): void {
    this.#disk.faults.add(fault);
  }

  /** Forgets every fault that is planned or goes on. */
  heal(): void {
    this.#disk.faults.clear();
  }

  /** Whether the machine lost power: every call of every process rejects. */
  get isDead(): boolean {
    return this.#disk.isDead;
  }

  /** Loses power now. */
  crash(): void {
    this.#disk.crash();
  }

  /** Ends the processes of this name as kill -9 does, or as closing a tab: the cache and the other processes go on. */
  kill(processName: string, lockHeldAfterDeath: number = this.#disk.lockHeldAfterDeath): void {
    for (const actor of [...this.#disk.processes]) {
      if (actor.name === processName) this.#disk.end(actor, "dead", lockHeldAfterDeath);
    }
  }

  /** Takes everything that waits to the device, as the cache does after a while by itself. What was dropped stays dropped. */
  writeBack(): void {
    this.#disk.disturbances++;
    writeBack(this.#disk.root, this.#disk.bounds.blockBytes);
  }

  /**
   * Every state a power cut may leave now, each content once, the one where nothing of what waits arrived first. Each is made
   * when it is asked for; what this medium does meanwhile changes none of them.
   *
   * @see CrashBounds for what is left out where there would be too many
   */
  *crashStates(): Generator<CrashState> {
    const space = this.#crashSpace();
    for (let index = 0; index < space.count; index++) yield this.#stateOf(() => space.at(index));
  }

  /** How many states {@linkcode crashStates} gives. */
  countCrashStates(): number {
    return this.#crashSpace().count;
  }

  /** One of them, by its number. */
  crashStateAt(index: number): CrashState {
    const space = this.#crashSpace();
    if (!Number.isSafeInteger(index) || index < 0 || index >= space.count) {
      throw new RangeError(`Cannot make crash state ${index}: there are ${space.count}`);
    }
    return this.#stateOf(() => space.at(index));
  }

  /** A state drawn from all there are, also from those the bounds leave out. */
  randomCrashState(draws: Draws): CrashState {
    const made = drawState(this.#disk.root, this.#spaceOptions, draws);
    return this.#stateOf(() => ({ root: made.root.copy(), lines: made.lines, lost: made.lost }));
  }

  /** The machine as it goes on when all its processes were killed: the same cache, and what waited still waits. */
  afterKill(options: RestartOptions = {}): SimulatedMedium {
    return this.#restart(this.#disk.root.copy(), options);
  }

  /** The files as processes see them now, by name. The bytes are shared and must not be changed; later writes do not show. */
  snapshot(): ReadonlyMap<string, Uint8Array> {
    return imageOf(this.#disk.root, isPublishedOn(this.kind));
  }

  /** Whether a power cut leaves this name for certain, with the folders that lead to it. Of its bytes this says nothing. */
  isNameDurable(name: string): boolean {
    let node: MediumNode = this.#disk.root;
    for (const part of nameParts(name)) {
      const next: MediumNode | undefined = node.kind === "folder" ? node.settled.get(part) : undefined;
      if (next === undefined || (node as FolderNode).changes.some((change) => change.name === part)) return false;
      node = next;
    }
    return true;
  }

  /**
   * Whether a sync of this file failed and dropped bytes that are still only in the cache: they are read as if nothing were wrong,
   * and no later sync, of whatever process, takes them to the device.
   */
  isInDoubt(name: string): boolean {
    const node = nameParts(name).reduce<MediumNode | undefined>(
      (folder, part) => folder?.kind === "folder" ? folder.written.get(part) : undefined,
      this.#disk.root,
    );
    return node?.kind === "file" && node.doubt !== null;
  }

  /** Time: a file holds other bytes than it did, or is gone, on any medium, while nobody has it open. */
  decay(name: string, bytes: Uint8Array | null): void {
    const stranger = strangerOn(this.#disk);
    if (bytes === null) stranger.remove(name);
    else stranger.write(name, bytes);
  }

  /** A program that ignores our locks. What it does is durable at once, and no operation. Not on OPFS: there is none. */
  get stranger(): MediumStranger {
    if (this.kind !== "posix") throw new TypeError("Cannot meet a stranger: an origin's private files have none");
    return strangerOn(this.#disk);
  }

  get #spaceOptions(): SpaceOptions {
    return { bounds: this.#disk.bounds, isPublished: isPublishedOn(this.kind) };
  }

  #crashSpace(): CrashSpace {
    const at = `${this.#disk.faults.count}:${this.#disk.disturbances}`;
    if (this.#space?.at !== at) this.#space = { at, space: new CrashSpace(this.#disk.root, this.#spaceOptions) };
    return this.#space.space;
  }

  #stateOf(make: () => MadeState): CrashState {
    return {
      get key() {
        return keyOfTree(make().root);
      },
      lostNames: () => make().lost,
      describe: () => make().lines.map((line) => line()).join("; ") || "nothing waited",
      medium: (options = {}) => this.#restart(make().root, options),
      files: () => imageOf(make().root, isPublishedOn(this.kind)),
    };
  }

  #restart(root: FolderNode, { seed = this.#seed, lockHeldAfterDeath = 0 }: RestartOptions): SimulatedMedium {
    const { bounds, lastId } = this.#disk;
    const disk = new SimulatedDisk(root, bounds, drawsOf(seed), this.#disk.lockHeldAfterDeath, lastId);
    if (lockHeldAfterDeath > 0) {
      const { files, webLocks } = this.#disk.heldAtDeath;
      for (const [, file] of filesBelow(root)) {
        if (files.has(file.id)) file.holder = { process: null, triesLeft: lockHeldAfterDeath };
      }
      for (const name of webLocks) disk.webLocks.set(name, { process: null, triesLeft: lockHeldAfterDeath });
    }
    return new SimulatedMedium(this.kind, disk, seed);
  }
}

/**
 * A fresh medium without files.
 *
 * @example
 * ```ts
 * import { simulatedMedium } from "./simulated_medium.ts";
 *
 * const medium = simulatedMedium({ kind: "opfs" });
 * await medium.open("worker").lock("a/session.lock");
 * medium.crash();
 * // Of the folders, the lock file and its three bytes, any part may be there.
 * if (medium.countCrashStates() < 4) throw new Error("unreachable");
 * const after = medium.crashStateAt(0).medium();
 * if ((await after.open("another").list("")).length !== 0) throw new Error("unreachable");
 * ```
 */
export function simulatedMedium(options: SimulatedMediumOptions): SimulatedMedium {
  return simulatedMediumWith({}, options);
}

/**
 * A fresh medium that holds these files, durably. For a test that starts from a log of its own.
 *
 * @example
 * ```ts
 * import { simulatedMediumWith } from "./simulated_medium.ts";
 *
 * const medium = simulatedMediumWith({ "a/log": new TextEncoder().encode("one") }, { kind: "posix" });
 * if (medium.countCrashStates() !== 1 || medium.snapshot().get("a/log")?.length !== 3) throw new Error("unreachable");
 * ```
 */
export function simulatedMediumWith(
  files: Readonly<Record<string, Uint8Array>>,
  options: SimulatedMediumOptions,
): SimulatedMedium {
  const { kind, seed = 1, lockHeldAfterDeath = 0 } = options;
  const root = new FolderNode(0);
  const disk = new SimulatedDisk(root, { ...CRASH_BOUNDS, ...options.bounds }, drawsOf(seed), lockHeldAfterDeath, 0);
  for (const [name, bytes] of Object.entries(files)) place(disk, name, bytes);
  return new SimulatedMedium(kind, disk, seed);
}

function isPublishedOn(kind: MediumKind): (content: Content) => boolean {
  return kind === "opfs" ? isWhole : () => true;
}
