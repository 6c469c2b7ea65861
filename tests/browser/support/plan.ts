/**
 * One run in a browser and its kill, decided before they happen: from a seed come all delays and the instant.
 *
 * @module
 */
import { seededRandom } from "../../support/seeded_random.ts";

/** How one payment is stretched, so that a random instant can fall into each of its phases. */
export interface PaymentPlan {
  /** A payee of its own, so that the remote knows the call without its key. */
  readonly payee: string;
  /** How long the question is open. */
  readonly thinkMs: number;
  /** At the remote: from the arrival until the money moves, and from then until the answer. */
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** One run: a message that asks for two payments, then another message, and so on until the kill. */
export interface RunPlan {
  readonly seed: number;
  readonly turns: readonly (readonly PaymentPlan[])[];
  /** How long the run takes, on a machine that is not busy. */
  readonly runMs: number;
  /** From the first message on, on a machine that is not busy. */
  readonly killAfterMs: number;
}

/** How many messages a run has; the kill may come before the first and after the last. */
const TURNS = 2;
const PAYMENTS_PER_TURN = 2;
/** What a turn takes beside its delays: the demo model speaks word by word. */
const TURN_OVERHEAD_MS = 500;

/** The golden ratio's fraction: its multiples are spread evenly over 0 to 1, also a few of them. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * The plan of a seed. The kills of following seeds are uniform over the whole run.
 *
 * @see Weyl's equidistribution theorem
 */
export function runPlanFor(seed: number): RunPlan {
  const random = seededRandom(seed);
  const between = (low: number, high: number) => low + random.below(high - low + 1);
  const turns = Array.from({ length: TURNS }, (_, turn) => {
    return Array.from({ length: PAYMENTS_PER_TURN }, (_, index): PaymentPlan => ({
      payee: `p${seed}x${turn * PAYMENTS_PER_TURN + index}`,
      thinkMs: between(10, 120),
      beforeMs: between(10, 150),
      afterMs: between(10, 120),
    }));
  });
  const waits = turns.flat().map(({ thinkMs, beforeMs, afterMs }) => thinkMs + beforeMs + afterMs);
  const runMs = waits.reduce((total, wait) => total + wait, TURNS * TURN_OVERHEAD_MS);
  return { seed, turns, runMs, killAfterMs: (seed * GOLDEN % 1) * runMs };
}

/** What a person would type. */
export function sentenceFor(payments: readonly PaymentPlan[]): string {
  return payments.map(({ payee }) => `pay 1 to ${payee}`).join(" and ");
}
