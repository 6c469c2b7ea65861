/**
 * One kill of a richer turn, decided before it happens: a request fails and is made again after a wait, then one message pays
 * several people at once, one of all only after a question, and has a team pay its members; some runs meet a flush that hangs.
 *
 * @module
 */
import { seededRandom } from "../support/seeded_random.ts";
import type { HangPlan } from "./hung_flush.ts";
import type { CallPlan, DiskPlan } from "./plan.ts";

/** How one run of the richer turn is stretched. */
export interface BatchPlan {
  readonly seed: number;
  readonly id: string;
  readonly encoding: "zstd" | "none";
  /** How long each answer of the model takes. */
  readonly modelMs: number;
  /** Which step's first request fails, 1 or 2, and how long is waited before the second. */
  readonly failingStep: 1 | 2;
  readonly backoffMs: number;
  /** The payments of the model's message. They may run beside each other. */
  readonly pays: readonly CallPlan[];
  /** The call whose body pays its members itself. */
  readonly team: TeamPlan;
  /** The one payee about whom a person is asked: of the message or of the team. */
  readonly asked: string;
  readonly disk: DiskPlan;
  readonly hang: HangPlan | null;
  /** How long the run takes, on a machine that is not busy. */
  readonly runMs: number;
  /** What the kill waits for; `null` when it may come at any instant of the run. */
  readonly aim: Aim | null;
  /** When it is killed: from the moment it is ready, on a machine that is not busy, or from what is aimed at. */
  readonly killAfterMs: number;
  readonly repairKillsAfterMs: readonly number[];
}

/** A call that makes calls. */
export interface TeamPlan {
  readonly name: string;
  readonly members: readonly CallPlan[];
  /** Before which payment of the message it stands. */
  readonly position: number;
  /** Whether its members are paid at once, or one after the other. */
  readonly isTogether: boolean;
  /** Whether it may run beside the payments. */
  readonly isParallel: boolean;
  readonly effect: "none" | "opaque";
}

/** Moments that few of a handful of random instants meet. */
const AIMS = ["question", "backoff"] as const;
export type Aim = typeof AIMS[number];

/** How many calls may run side by side: fewer than there are. */
export const POOL = 3;

const PAYS = 4;
const MEMBERS = 3;
/** About how many times a run sleeps at the disk. */
const RUN_SLEEPS = 130;
/** What a run takes beside its delays. */
const OVERHEAD_MS = 150;
/** How many syncs a run has at least. */
const RUN_SYNCS = 18;
/** A process whose flush hangs lives this much longer: most of them die hanging, and of those that are cancelled many long after. */
const HANGING_MS = { blocked: 300, silent: 1_800 };

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * The plan of a seed. The kills of following seeds are uniform over the whole run; with `isAimed`, every sixth is aimed at a
 * question or a backoff.
 *
 * @see Weyl's equidistribution theorem
 */
export function batchPlanFor(seed: number, { isAimed = false } = {}): BatchPlan {
  const random = seededRandom(seed);
  const between = (low: number, high: number) => low + random.below(high - low + 1);
  const call = (letter: string): CallPlan => ({
    payee: `${seed}${letter}`,
    thinkMs: between(150, 350),
    beforeMs: between(5, 120),
    afterMs: between(5, 80),
    lingerMs: between(0, 30),
  });
  const pays = Array.from({ length: PAYS }, (_, index) => call("abcd"[index]!));
  const members = Array.from({ length: MEMBERS }, (_, index) => call("mno"[index]!));
  const team: TeamPlan = {
    name: `${seed}t`,
    members,
    position: random.below(PAYS + 1),
    isTogether: random.below(2) === 0,
    isParallel: random.below(2) === 0,
    effect: random.pick(["none", "opaque"]),
  };
  const asked = random.pick(random.below(2) === 0 ? pays : members);
  const modelMs = between(5, 40);
  const backoffMs = between(250, 450);
  const sleepsMs = Array.from({ length: 97 }, () => random.below(10) < 7 ? 0 : between(1, 9));
  const firstParts = Array.from(
    { length: 31 },
    () => random.below(3) === 0 ? -between(1, 4) : random.below(1000) / 1000,
  );
  const aim = isAimed && seed % 6 === 0 ? AIMS[seed / 6 % AIMS.length]! : null;
  // What hangs may never come to what is aimed at.
  const hang: HangPlan | null = random.below(3) > 0 || aim !== null ? null : {
    sync: between(1, RUN_SYNCS),
    kind: random.pick(["blocked", "silent"]),
    isSynced: random.below(2) === 0,
    cancelAfterMs: between(0, 80),
  };
  const busyMs = ({ beforeMs, afterMs, lingerMs }: CallPlan) => beforeMs + afterMs + lingerMs;
  const teamMs = sum(members.map(busyMs)) / (team.isTogether ? 2 : 1);
  const paysMs = sum(pays.map(busyMs)) / 2;
  const batchMs = team.isParallel ? Math.max(teamMs, paysMs) : teamMs + paysMs;
  const waits = [modelMs * 3, backoffMs, asked.thinkMs, batchMs, ...sleepsMs, ...sleepsMs];
  const runMs = sum(waits.slice(0, 4 + RUN_SLEEPS)) + OVERHEAD_MS;
  return {
    seed,
    id: `batch-${seed}`,
    encoding: random.below(4) === 0 ? "none" : "zstd",
    modelMs,
    failingStep: random.pick([1, 1, 2]),
    backoffMs,
    pays,
    team,
    asked: asked.payee,
    disk: { sleepsMs, firstParts, tornMs: 5 },
    hang,
    runMs,
    aim,
    killAfterMs: aim === null
      ? (seed * GOLDEN % 1) * (runMs + (hang === null ? 0 : HANGING_MS[hang.kind]))
      : { question: asked.thinkMs, backoff: backoffMs }[aim] * between(30, 70) / 100,
    repairKillsAfterMs: random.below(6) === 0 ? [random.below(90)] : [],
  };
}

/** Everybody who is paid, the model's payees first. */
export function payments({ pays, team }: Pick<BatchPlan, "pays" | "team">): readonly CallPlan[] {
  return [...pays, ...team.members];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
