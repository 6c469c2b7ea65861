/**
 * What is measured of a session that no event says: how long its writes and its barriers take.
 *
 * A probe is told when something begins, and gives back what is told when it ends, so that it takes the time itself. It decides
 * nothing: what it throws is ignored. Without any probe nothing is measured, and nothing is paid for it.
 *
 * @module
 */
import type { BarrierName, EffectClass } from "../event/mod.ts";

/** How many probes one session may have. */
export const PROBES_MAX = 64;

/** A batch on its way to the store: from its last event in memory to the acknowledgement. */
export interface WriteBegun {
  /** How many events are in it. */
  readonly events: number;
  /** Their JSON text, in UTF-16 units: of ASCII, bytes before compression. */
  readonly size: number;
}

/** A stage that waits for an acknowledgement. */
export interface BarrierBegun {
  /** Which one. */
  readonly barrier: BarrierName;
  /** The last event that must be durable: of the barrier of a tool the marker of its call. */
  readonly throughSeq: number;
  /** What the body behind it may do. */
  readonly effect: EffectClass;
}

/** Told how it ended: `null`, or the error that it failed with. */
export type ProbeEnd = (error: unknown) => void;

/** Who measures. */
export interface SessionProbe {
  /** A write begins. A batch that failed begins again when it is tried again. */
  readonly write?: (begun: WriteBegun) => ProbeEnd | undefined;
  /** A barrier begins. */
  readonly barrier?: (begun: BarrierBegun) => ProbeEnd | undefined;
}

/**
 * The probes of one session.
 *
 * @example
 * ```ts
 * import { Probes } from "./probes.ts";
 *
 * const probes = new Probes("s");
 * const ended: unknown[] = [];
 * probes.add({ write: () => (error) => ended.push(error) });
 * probes.beginWrite({ events: 1, size: 40 })(null);
 * if (ended.length !== 1) throw new Error("unreachable");
 * ```
 */
export class Probes {
  readonly #sessionId: string;
  /** Replaced and never changed, so that what has begun ends for those who saw it begin. */
  #probes: readonly SessionProbe[] = [];

  /** No probes yet. */
  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /**
   * Adds one.
   *
   * @returns what takes it away
   * @throws {RangeError} when there are PROBES_MAX already
   */
  add(probe: SessionProbe): () => void {
    if (this.#probes.length >= PROBES_MAX) {
      throw new RangeError(`Cannot measure session "${this.#sessionId}": it has ${PROBES_MAX} probes`);
    }
    const added: SessionProbe = { write: probe.write?.bind(probe), barrier: probe.barrier?.bind(probe) };
    this.#probes = [...this.#probes, added];
    return () => {
      this.#probes = this.#probes.filter((other) => other !== added);
    };
  }

  /** A write begins. */
  beginWrite(begun: WriteBegun): ProbeEnd {
    return this.#begin(({ write }) => write?.(begun));
  }

  /** A barrier begins. */
  beginBarrier(begun: BarrierBegun): ProbeEnd {
    return this.#begin(({ barrier }) => barrier?.(begun));
  }

  #begin(tell: (probe: SessionProbe) => ProbeEnd | undefined): ProbeEnd {
    if (this.#probes.length === 0) return unheard;
    const ends = this.#probes.map((probe) => quiet(() => tell(probe)));
    return (error) => ends.forEach((end) => quiet(() => end?.(error)));
  }
}

function unheard(): void {}

function quiet<Answer>(call: () => Answer): Answer | undefined {
  try {
    return call();
  } catch {
    // Whoever measures cannot stop what is measured.
    return undefined;
  }
}
