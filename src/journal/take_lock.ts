/**
 * Waiting for a lock, for those who want to.
 *
 * @module
 */
import { hasCode, LockHeldError } from "../errors.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { StorageLock, StoragePort } from "../storage/storage_port.ts";
import { LOCK_POLL_MS_MAX, LOCK_POLL_MS_MIN } from "./limits.ts";

/** How long to wait. */
export interface LockWait {
  /** Default 0: one try. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Takes a lock, trying again with growing pauses for `waitMs`.
 *
 * @param what what the lock is for, as a person knows it: `delete session "a"`
 * @throws {LockHeldError} when another holder is alive at the end
 * @throws the signal's reason
 */
export async function takeLock(
  storage: StoragePort,
  name: string,
  what: string,
  clock: Clock,
  { waitMs = 0, signal }: LockWait = {},
): Promise<StorageLock> {
  let leftMs = waitMs;
  for (let pauseMs = LOCK_POLL_MS_MIN;; pauseMs = Math.min(LOCK_POLL_MS_MAX, 2 * pauseMs)) {
    signal?.throwIfAborted();
    try {
      return await storage.lock(name);
    } catch (error) {
      if (!hasCode(error, "LOCK_HELD")) throw error;
      if (leftMs <= 0) throw new LockHeldError(`Cannot ${what}: another writer is alive`, { cause: error });
    }
    const delayMs = Math.min(pauseMs, leftMs);
    await pause(clock, delayMs, signal);
    leftMs -= delayMs; // Counted, not measured: the clock may jump.
  }
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.schedule(delayMs, resolve);
  const onAbort = () => reject(signal!.reason);
  signal?.addEventListener("abort", onAbort);
  return promise.finally(() => {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  });
}
