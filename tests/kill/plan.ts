/**
 * One kill, decided before it happens: from a seed come the delays of every phase and the instant of the kill.
 *
 * Every phase is stretched so that a uniformly random instant can fall into it: the model, the question, the bank before and
 * after the money moves, the time between the answer and the result, and each call to the file system.
 *
 * @module
 */
import { seededRandom } from "../support/seeded_random.ts";

/** How one payment is stretched. */
export interface CallPlan {
  /** A payee of its own, so that the bank knows the call without its key. */
  readonly payee: string;
  /** How long the question is open. */
  readonly thinkMs: number;
  /** From the arrival at the bank until the money moves, and from then until the answer. */
  readonly beforeMs: number;
  readonly afterMs: number;
  /** From the bank's answer until the body returns. */
  readonly lingerMs: number;
}

/** How one run is stretched. */
export interface Plan {
  readonly seed: number;
  readonly id: string;
  readonly encoding: "zstd" | "none";
  readonly modelMs: number;
  readonly calls: readonly [CallPlan, CallPlan];
  /** Slept before the calls to the file system that change something, and after each sync; used in a circle. */
  readonly disk: DiskPlan;
  /** How long the run takes, on a machine that is not busy. */
  readonly runMs: number;
  /** When the payer is killed, from the moment it is ready: on a machine that is not busy. */
  readonly killAfterMs: number;
  /** When each process that repairs is killed, likewise. */
  readonly repairKillsAfterMs: readonly number[];
}

/** How the disk is stretched. */
export interface DiskPlan {
  readonly sleepsMs: readonly number[];
  /**
   * How much of a write is taken at first: the rest comes after another sleep, of at least `tornMs`. Up to 1 it is a part of the
   * bytes; a negative number holds back that many: a frame without the end of its checksum still yields its rows.
   */
  readonly firstParts: readonly number[];
  readonly tornMs: number;
}

/** About how many times a run sleeps at the disk. */
const RUN_SLEEPS = 85;
/** About how many times a repair does. */
const REPAIR_SLEEPS = 14;
/** The least time between the two parts of a write. */
const TORN_MS = 5;
/** What a run takes beside its delays. */
const OVERHEAD_MS = 150;

/** The golden ratio's fraction: its multiples are spread evenly over 0 to 1, also a few of them. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * The plan of a seed. The kills of following seeds are uniform over the whole run, from before the first byte to after the last.
 *
 * @see Weyl's equidistribution theorem
 */
export function planFor(seed: number, repairKills = 0): Plan {
  const random = seededRandom(seed);
  const between = (low: number, high: number) => low + random.below(high - low + 1);
  const call = (letter: string): CallPlan => ({
    payee: `${seed}${letter}`,
    thinkMs: between(10, 120),
    beforeMs: between(5, 120),
    afterMs: between(5, 80),
    lingerMs: between(0, 30),
  });
  const diskSleep = () => random.below(10) < 6 ? 0 : between(1, 12);

  const modelMs = between(0, 30);
  const calls = [call("a"), call("b")] as const;
  const sleepsMs = Array.from({ length: 97 }, diskSleep);
  const firstParts = Array.from(
    { length: 31 },
    () => random.below(3) === 0 ? -between(1, 4) : random.below(1000) / 1000,
  );
  const waits = calls.flatMap(({ thinkMs, beforeMs, afterMs, lingerMs }) => [thinkMs, beforeMs, afterMs, lingerMs]);
  const runMs = sum([modelMs, ...waits, ...sleepsMs.slice(0, RUN_SLEEPS)]) + OVERHEAD_MS;
  const repairMs = sum(sleepsMs.slice(0, REPAIR_SLEEPS)) + OVERHEAD_MS / 4;
  return {
    seed,
    id: `run-${seed}`,
    encoding: random.below(4) === 0 ? "none" : "zstd",
    modelMs,
    calls,
    disk: { sleepsMs, firstParts, tornMs: TORN_MS },
    runMs,
    killAfterMs: (seed * GOLDEN % 1) * runMs,
    repairKillsAfterMs: Array.from({ length: repairKills }, () => random.below(Math.ceil(repairMs))),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
