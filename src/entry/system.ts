/**
 * The clock and the randomness of the runtime we live in. The only place that asks for them.
 *
 * @module
 */
import type { Clock, Random, Runtime } from "../runtime/runtime.ts";

/** Wall-clock time and the runtime's timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(delayMs, wake) {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
  scheduleQuietly(delayMs, wake) {
    const timer: unknown = setTimeout(wake, delayMs);
    if (typeof timer === "object" && timer !== null) (timer as { unref?(): void }).unref?.();
    return () => clearTimeout(timer as number);
  },
};

/** The runtime's cryptographic source. */
export const systemRandom: Random = {
  bytes: (sizeBytes) => crypto.getRandomValues(new Uint8Array(sizeBytes)),
};

/** Both, as a store carries them. */
export const systemRuntime: Runtime = { clock: systemClock, random: systemRandom };
