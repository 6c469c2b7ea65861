/**
 * What a simulated medium counts, and how one of its operations fails.
 *
 * @module
 */

/**
 * One call to the operating system or the browser that changes something or makes it durable. Looking and reading is none.
 *
 * `create`: a file without content (a lock file, a stage, a claim). `link`: a stage gets its name. `open-handle`: an exclusive
 * handle (OPFS). `sync`: of one file. `sync-folder`: of the names in one folder (POSIX).
 */
export type MediumOperationKind =
  | "mkdir"
  | "create"
  | "open-handle"
  | "write"
  | "truncate"
  | "sync"
  | "sync-folder"
  | "link"
  | "unlink";

/** An operation that was started. */
export interface MediumOperation {
  /** Its index; the first is 0. */
  readonly operation: number;
  readonly kind: MediumOperationKind;
  /** The name on the medium; of a stage, the name it will get. A folder's ends with `/`. */
  readonly name: string;
  /** The process, as `open()` named it. */
  readonly process: string;
  /** For a write, how many bytes. */
  readonly sizeBytes: number;
}

/**
 * How an operation fails.
 *
 * | kind | in | what happens |
 * |---|---|---|
 * | `crash` | any | the machine loses power before the operation is done; every call rejects from then on |
 * | `kill` | any | the process dies before the operation is done, as of kill -9: the cache and the other processes go on |
 * | `EIO` | any | input/output error. A write has taken some bytes. A sync drops what waited, as `sync-drops` does |
 * | `ENOSPC` | `mkdir`, `create`, `write`, `sync`, `link` | no room. A write has taken some bytes. A sync drops what waited |
 * | `short-write` | `write` | it takes some of the bytes and says so |
 * | `sync-refused` | `sync`, `sync-folder` | it fails and everything goes on waiting: a later sync may make it durable |
 * | `sync-drops` | `sync` | it fails, and what waited is from now on called clean: it can be read, may be durable or not, and no later sync writes it |
 * | `handle-refused` | `open-handle` | somebody seems to have the file. Once is waited out, as the OPFS adapter does; sticky is `LOCK_HELD` |
 * | `vanished` | `write`, `truncate`, `sync` | just before, the file's name is removed, durably, as by a person or by clearing a site's data |
 */
export type MediumFaultKind =
  | "crash"
  | "kill"
  | "EIO"
  | "ENOSPC"
  | "short-write"
  | "sync-refused"
  | "sync-drops"
  | "handle-refused"
  | "vanished";

/** A fault to come. */
export interface MediumFault {
  /** The index of the operation. One the kind cannot befall is let pass, and the next that it can befall takes the fault. */
  readonly operation: number;
  readonly kind: MediumFaultKind;
  /** `true`: every later operation that the kind can befall fails too, until `heal()`. With `EIO` reading fails as well. */
  readonly sticky?: boolean;
  /** How many bytes a write takes before it fails. Default: none in a crash or kill, else drawn from the medium's seed. */
  readonly bytes?: number;
}

const BEFALLS: Readonly<Record<MediumFaultKind, readonly MediumOperationKind[] | null>> = {
  "crash": null,
  "kill": null,
  "EIO": null,
  "ENOSPC": ["mkdir", "create", "write", "sync", "link"],
  "short-write": ["write"],
  "sync-refused": ["sync", "sync-folder"],
  "sync-drops": ["sync"],
  "handle-refused": ["open-handle"],
  "vanished": ["write", "truncate", "sync"],
};

/**
 * Whether a fault of this kind can befall an operation of that kind.
 *
 * @example
 * ```ts
 * import { canBefall } from "./faults.ts";
 *
 * if (canBefall("short-write", "sync") || !canBefall("crash", "sync")) throw new Error("unreachable");
 * ```
 */
export function canBefall(fault: MediumFaultKind, operation: MediumOperationKind): boolean {
  return BEFALLS[fault]?.includes(operation) ?? true;
}

/** Bound of the list of operations; later ones are counted and not listed. */
export const OPERATIONS_LISTED_MAX = 100_000;

/** The faults to come and the operations that were. */
export class MediumFaults {
  readonly listed: MediumOperation[] = [];
  #count = 0;
  #faults: MediumFault[] = [];
  #deadFault: MediumFault | null = null;

  /** Told of every operation before anything of it is done. */
  observer: ((operation: MediumOperation) => void) | null = null;

  get count(): number {
    return this.#count;
  }

  /** A sticky `EIO` that has struck: nothing can be read any more. */
  get isUnreadable(): boolean {
    return this.#deadFault !== null;
  }

  add(fault: MediumFault): void {
    this.#faults.push(fault);
  }

  clear(): void {
    this.#faults = [];
    this.#deadFault = null;
  }

  /** Counts an operation and returns the fault that befalls it, the one that was planned first. */
  next(kind: MediumOperationKind, name: string, process: string, sizeBytes: number): MediumFault | null {
    // Before it is counted: what can be left by a crash now is still what the operations before it left.
    this.observer?.({ operation: this.#count, kind, name, process, sizeBytes });
    const operation = this.#count++;
    if (this.listed.length < OPERATIONS_LISTED_MAX) this.listed.push({ operation, kind, name, process, sizeBytes });
    if (this.#faults.length === 0) return null;
    const due = this.#faults.find((fault) => fault.operation <= operation && canBefall(fault.kind, kind));
    if (due === undefined) return null;
    if (due.sticky !== true) this.#faults = this.#faults.filter((other) => other !== due);
    else if (due.kind === "EIO") this.#deadFault = due;
    return due;
  }
}
