/**
 * One run of the crash lab, decided before it happens: a session is taken up by one process after the other, each has calls to make
 * and dies at a failpoint, in its turn or in what it does to take the session up. From a seed comes everything.
 *
 * @module
 */
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";
import type { Aim } from "./lab_failpoints.ts";

/** The tools of the pack, by the names that the model calls. */
export const LAB_TOOLS = ["pay", "send_mail", "http_put", "shell", "git_commit", "put_file"] as const;
/** One of them. */
export type LabTool = typeof LAB_TOOLS[number];

/** When a request that was held back lands at its target. */
export type Landing =
  /** When its sender is dead, before anybody asks about it. */
  | "death"
  /** When the lookup about it arrives, just before that is answered. */
  | "ask"
  /** When that lookup has been answered. */
  | "after-ask"
  /** When everything is over. */
  | "end";

/** What becomes of a call's request. */
export type Fate =
  | { readonly kind: "prompt" }
  /** It is held back, and lands when its sender is dead. */
  | { readonly kind: "late"; readonly lands: Landing }
  /** It lands at once, and the answer never comes. */
  | { readonly kind: "unanswered" };

/** One call of the model. */
export interface LabCall {
  /** Unique in all runs; in the arguments, so that each target knows the call without its key. Also the call's id in the log. */
  readonly id: string;
  readonly tool: LabTool;
  readonly fate: Fate;
  /** Whether the answer to the first lookup about it is lost, though the lookup is carried out. */
  readonly isLookupLost: boolean;
}

/** How a process dies. */
export type KillKind =
  /** It kills itself. */
  | "self"
  /** It stands still and is killed. */
  | "blocked"
  /** What came to the point does not go on, everything else does, until it is killed. */
  | "hanging";

/** One process of a run. */
export interface ProcessPlan {
  readonly calls: readonly LabCall[];
  /** Where it dies; `opening` = where it takes the session up, see {@linkcode openingAim}. */
  readonly aim: Aim | { readonly kind: "opening"; readonly drawn: number };
  readonly kill: KillKind;
  /** How much of a write is taken when it dies inside of it: below 1 a part of the bytes; a negative number holds back that many. */
  readonly tornPart: number;
  /** How long a process lives on when a request of it is held back, in milliseconds. */
  readonly heldMs: number;
}

/** One run. */
export interface LabPlan {
  readonly seed: number;
  /** The session's id. */
  readonly id: string;
  readonly encoding: "zstd" | "none";
  /** Whether the calls of a message may run side by side. */
  readonly isParallel: boolean;
  readonly processes: readonly ProcessPlan[];
}

/** What a runtime can do. */
export interface LabScope {
  readonly tools: readonly LabTool[];
  readonly kills: readonly KillKind[];
  readonly encodings: readonly LabPlan["encoding"][];
  /** About how many points a process comes to while it takes a session up, before its first call, and in each of its calls. */
  readonly openPoints: number;
  readonly startPoints: number;
  readonly callPoints: number;
}

/** A process over files: it can kill itself, and has every tool. */
export const DENO_SCOPE: LabScope = {
  tools: LAB_TOOLS,
  kills: ["self", "self", "blocked", "hanging"],
  encodings: ["zstd", "zstd", "zstd", "none"],
  openPoints: 40,
  startPoints: 30,
  callPoints: 35,
};

/** A worker of a browser. */
export const BROWSER_SCOPE: LabScope = {
  tools: ["pay", "send_mail", "http_put", "shell"],
  kills: ["blocked", "hanging"],
  encodings: ["zstd"],
  openPoints: 24,
  startPoints: 12,
  callPoints: 22,
};

/** The barriers of a turn: each is written and made durable before what comes next. */
export const TURN_BARRIERS = ["question", "decision", "marker", "result"] as const;
/** What taking a session up writes. */
export const OPEN_BARRIERS = ["verdict", "closers"] as const;
/** The sides of a barrier. */
export const BARRIER_SIDES = ["append/before", "append/inside", "append/after", "sync/before", "sync/after"] as const;

