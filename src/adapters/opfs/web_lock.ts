/**
 * An exclusive Web Lock: what keeps two workers or tabs of one origin apart.
 *
 * @module
 */

import type { WebLocks } from "./platform.ts";

/** A held Web Lock. It ends with `release()` or with its worker. */
export interface WebLock {
  /** Whether somebody stole it. Its holder can go on writing through a sync handle, which is why that is the fence. */
  readonly isStolen: boolean;
  /** Resolves when it is free. Twice is harmless. */
  release(): Promise<void>;
}

/** Takes a lock without waiting; `null` when somebody has it. */
export async function takeWebLock(locks: WebLocks, name: string): Promise<WebLock | null> {
  const granted = Promise.withResolvers<boolean>();
  const held = Promise.withResolvers<void>();
  let isStolen = false;
  const over = locks.request(name, { ifAvailable: true }, (lock) => {
    granted.resolve(lock !== null);
    return lock === null ? Promise.resolve() : held.promise;
  }).then(() => {}, (error) => {
    isStolen = true;
    granted.reject(error);
  });
  if (!await granted.promise) return null;
  return {
    get isStolen() {
      return isStolen;
    },
    release() {
      held.resolve();
      return over;
    },
  };
}

/** Whether anybody in this origin holds the lock now. */
export async function isWebLockHeld(locks: WebLocks, name: string): Promise<boolean> {
  const { held = [] } = await locks.query();
  return held.some((lock) => lock.name === name);
}
