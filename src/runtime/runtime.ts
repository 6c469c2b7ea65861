/**
 * What the core asks of the runtime it lives in: time and randomness, as arguments.
 *
 * The core never calls `Date.now`, `Math.random` or `setTimeout`, so a whole run can be replayed from one seed.
 *
 * @module
 */

/** Time, as the core sees it. */
export interface Clock {
  /** Milliseconds since the epoch. May go backwards, as real clocks do. */
  now(): number;
  /**
   * Calls `wake` once after `delayMs` (0 to 2 147 483 647). Returns a function that cancels it; cancelling late or twice is
   * harmless. A pending timer keeps the process alive: what waits for it is wanted.
   */
  schedule(delayMs: number, wake: () => void): () => void;
  /** The same, and a pending timer does not keep the process alive. Left out where timers cannot do that. */
  scheduleQuietly?(delayMs: number, wake: () => void): () => void;
}

/** The source of unpredictable bits. */
export interface Random {
  /** A fresh array of `sizeBytes` random bytes. */
  bytes(sizeBytes: number): Uint8Array<ArrayBuffer>;
}

/** The clock and the randomness an entry wired in. */
export interface Runtime {
  /** What reads the time and sets timers. */
  readonly clock: Clock;
  /** Where ids, effect keys and the swing of a back-off come from. */
  readonly random: Random;
}
