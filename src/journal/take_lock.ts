/**
 * Waiting for a lock, for those who want to.
 *
 * @module
 */
import type { Clock } from "../runtime/runtime.ts";
import type { StorageLock, StoragePort } from "../storage/storage_port.ts";
import { type HoldWait, whenFree } from "../store/when_free.ts";
import { LOCK_POLL_MS_MAX, LOCK_POLL_MS_MIN } from "./limits.ts";

/** How long to wait. */
export type LockWait = HoldWait;

/**
 * Takes a lock, trying again with growing pauses for `waitMs`.
 *
 * @param what what the lock is for, as a person knows it: `delete session "a"`
 * @throws {LockHeldError} when another holder is alive at the end
 * @throws the signal's reason
 */
export function takeLock(
  storage: StoragePort,
  name: string,
  what: string,
  clock: Clock,
  wait: LockWait = {},
): Promise<StorageLock> {
  const tries = { what, clock, pollMsMin: LOCK_POLL_MS_MIN, pollMsMax: LOCK_POLL_MS_MAX };
  return whenFree(() => storage.lock(name), tries, wait);
}
