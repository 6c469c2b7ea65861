/**
 * One simulated process: it runs operations against the medium until it dies, and dies where the fault plan says.
 *
 * @module
 */

import {
  SessionClosedError,
  ShortWriteError,
  StorageFullError,
  StorageLostError,
  SyncFailedError,
} from "../../errors.ts";
import { type Fault, FaultPlan, type OperationKind } from "./faults.ts";
import type { MediumHolder, MediumNode, MemoryMedium } from "./medium.ts";

/** What a call on a storage that crashed rejects with. Its code is `STORAGE_LOST`: a dead process can reach nothing. */
export class SimulatedCrashError extends StorageLostError {}

/** An operation, as a process runs it. */
export interface Operation {
  readonly kind: OperationKind;
  readonly name: string;
  /** How many steps `apply` has. */
  readonly steps: number;
  /** How many of them the medium has room for. */
  readonly room?: number;
  /** Does the first `steps` steps. */
  readonly apply: (steps: number) => void;
  /** Takes back what `apply` did, where the port promises it. */
  readonly undo?: (fault: Fault) => void;
}

/** A process on a machine. */
export class MemoryProcess {
  readonly medium: MemoryMedium;
  readonly plan = new FaultPlan();
  /** What this process holds a kernel lock on. Dying frees them all. */
  readonly #held = new Set<MediumNode>();
  #state: "alive" | "closed" | "dead" = "alive";

  constructor(medium: MemoryMedium) {
    this.medium = medium;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** Throws unless this process can still do something. `what` completes "Cannot …". */
  checkAlive(what: string): void {
    if (this.#state === "dead") throw new SimulatedCrashError(`Cannot ${what}: the simulated process has crashed`);
    if (this.#state === "closed") throw new SessionClosedError(`Cannot ${what}: the storage is closed`);
  }

  /** Takes the kernel lock of a node, or returns `null` when somebody has it. */
  hold(node: MediumNode): MediumHolder | null {
    if (node.holder !== null) return null;
    const holder = { process: this };
    node.holder = holder;
    this.#held.add(node);
    return holder;
  }

  /** Frees a node, when it is this holder that has it. Harmless when late or twice. */
  free(node: MediumNode, holder: MediumHolder): void {
    if (node.holder !== holder) return;
    node.holder = null;
    this.#held.delete(node);
  }

  /** Ends the process: its locks are free, its calls reject. */
  end(state: "closed" | "dead"): void {
    if (this.#state === "dead") return;
    this.#state = state;
    for (const node of this.#held) node.holder = null;
    this.#held.clear();
  }

  /** Runs one operation, or as much of it as the fault plan allows. */
  async run(operation: Operation): Promise<void> {
    const { kind, name, steps, apply } = operation;
    const room = operation.room ?? steps;
    const full: Fault | null = room < steps ? { operation: kind, kind: "enospc", steps: room } : null;
    const fault = this.plan.next(kind, name, steps) ?? full;
    if (fault === null) return apply(steps);
    if (fault.kind === "hang") {
      await fault.until;
      this.checkAlive(`${kind} "${name}"`);
      return apply(steps);
    }
    const error = errorOf(fault, operation);
    apply(Math.min(fault.steps ?? 0, steps));
    if (fault.kind === "crash") this.end("dead");
    else operation.undo?.(fault);
    throw error;
  }
}

/** The error a fault shows to the caller. */
function errorOf(fault: Fault, { kind, name }: Operation): Error {
  const what = `Cannot ${kind} "${name}"`;
  switch (fault.kind) {
    case "crash":
      return new SimulatedCrashError(`${what}: the simulated process crashed here`);
    case "enospc":
      return inSync(kind, what, new StorageFullError(`${what}: no room left (simulated)`));
    case "eio":
      return inSync(kind, what, new StorageLostError(`${what}: input/output error (simulated)`));
    case "sync":
      if (kind !== "sync" && kind !== "publish") break;
      return new SyncFailedError(`${what}: the medium refused (simulated)`);
    case "short":
      if (kind !== "append" && kind !== "stageAppend") break;
      return new ShortWriteError(`${what}: the medium took fewer bytes (simulated)`);
  }
  throw new RangeError(`Cannot simulate the fault "${fault.kind}" in a ${kind}`);
}

function inSync(kind: OperationKind, what: string, cause: Error): Error {
  return kind === "sync" ? new SyncFailedError(`${what}: ${cause.message}`, { cause }) : cause;
}