/** Points of a turn to aim at. */
const TURN_AIMS: readonly string[] = [
  ...TURN_BARRIERS.flatMap((barrier) => BARRIER_SIDES.map((side) => `turn.${barrier}/${side}`)),
  ...["before", "inside", "after"].map((side) => `turn.request/send/${side}`),
  ...["before", "after"].map((side) => `turn.body/run/${side}`),
];

/** What a process finds that takes a session up. */
export interface Found {
  /** Whether the outcome of a call is unknown, and whether a turn is open. */
  readonly hasUnknown: boolean;
  readonly isOpen: boolean;
  readonly isTorn: boolean;
  /** Whether the torn tail yields events. */
  readonly isSalvaged: boolean;
}

/** The point at which a process dies while it takes a session up: one of those that it will come to. */
export function openingAim(drawn: number, found: Found): Aim {
  const { hasUnknown, isOpen, isTorn, isSalvaged } = found;
  const sides = (what: string) => BARRIER_SIDES.map((side) => `${what}/${side}`);
  const points = [
    ...hasUnknown ? sides("open.verdict") : isOpen ? sides("open.closers") : [],
    ...hasUnknown ? ["send/before", "send/inside", "send/after"].map((side) => `open.lookup/${side}`) : [],
    ...isTorn ? ["torn/publish", "tail/truncate"].flatMap((act) => [`open.${act}/before`, `open.${act}/after`]) : [],
    ...isSalvaged ? sides("open.salvaged").slice(0, 3) : [],
    "open.lock/take/after",
  ];
  return { kind: "named", point: points[drawn % points.length]!, nth: 1 };
}

const PROCESSES_MAX = 4;
const CALLS_MAX = 3;
const HELD_MS_MAX = 6;

/** The plan of a seed. */
export function labPlanFor(seed: number, scope: LabScope): LabPlan {
  const random = seededRandom(seed);
  const id = `lab-${seed}`;
  const count = 1 + random.below(PROCESSES_MAX);
  return {
    seed,
    id,
    encoding: random.pick(scope.encodings),
    isParallel: random.below(2) === 0,
    processes: Array.from({ length: count }, (_, index) => processPlan(index, id, random, scope)),
  };
}

function processPlan(index: number, id: string, random: SeededRandom, scope: LabScope): ProcessPlan {
  const calls = Array.from({ length: 1 + random.below(CALLS_MAX) }, (_, call): LabCall => ({
    id: `${id}-${index}-${call}`,
    tool: random.pick(scope.tools),
    fate: fateOf(random),
    isLookupLost: random.below(25) === 0,
  }));
  return {
    calls,
    aim: aimOf(index, calls.length, random, scope),
    kill: random.pick(scope.kills),
    tornPart: random.below(3) === 0 ? -1 - random.below(4) : random.below(1000) / 1000,
    heldMs: random.below(HELD_MS_MAX),
  };
}

function fateOf(random: SeededRandom): Fate {
  const drawn = random.below(100);
  if (drawn < 36) return { kind: "late", lands: random.pick(["death", "ask", "after-ask", "end"]) };
  return drawn < 44 ? { kind: "unanswered" } : { kind: "prompt" };
}

function aimOf(index: number, calls: number, random: SeededRandom, scope: LabScope): ProcessPlan["aim"] {
  if (index > 0 && random.below(2) === 0) {
    if (random.below(3) > 0) return { kind: "opening", drawn: random.below(1_000_000) };
    return { kind: "nth", nth: 1 + random.below(scope.openPoints) };
  }
  if (random.below(3) === 0) {
    return { kind: "nth", nth: 1 + random.below(scope.startPoints + calls * scope.callPoints) };
  }
  return { kind: "named", point: random.pick(TURN_AIMS), nth: 1 + random.below(calls) };
}
