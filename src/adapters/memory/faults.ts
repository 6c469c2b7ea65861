/**
 * Faults for the memory adapter: which operation fails, how, and how far it got before it did.
 *
 * @module
 */

/**
 * What counts as one operation: the creation of a lock file, and every change through the port. Inside, each has *steps*:
 *
 * | operation | steps |
 * |---|---|
 * | `lock` | 1: the lock file's name appears. A lock file that is there already costs no operation |
 * | `stageAppend`, `append` | one per byte |
 * | `publish` | 3: bytes synced, name appears, name synced. With `names: "deferred"` 2 |
 * | `sync` | one per waiting byte and per waiting truncate of the file |
 * | `truncate` | 1 |
 * | `remove` | one per name that goes, and 1 for their sync. With `names: "deferred"` without the latter |
 */
export type OperationKind = "lock" | "stageAppend" | "publish" | "append" | "sync" | "truncate" | "remove";

/** An operation that was started. */
export interface OperationRecord {
  /** Its index; the first is 0. */
  readonly operation: number;
  /** What kind of operation it is. */
  readonly kind: OperationKind;
  /** The name on the medium it acts on. */
  readonly name: string;
  /** How many steps it has when nothing fails. */
  readonly steps: number;
}

/** How an operation fails. */
export interface Fault {
  /** The index of the operation, or a kind: the next of that kind. */
  readonly operation: number | OperationKind;
  /**
   * `crash`: the process dies; every later call rejects with {@linkcode SimulatedCrashError}.
   * `enospc`: `STORAGE_FULL`. `eio`: `STORAGE_LOST`. `short` (appends only): `SHORT_WRITE`. `sync` (`sync` and `publish`): `SYNC_FAILED`.
   * A `sync` operation fails with `SYNC_FAILED` whatever the kind; its cause carries the other code.
   * `hang`: waits for `until` and then goes on as if nothing had been.
   */
  readonly kind: "crash" | "enospc" | "eio" | "short" | "sync" | "hang";
  /**
   * How many steps are done before it fails: 0, the default, is *before*, all of them is *after it was done and before anybody
   * heard*. More than there are counts as all. A failed append then cuts back to the old length, a failed publish takes the
   * name away again, and a failed sync loses the rest for good: the bytes still read, and no later sync writes them.
   */
  readonly steps?: number;
  /** For appends: `false` leaves the bytes that were taken, and the file is spent. Default `true`. */
  readonly cutsBack?: boolean;
  /** How many operations fail like this, from the first on. Default 1. */
  readonly times?: number;
  /** For `hang`. */
  readonly until?: Promise<void>;
}

/** Bound of the list that `MemoryStorage.operations` keeps; later operations are counted and not listed. */
export const OPERATIONS_LISTED_MAX = 100_000;

/** The faults to come and the operations that were. */
export class FaultPlan {
  readonly operations: OperationRecord[] = [];
  #operationCount = 0;
  #faults: { readonly fault: Fault; left: number }[] = [];

  get operationCount(): number {
    return this.#operationCount;
  }

  add(fault: Fault): void {
    this.#faults.push({ fault, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#faults = [];
  }

  /** Counts an operation and returns the fault that is due, if one is. The oldest one wins. */
  next(kind: OperationKind, name: string, steps: number): Fault | null {
    const operation = this.#operationCount++;
    if (this.operations.length < OPERATIONS_LISTED_MAX) this.operations.push({ operation, kind, name, steps });
    const due = this.#faults.find(({ fault }) =>
      typeof fault.operation === "number" ? fault.operation <= operation : fault.operation === kind
    );
    if (due === undefined) return null;
    due.left--;
    if (due.left <= 0) this.#faults = this.#faults.filter((other) => other !== due);
    return due.fault;
  }
}
