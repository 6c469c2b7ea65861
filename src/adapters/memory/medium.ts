/**
 * The medium below the memory adapter: what is on the disk, what is only in the cache, and in which order it got there.
 *
 * Every change is a *step* and waits in one queue until a sync takes it to the disk: each byte of a write is one step, so are
 * a truncate, a name that appears and a name that goes. A crash keeps some of the waiting steps and forgets the rest.
 *
 * @module
 */

import { GrowableBytes } from "./growable_bytes.ts";

/** A file behind its name, as an inode is. */
export interface MediumNode {
  /** What every process on this machine reads. */
  readonly written: GrowableBytes;
  /** What a power cut leaves. Equals `written` with the node's waiting steps taken back, unless a sync failed. */
  readonly durable: GrowableBytes;
  /** Who holds the kernel lock on this node. One at a time, and only ever a living process. */
  holder: MediumHolder | null;
  /** Changes with every write; part of a file's revision. */
  writes: number;
  readonly id: number;
}

/** What holds a lock on a node; compared by identity. */
export interface MediumHolder {
  /** The storage, standing for a process, that dies with everything it holds. */
  readonly process: object;
}

type Step =
  | { readonly kind: "write"; readonly node: MediumNode; readonly offsetBytes: number; readonly bytes: Uint8Array }
  | { readonly kind: "truncate"; readonly node: MediumNode; readonly sizeBytes: number }
  | { readonly kind: "name"; readonly name: string; readonly node: MediumNode }
  | { readonly kind: "unname"; readonly name: string };

/**
 * Decides what a crash leaves under one name: given what was durable and what was written, either `null` when the name was
 * not there, it returns the bytes to find after the restart, or `null` for no such name.
 */
export type KeepUnsynced = (
  name: string,
  durableBytes: Uint8Array | null,
  writtenBytes: Uint8Array | null,
) => Uint8Array | null;

/** A disk with a cache before it, shared by the processes of one simulated machine. */
export class MemoryMedium {
  /** What every process on this machine sees. */
  readonly names: Map<string, MediumNode> = new Map<string, MediumNode>();
  /** How many bytes all files together may have. */
  capacityBytes = Infinity;
  readonly #durableNames = new Map<string, MediumNode>();
  /** The steps no sync has taken to the disk yet, oldest first. Without a disk to simulate it stays empty. */
  #waiting: Step[] = [];
  readonly #isDisk: boolean;
  #lastId = 0;

  constructor(isDisk: boolean) {
    this.#isDisk = isDisk;
  }

  createNode(bytes: Uint8Array = new Uint8Array(0)): MediumNode {
    return {
      written: new GrowableBytes(bytes),
      durable: new GrowableBytes(bytes),
      holder: null,
      writes: 0,
      id: ++this.#lastId,
    };
  }

  /** Room left, in bytes, for everything that has a name; a stage has none yet and counts when it is published. */
  get freeBytes(): number {
    if (this.capacityBytes === Infinity) return Infinity;
    let usedBytes = 0;
    for (const node of this.names.values()) usedBytes += node.written.sizeBytes;
    return Math.max(0, this.capacityBytes - usedBytes);
  }

  append(node: MediumNode, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const offsetBytes = node.written.sizeBytes;
    this.#change({ kind: "write", node, offsetBytes, bytes: bytes.slice() });
  }

  truncate(node: MediumNode, sizeBytes: number): void {
    if (sizeBytes === node.written.sizeBytes) return;
    this.#change({ kind: "truncate", node, sizeBytes });
  }

  setName(name: string, node: MediumNode): void {
    this.#change({ kind: "name", name, node });
  }

  removeName(name: string): void {
    this.#change({ kind: "unname", name });
  }

