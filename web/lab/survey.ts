/**
 * Looks at every crash state of a run, one after the other, without holding up the page.
 *
 * @module
 */
import { type Given, lookAt, type NextStartOptions } from "./next_start.ts";
import type { PaymentRun } from "./payment_run.ts";

/** What a state came to. */
export type Finding = Given | "refused";

/** Every finding, in the order of how far a call came. */
export const FINDINGS: readonly Finding[] = [
  "not_proposed",
  "not_started",
  "not_dispatched",
  "outcome_unknown",
  "done",
  "refused",
];

/** How far it has come. */
export interface Survey {
  readonly looked: number;
  readonly all: number;
  /** By moment: how many of its states came to what. */
  readonly moments: readonly Readonly<Partial<Record<Finding, number>>>[];
  /** What was said and is not true, with the place. */
  readonly lies: readonly { readonly moment: number; readonly state: number; readonly says: string }[];
  /** How many unknown outcomes there were, and how many of them asking the bank settled. */
  readonly unknown: number;
  readonly settled: number;
}

/** How many states are looked at before the progress is told. */
const TOLD_STATES = 8;

/**
 * Looks at every state of a run.
 *
 * @param tell is told now and then, and at the end
 * @param signal ends it; nothing is told after that
 */
export async function surveyOf(
  run: PaymentRun,
  options: NextStartOptions,
  tell: (survey: Survey) => void,
  signal: AbortSignal,
): Promise<void> {
  const all = run.moments.reduce((sum, { stateCount }) => sum + stateCount, 0);
  const moments: Partial<Record<Finding, number>>[] = run.moments.map(() => ({}));
  const lies: Survey["lies"][number][] = [];
  let [looked, unknown, settled] = [0, 0, 0];
  for (const [number, moment] of run.moments.entries()) {
    for (let state = 0; state < moment.stateCount; state++) {
      const look = await lookAt(run, moment, moment.stateAt(state), options);
      if (signal.aborted) return;
      const { next } = look;
      const finding = next.kind === "refused" ? "refused" : next.given;
      const counts = moments[number]!;
      counts[finding] = (counts[finding] ?? 0) + 1;
      for (const says of look.lies) lies.push({ moment: number, state, says });
      if (next.kind === "open" && next.given === "outcome_unknown") {
        unknown++;
        if (next.verdict === "happened" || next.verdict === "absent") settled++;
      }
      if (++looked % TOLD_STATES === 0 || looked === all) {
        tell({ looked, all, moments: moments.map((each) => ({ ...each })), lies: [...lies], unknown, settled });
      }
    }
  }
}
