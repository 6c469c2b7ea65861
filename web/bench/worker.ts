/**
 * The worker that is measured in anybody's browser. It measures once, tells what it does, and leaves nothing behind.
 *
 * @module
 */
import type { CaseResult, RuntimeResult } from "../../bench/bench_case.ts";
import { timerStepMs } from "../../bench/clock_steps.ts";
import { measureAll } from "../../bench/measure.ts";
import { browserPlace, removeLeftovers } from "../../bench/places/browser_place.ts";
import { planFor } from "./plan.ts";

/** What the worker is asked. */
export interface MeasureRequest {
  readonly runtime: string;
  readonly isShort: boolean;
}

/** What it tells. */
export type MeasureMessage =
  | { readonly kind: "progress"; readonly text: string; readonly share: number }
  | { readonly kind: "result"; readonly result: RuntimeResult }
  | { readonly kind: "failure"; readonly message: string };

addEventListener("message", ({ data }: MessageEvent<MeasureRequest>) => {
  const tell = (message: MeasureMessage) => postMessage(message);
  alone(() => measure(data, tell)).then(
    (result) => tell({ kind: "result", result }),
    (error: Error) => tell({ kind: "failure", message: error.message }),
  );
});

/** Two tabs that measure would measure each other. The lock ends with the worker, however that ends. */
async function alone<Result>(act: () => Promise<Result>): Promise<Result> {
  if (navigator.locks === undefined) return await act();
  return await navigator.locks.request("holdfast-bench", { ifAvailable: true }, async (lock) => {
    if (lock === null) throw new Error("Another tab of this page is measuring: wait until it is done.");
    // A measurement that was stopped could not remove what it had written.
    await removeLeftovers();
    return await act();
  });
}

async function measure(
  { runtime, isShort }: MeasureRequest,
  tell: (message: MeasureMessage) => void,
): Promise<RuntimeResult> {
  tell({ kind: "progress", text: "asking the browser what it has", share: 0 });
  const stepMs = timerStepMs(() => performance.now());
  const { batchFlushes, parts } = planFor(stepMs, isShort);
  const place = await browserPlace(runtime);
  try {
    const caseCount = parts.reduce((sum, { cases }) => sum + cases.length, 0);
    const cases: CaseResult[] = [];
    for (const part of parts) {
      for (const benchCase of part.cases) {
        const share = cases.length / caseCount;
        const report = (text: string) =>
          tell({ kind: "progress", text: `${benchCase.name}: ${text.split(", ").at(-1)}`, share });
        cases.push(...(await measureAll([benchCase], place, part.budget, report)).cases);
      }
    }
    const step = `The clock of this page moves in steps of ${Math.round(stepMs * 1000)} µs`;
    const notes = [
      batchFlushes === 1
        ? `${step}: every flush is timed by itself.`
        : `${step}, so a sample is the mean of ${batchFlushes} flushes in a row: single slow ones do not show.`,
    ];
    return { runtime, medium: place.medium, absent: place.absent, notes, cases };
  } finally {
    await place.clean();
  }
}
