/**
 * `flock(2)` in Deno: `FsFile.tryLock` is that call, and a lock on a file opened for reading excludes as well.
 *
 * @module
 */

import { identityOf } from "./file_system.ts";
import type { Guard, KernelLock } from "./guard.ts";

/** The lock of Deno. */
export const denoKernelLock: KernelLock = {
  unusable: null,

  acquire(path: string): Guard | null {
    const file = Deno.openSync(path, { read: true });
    try {
      if (file.tryLockSync(true)) return { identity: identityOf(file.statSync()), release: () => file.close() };
    } catch (error) {
      file.close();
      throw error;
    }
    file.close();
    return null;
  },

  // A shared lock, given back at once: it fails only beside an exclusive one.
  probe(path: string): boolean {
    const file = Deno.openSync(path, { read: true });
    try {
      return !file.tryLockSync(false);
    } finally {
      file.close();
    }
  },
};
