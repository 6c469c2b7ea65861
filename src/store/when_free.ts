/**
 * Waiting for the right to write, for those who want to.
 *
 * @module
 */
import { hasCode, LockHeldError } from "../errors.ts";
import type { Clock } from "../runtime/runtime.ts";

/** How long to wait. */
export interface HoldWait {
  /** In milliseconds. Default 0: one try. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** What is waited for, and how often it is tried. */
export interface HoldTries {
  /** What it is for, as a person knows it: `delete session "a"`. */
  readonly what: string;
  readonly clock: Clock;
  /** The first pause, in milliseconds. Each is twice as long as the one before, up to `pollMsMax`. */
  readonly pollMsMin: number;
  readonly pollMsMax: number;
}

/**
 * Takes something that one at a time holds, trying again with growing pauses for `waitMs`.
 *
 * @param take rejects with `LOCK_HELD` while another one has it
 * @throws {LockHeldError} when another holder is alive at the end
 * @throws the signal's reason, and whatever else `take` throws
 *
 * @example
 * ```ts
 * import { whenFree } from "./when_free.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const held = await whenFree(() => Promise.resolve("a"), { what: "see", clock, pollMsMin: 1, pollMsMax: 8 });
 * if (held !== "a") throw new Error("unreachable");
 * ```
 */
export async function whenFree<Held>(
  take: () => Promise<Held>,
  { what, clock, pollMsMin, pollMsMax }: HoldTries,
  { waitMs = 0, signal }: HoldWait = {},
): Promise<Held> {
  let leftMs = waitMs;
  for (let pauseMs = pollMsMin;; pauseMs = Math.min(pollMsMax, 2 * pauseMs)) {
    signal?.throwIfAborted();
    try {
      return await take();
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
