/**
 * A file that is locked, and whoever can lock one.
 *
 * @module
 */

/** A held lock on a file, with a descriptor of its own that is never written through. */
export interface Guard {
  /** The file that is locked: device and inode. */
  readonly identity: string;
  release(): void;
}

/** Locks whole files between processes, without ever waiting. */
export interface KernelLock {
  /** Why nothing can be locked on this system, so that nothing is written either; `null` when it can. */
  readonly unusable: string | null;
  /** Takes the exclusive lock of an existing file, or returns `null` when somebody has any lock on it. */
  acquire(path: string): Guard | null;
  /** Whether somebody has the exclusive lock. */
  probe(path: string): boolean;
}
