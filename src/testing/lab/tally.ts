/**
 * What a run of the lab saw, counted; counts of several threads add up.
 *
 * @module
 */
import type { Trial } from "./bench.ts";
import type { CheckerName } from "../judge/mod.ts";
import { COMPACTING } from "./letters.ts";
import { MEDIA, type MediumKind, unitText } from "./unit.ts";

/** How many violations are kept whole; the others are only counted. */
export const VIOLATIONS_KEPT_MAX = 50;

/** One broken promise, and how to see it again. */
export interface LabViolation {
  readonly checker: CheckerName;
  readonly message: string;
  readonly seed: number;
  /** The unit and the number of the state within it: what `--replay` takes. */
  readonly replay: string;
  /** When the crash came and what it left. */
  readonly state: string;
  /** The step of the run at which the crash came. */
  readonly step: number;
}

/** Counts of states on one medium. */
export interface MediumTally {
  states: number;
  /** What the format calls damage: readable, and not written any more. */
  refused: number;
  /** Of a medium that defers names: the session itself was forgotten. */
  forgotten: number;
}

/** See the module. A plain value, so that it can be handed from thread to thread. */
export interface LabTally {
  states: number;
  exhaustiveStates: number;
  randomStates: number;
  faultStates: number;
  /** Of lives with compactions; they count in none of the three before. */
  compactionStates: number;
  /** Crashes inside of a recovery or after one, among `randomStates` and `compactionStates`. */
  nestedStates: number;
  units: number;
  media: Record<MediumKind, MediumTally>;
  /** How often each class was said. */
  classes: Record<string, number>;
  /** How often each verdict was said. */
  verdicts: Record<string, number>;
  /** What was done to snapshots, how often, and how often a session was opened by one. */
  snapshots: Record<string, number>;
  violationCount: number;
  violations: LabViolation[];
}

/**
 * Nothing yet.
 *
 * @example
 * ```ts
 * import { emptyTally } from "./tally.ts";
 *
 * if (emptyTally().states !== 0) throw new Error("unreachable");
 * ```
 */
export function emptyTally(): LabTally {
  return {
    ...{
      states: 0,
      exhaustiveStates: 0,
      randomStates: 0,
      faultStates: 0,
      compactionStates: 0,
      nestedStates: 0,
      units: 0,
    },
    media: { posix: { states: 0, refused: 0, forgotten: 0 }, opfs: { states: 0, refused: 0, forgotten: 0 } },
    ...{ classes: {}, verdicts: {}, snapshots: {}, violationCount: 0, violations: [] },
  };
}

/** Counts one state. */
export function count(tally: LabTally, trial: Trial): void {
  const { unit, tried, violations } = trial;
  const medium = tally.media[unit.medium];
  tally.states++;
  medium.states++;
  if (unit.lives.flat().some((letter) => COMPACTING.includes(letter))) tally.compactionStates++;
  else if (unit.kind === "all") tally.exhaustiveStates++;
  else if (unit.kind === "random") tally.randomStates++;
  else tally.faultStates++;
  if (tried.trace.incarnation > 0) tally.nestedStates++;
  if (tried.refused !== null) medium.refused++;
  const { trace } = tried;
  const isForgotten = trace.isNameDurable === false && trace.acknowledgedThroughSeq >= 0;
  if (isForgotten && !trace.image.has(trace.log)) medium.forgotten++;
  for (const said of tried.classes) tally.classes[said] = (tally.classes[said] ?? 0) + 1;
  for (const said of tried.verdicts) tally.verdicts[said] = (tally.verdicts[said] ?? 0) + 1;
  for (const { checker, message } of violations) {
    tally.violationCount++;
    if (tally.violations.length === VIOLATIONS_KEPT_MAX) continue;
    const replay = `${unitText(unit)}#${trial.number}`;
    const place = { seed: unit.seed, replay, state: trial.describe(), step: trace.crashedAtStep };
    tally.violations.push({ checker, message, ...place });
  }
}

/**
 * Adds the counts of another thread.
 *
 * @example
 * ```ts
 * import { addTally, emptyTally } from "./tally.ts";
 *
 * const total = emptyTally();
 * addTally(total, { ...emptyTally(), states: 5 });
 * if (total.states !== 5) throw new Error("unreachable");
 * ```
 */
export function addTally(tally: LabTally, other: LabTally): void {
  for (const key of SUMS) tally[key] += other[key];
  for (const medium of MEDIA) {
    for (const key of ["states", "refused", "forgotten"] as const) tally.media[medium][key] += other.media[medium][key];
  }
  for (const key of ["classes", "verdicts", "snapshots"] as const) {
    for (const [said, times] of Object.entries(other[key])) tally[key][said] = (tally[key][said] ?? 0) + times;
  }
  tally.violations.push(...other.violations.slice(0, VIOLATIONS_KEPT_MAX - tally.violations.length));
}

const SUMS = [
  "states",
  "exhaustiveStates",
  "randomStates",
  "faultStates",
  "compactionStates",
  "nestedStates",
  "units",
  "violationCount",
] as const;