  /** How many steps a sync of this node would take to the disk. */
  waitingOf(node: MediumNode): number {
    return countSteps(this.#waiting.filter((step) => isOf(step, node)));
  }

  /** How many steps wait in all. */
  get waiting(): number {
    return countSteps(this.#waiting);
  }

  /** Takes the first `steps` waiting steps of a node to the disk; the others go on waiting. */
  syncNode(node: MediumNode, steps = Infinity): void {
    this.#sync((step) => isOf(step, node), steps);
  }

  /** Takes names that came and went to the disk. */
  syncNames(): void {
    this.#sync((step) => step.kind === "name" || step.kind === "unname", Infinity);
  }

  /** Takes every waiting step to the disk, as the cache does after a while by itself. */
  writeBack(): void {
    this.#sync(() => true, Infinity);
  }

  /**
   * Forgets that a node has waiting steps, as a page cache does when a write-back fails: the bytes can still be read, and
   * no later sync will ever write them.
   */
  forgetWaiting(node: MediumNode): void {
    this.#waiting = this.#waiting.filter((step) => !isOf(step, node));
  }

  /** The medium after a restart: the first `steps` waiting steps made it, nobody holds a lock. This medium stays as it is. */
  afterCrash(steps: number): MemoryMedium {
    const copy = this.copy();
    copy.#sync(() => true, steps);
    copy.#readBack();
    return copy;
  }

  /** The medium after a restart where `keep` decides for each name. */
  afterCrashKeeping(keep: KeepUnsynced): MemoryMedium {
    const result = new MemoryMedium(this.#isDisk);
    result.capacityBytes = this.capacityBytes;
    for (const name of new Set([...this.#durableNames.keys(), ...this.names.keys()])) {
      const durableBytes = this.#durableNames.get(name)?.durable.slice() ?? null;
      const writtenBytes = this.names.get(name)?.written.slice() ?? null;
      const kept = keep(name, durableBytes, writtenBytes);
      if (kept === null) continue;
      result.setName(name, result.createNode(kept));
    }
    result.syncNames();
    return result;
  }

  /** The same machine with every process gone: what was written can still be read, what waited still waits. */
  copy(): MemoryMedium {
    const result = new MemoryMedium(this.#isDisk);
    result.capacityBytes = this.capacityBytes;
    result.#lastId = this.#lastId;
    const copies = new Map<MediumNode, MediumNode>();
    const copyOf = (node: MediumNode): MediumNode => {
      const copy = copies.get(node) ?? {
        written: new GrowableBytes(node.written.slice()),
        durable: new GrowableBytes(node.durable.slice()),
        holder: null,
        writes: node.writes,
        id: node.id,
      };
      copies.set(node, copy);
      return copy;
    };
    for (const [name, node] of this.names) result.names.set(name, copyOf(node));
    for (const [name, node] of this.#durableNames) result.#durableNames.set(name, copyOf(node));
    result.#waiting = this.#waiting.map((step) => "node" in step ? { ...step, node: copyOf(step.node) } : step);
    return result;
  }

  #change(step: Step): void {
    if (step.kind === "name") this.names.set(step.name, step.node);
    else if (step.kind === "unname") this.names.delete(step.name);
    else applyTo(step.node.written, step);
    if ("node" in step) step.node.writes++;
    if (this.#isDisk) this.#waiting.push(step);
  }

  #sync(chosen: (step: Step) => boolean, steps: number): void {
    const rest: Step[] = [];
    for (const step of this.#waiting) {
      const size = sizeOf(step);
      const taken = chosen(step) ? Math.min(size, steps) : 0;
      steps -= taken;
      if (taken > 0) this.#makeDurable(firstSteps(step, taken));
      if (taken < size) rest.push(lastSteps(step, taken));
    }
    this.#waiting = rest;
  }

  #makeDurable(step: Step): void {
    if (step.kind === "name") this.#durableNames.set(step.name, step.node);
    else if (step.kind === "unname") this.#durableNames.delete(step.name);
    else applyTo(step.node.durable, step);
  }

  /** After a power cut the cache is empty: everything reads as it is on the disk. */
  #readBack(): void {
    this.#waiting = [];
    this.names.clear();
    for (const [name, node] of this.#durableNames) {
      this.names.set(name, node);
      node.written.truncate(0);
      node.written.write(0, node.durable.slice());
    }
  }
}

function isOf(step: Step, node: MediumNode): boolean {
  return (step.kind === "write" || step.kind === "truncate") && step.node === node;
}

function sizeOf(step: Step): number {
  return step.kind === "write" ? step.bytes.length : 1;
}

function countSteps(steps: readonly Step[]): number {
  return steps.reduce((sum, step) => sum + sizeOf(step), 0);
}

function firstSteps(step: Step, count: number): Step {
  return step.kind === "write" ? { ...step, bytes: step.bytes.subarray(0, count) } : step;
}

function lastSteps(step: Step, skipped: number): Step {
  if (step.kind !== "write" || skipped === 0) return step;
  return { ...step, offsetBytes: step.offsetBytes + skipped, bytes: step.bytes.subarray(skipped) };
}

function applyTo(bytes: GrowableBytes, step: Step & { kind: "write" | "truncate" }): void {
  if (step.kind === "write") bytes.write(step.offsetBytes, step.bytes);
  else bytes.truncate(step.sizeBytes);
}
