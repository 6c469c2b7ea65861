/**
 * The crash lab: workloads on simulated media, every state that a crash can leave, and a judge that looks at each.
 *
 * Four parts. *Exhaustive*: all crash states of all workloads of up to three batches. *Random*: long lives in which answers are
 * late or lost, with crashes inside of recoveries and after them. *Faults*: each call of the medium fails in turn, once and for
 * good. *Compaction*: lives like the random ones, with long results, requests that are too long, and compactions. A seed and a unit replay everything.
 *
 * @module
 */
import { type BenchOptions, LabBench, type Trial } from "./bench.ts";
import { diceOf, seedFrom } from "./dice.ts";
import { ALPHABET } from "./letters.ts";
import { compactionUnits, exhaustiveUnits, faultUnits, randomUnits } from "./plan.ts";
import { withQuickDigests } from "./quick_digest.ts";
import { count, emptyTally, type LabTally } from "./tally.ts";
import { COMPRESSIONS, MEDIA, type Unit } from "./unit.ts";

/** How many letters the workloads of the exhaustive part have at most. */
export const EXHAUSTIVE_LETTERS_MAX = 3;

/** What a run of the lab does. */
export interface LabOptions {
  readonly seed: number;
  /** All workloads with these numbers of letters; default none. */
  readonly exhaustive?: readonly number[];
  /** At least so many states in `random` units; default 0. */
  readonly randomStates?: number;
  /** At least so many states of failing calls, or all that one-letter workloads have; default 0. */
  readonly faultStates?: number;
  /** At least so many states of lives with compactions; default 0. */
  readonly compactionStates?: number;
  /** At least so many states of lives with snapshots that somebody harms; default 0. They count as `random` ones, too. */
  readonly snapshotStates?: number;
  /** This thread does every `of`-th unit, from `index` on. Default: all of them. */
  readonly share?: { readonly index: number; readonly of: number };
  readonly bench?: BenchOptions;
  /** Told after each unit. */
  readonly onUnit?: (tally: LabTally) => void;
  readonly signal?: AbortSignal;
}

/**
 * Runs the lab.
 *
 * @returns what it saw; a violation is no error but an entry of it
 * @throws the signal's reason when it is aborted
 *
 * @example
 * ```ts
 * import { runLab } from "./lab.ts";
 *
 * const tally = await runLab({ seed: 1, randomStates: 20 });
 * if (tally.states < 20 || tally.violationCount > 0) throw new Error(JSON.stringify(tally.violations));
 * ```
 */
export function runLab(options: LabOptions): Promise<LabTally> {
  return withQuickDigests(async () => {
    const { share = { index: 0, of: 1 }, onUnit, signal } = options;
    const bench = new LabBench(options.bench);
    const tally = emptyTally();
    let index = 0;
    const isMine = () => index++ % share.of === share.index;
    const run = async (unit: Unit) => {
      for await (const trial of bench.run(unit)) {
        count(tally, trial);
        signal?.throwIfAborted();
      }
      tally.units++;
      onUnit?.(tally);
    };
    for (const letters of options.exhaustive ?? []) {
      for (const unit of exhaustiveUnits(options.seed, letters)) if (isMine()) await run(unit);
    }
    const share1 = (states: number | undefined) => Math.ceil((states ?? 0) / share.of);
    index = 0;
    for (const unit of randomUnits(options.seed)) {
      if (tally.randomStates >= share1(options.randomStates)) break;
      if (isMine()) await run(unit);
    }
    index = 0;
    await harmSnapshots(options, share1(options.snapshotStates), isMine, tally);
    index = 0;
    for (const unit of compactionUnits(options.seed)) {
      if (tally.compactionStates >= share1(options.compactionStates)) break;
      if (isMine()) await run(unit);
    }
    index = 0;
    if (share1(options.faultStates) > 0) {
      for await (const unit of everyFault(bench, options.seed)) {
        if (tally.faultStates >= share1(options.faultStates)) break;
        if (isMine()) await run(unit);
      }
    }
    return tally;
  });
}

/** Lives like the random ones, in which each process finds snapshots that somebody harmed or swapped. */
async function harmSnapshots(
  { seed, bench: options, onUnit, signal }: LabOptions,
  wanted: number,
  isMine: () => boolean,
  tally: LabTally,
): Promise<void> {
  if (wanted === 0) return;
  const bench = new LabBench({ ...options, harmsSnapshots: true });
  const before = tally.states;
  for (const unit of randomUnits(seedFrom(seed, 5))) {
    if (tally.states - before >= wanted) break;
    if (!isMine()) continue;
    for await (const trial of bench.run(unit)) {
      count(tally, trial);
      signal?.throwIfAborted();
    }
    for (const [harm, times] of Object.entries(bench.harmCounts ?? {})) {
      tally.snapshots[harm] = (tally.snapshots[harm] ?? 0) + times;
    }
    tally.units++;
    onUnit?.(tally);
  }
}

/**
 * Tries the states of one unit again.
 *
 * @param number of the one state that is wanted; default all of them
 *
 * @example
 * ```ts
 * import { replayUnit } from "./lab.ts";
 * import { parseUnit } from "./unit.ts";
 *
 * const [trial] = await replayUnit(parseUnit("all:posix:none:say", 1), 5);
 * if (trial?.violations.length !== 0) throw new Error("unreachable");
 * ```
 */
export function replayUnit(unit: Unit, number?: number, options: BenchOptions = {}): Promise<readonly Trial[]> {
  return withQuickDigests(async () => {
    const trials: Trial[] = [];
    for await (const trial of new LabBench(options).run(unit)) {
      if (number === undefined || trial.number === number) trials.push(trial);
      if (trial.number === number) break;
    }
    return trials;
  });
}

/**
 * How many states the exhaustive part has, without trying them.
 *
 * @param letters how many batches the workloads have
 *
 * @example
 * ```ts
 * import { countExhaustive } from "./lab.ts";
 *
 * if (await countExhaustive(1, 0) !== 0) throw new Error("unreachable");
 * ```
 */
export function countExhaustive(seed: number, letters: number): Promise<number> {
  return withQuickDigests(async () => {
    const bench = new LabBench();
    let states = 0;
    for (const unit of letters === 0 ? [] : exhaustiveUnits(seed, letters)) states += await bench.countStates(unit);
    return states;
  });
}

/** The failing calls of every one-letter workload, in an order that mixes workloads, media and calls: any part of it is a sample. */
async function* everyFault(bench: LabBench, seed: number): AsyncGenerator<Unit> {
  const each: Iterator<Unit>[] = [];
  for (const letter of ALPHABET) {
    for (const medium of MEDIA) {
      for (const compression of COMPRESSIONS) {
        const unit = { medium, compression, seed: seedFrom(seed, each.length), lives: [[letter, "say" as const]] };
        const units = [...faultUnits(unit, await bench.countOperations({ ...unit, kind: "all" }))];
        each.push(shuffled(units, unit.seed).values());
      }
    }
  }
  for (let left = each; left.length > 0;) {
    const next: Iterator<Unit>[] = [];
    for (const units of left) {
      const { value, done } = units.next();
      if (done === true) continue;
      yield value;
      next.push(units);
    }
    left = next;
  }
}

/** The items in an order that the seed draws. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const dice = diceOf(seed);
  const drawn = [...items];
  for (let left = drawn.length - 1; left > 0; left--) {
    const at = dice.below(left + 1);
    [drawn[left], drawn[at]] = [drawn[at]!, drawn[left]!];
  }
  return drawn;
}
