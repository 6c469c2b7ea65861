/**
 * Every case, in the order in which it is run, and how to choose from them.
 *
 * @module
 */
import type { BenchCase } from "./bench_case.ts";
import { batchingCases } from "./batching_cases.ts";
import { barrierCases } from "./barrier_cases.ts";
import { flushCases } from "./flush_cases.ts";
import { concurrentCases, memoryCases, sustainedCase } from "./load_cases.ts";
import { openCases } from "./open_cases.ts";
import { snapshotCases } from "./snapshot_cases.ts";
import { storeCases } from "./store_cases.ts";
import { appendCase, codecCases, listCases, publishCase, repairCase } from "./session_cases.ts";

/** Every case. */
export const benchCases: readonly BenchCase[] = [
  ...barrierCases,
  ...flushCases,
  ...storeCases,
  publishCase,
  appendCase,
  ...codecCases,
  repairCase,
  ...batchingCases,
  ...concurrentCases,
  ...listCases,
  ...openCases,
  ...snapshotCases,
  ...memoryCases,
  sustainedCase,
];

/**
 * The cases whose name begins with one of the names, all of them without a name. A large one runs only when it is named whole.
 *
 * @throws {RangeError} when a name fits none
 *
 * @example
 * ```ts
 * import { chooseCases } from "./cases.ts";
 *
 * if (chooseCases(["flush"]).length !== 3) throw new Error("unreachable");
 * ```
 */
export function chooseCases(names: readonly string[]): readonly BenchCase[] {
  for (const name of names) {
    if (benchCases.some((benchCase) => benchCase.name.startsWith(name))) continue;
    throw new RangeError(
      `Cannot run case "${name}": there are ${benchCases.map((each) => `"${each.name}"`).join(", ")}`,
    );
  }
  const isLarge = (benchCase: BenchCase) => benchCase.kind !== "stream" && benchCase.isLarge === true;
  return benchCases.filter((each) =>
    isLarge(each) ? names.includes(each.name) : names.length === 0 || names.some((name) => each.name.startsWith(name))
  );
}
