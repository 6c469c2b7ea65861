/**
 * Taking the right to write, or waiting for it.
 *
 * @module
 */
import { hasCode, LockHeldError } from "../errors.ts";
import type { Clock } from "../runtime/runtime.ts";
import { CLAIM_POLL_MS_MAX, CLAIM_POLL_MS_MIN } from "./limits.ts";
import type { SqlClaim, SqlPort } from "./sql_port.ts";

/** How long to wait. */
export interface ClaimWait {
  /** Default 0: one try. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Claims a session, trying again with back-off for as long as it is told.
 *
 * @param what what it is for, for the message: `open session "a" for writing`
 * @throws {LockHeldError} when another writer is alive
 */
export async function takeClaim(
  sql: SqlPort,
  key: string,
  what: string,
  clock: Clock,
  { waitMs = 0, signal }: ClaimWait = {},
): Promise<SqlClaim> {
  let leftMs = waitMs;
  for (let pauseMs = CLAIM_POLL_MS_MIN;; pauseMs = Math.min(CLAIM_POLL_MS_MAX, 2 * pauseMs)) {
    signal?.throwIfAborted();
    try {
      return await sql.claim(key);
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
