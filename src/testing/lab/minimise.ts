/**
 * The smallest run that shows the same fault: fewer batches, fewer processes, the earliest state.
 *
 * @module
 */
import { type BenchOptions, LabBench, type Trial } from "./bench.ts";
import type { CheckerName } from "../judge/mod.ts";
import type { Letter } from "./letters.ts";
import { withQuickDigests } from "./quick_digest.ts";
import type { Unit } from "./unit.ts";

/** How many units are run in search of a smaller one. */
export const MINIMISE_UNITS_MAX = 40;

/**
 * Looks for a smaller unit whose states break a promise of the same checker.
 *
 * @returns the first state of the smallest unit that does; `null` when not even the unit itself does
 *
 * @example
 * ```ts
 * import { minimise } from "./minimise.ts";
 * import { parseUnit } from "./unit.ts";
 *
 * if (await minimise(parseUnit("fault:posix:none:say:3.EIO", 1), "liveness") !== null) throw new Error("unreachable");
 * ```
 */
export function minimise(unit: Unit, checker: CheckerName, options: BenchOptions = {}): Promise<Trial | null> {
  return withQuickDigests(async () => {
    const bench = new LabBench(options);
    let best = await firstBroken(bench, unit, checker);
    let left = MINIMISE_UNITS_MAX;
    for (let isSmaller = best !== null; isSmaller && left > 0;) {
      isSmaller = false;
      for (const smaller of smallerUnits(best!.unit)) {
        if (left-- === 0) break;
        const found = await firstBroken(bench, smaller, checker);
        if (found === null) continue;
        best = found;
        isSmaller = true;
        break;
      }
    }
    return best;
  });
}

async function firstBroken(bench: LabBench, unit: Unit, checker: CheckerName): Promise<Trial | null> {
  for await (const trial of bench.run(unit)) {
    if (trial.violations.some((violation) => violation.checker === checker)) return trial;
  }
  return null;
}

/** Without a last process, and without one letter. Of the first process one letter stays. */
export function* smallerUnits(unit: Unit): Generator<Unit> {
  const { lives } = unit;
  if (unit.kind === "random" && lives.length > 2) yield { ...unit, lives: lives.slice(0, -1) };
  for (const [life, letters] of lives.entries()) {
    for (const index of letters.keys()) {
      const fewer: readonly Letter[] = letters.toSpliced(index, 1);
      if (life === 0 && fewer.length === 0) continue;
      yield { ...unit, lives: lives.with(life, fewer) };
    }
  }
}
