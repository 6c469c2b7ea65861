/**
 * What a runtime under measurement is asked, and what it tells.
 *
 * @module
 */
import { type Budget, BUDGET_FULL, BUDGET_QUICK, type Place, type RuntimeResult } from "./bench_case.ts";
import { chooseCases } from "./cases.ts";
import { measureAll } from "./measure.ts";

/** What is to be measured. */
export interface BenchRequest {
  /** Names of cases, or how they begin; empty for all. */
  readonly cases: readonly string[];
  readonly budget: "full" | "quick" | Budget;
}

/** What comes back: any number of `progress`, then one of the others. */
export type BenchMessage =
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "result"; readonly result: RuntimeResult }
  | { readonly kind: "failure"; readonly message: string };

/** Measures and tells, whatever happens. */
export async function answer(
  request: BenchRequest,
  openPlace: () => Place | Promise<Place>,
  tell: (message: BenchMessage) => void,
): Promise<void> {
  try {
    const budget = request.budget === "full" ? BUDGET_FULL : request.budget === "quick" ? BUDGET_QUICK : request.budget;
    const place = await openPlace();
    const report = (text: string) => tell({ kind: "progress", text });
    tell({ kind: "result", result: await measureAll(chooseCases(request.cases), place, budget, report) });
  } catch (error) {
    tell({ kind: "failure", message: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  }
}
