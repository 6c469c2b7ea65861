/**
 * A pause that can be called off.
 *
 * @module
 */
import type { Clock } from "../../mod.ts";

/** Resolves after a while. Rejects with the signal's reason when that aborts first. */
export function pause(clock: Clock, pauseMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.schedule(pauseMs, resolve);
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    cancel();
    signal.removeEventListener("abort", onAbort);
  });
}
