/**
 * One step: what the model is told, its answer, and the calls it proposes.
 *
 * @see execution §1.2 (6 to 14)
 * @module
 */
import type { Usage } from "../event/mod.ts";
import { logAnswer, providerIdsOf } from "./answer.ts";
import { askModel } from "./ask_model.ts";
import type { LoopPlace } from "./hooks.ts";
import type { Loop } from "./loop.ts";
import { runCalls } from "./run_calls.ts";
import type { StepEntry } from "./step_entry.ts";

/** How a step that was not cut short ended. */
export interface StepEnd {
  /** `called-tools`: the model has not seen the results yet. */
  readonly kind: "answered" | "called-tools" | "max-tokens";
  readonly usage: Usage | null;
}

/**
 * Runs one step, from `step/start` to `step/end`. A failed request is made again when a listener of `agent/request-error` says
 * so, within the step.
 *
 * @throws the signal's reason when the turn is cancelled, `ModelFailed`, what a listener threw, a barrier's refusal,
 * or whatever refused an append; the step is open then, and `closeTurn` closes it
 *
 * @example
 * ```ts
 * import type { LoopPlace } from "./hooks.ts";
 * import type { Loop } from "./loop.ts";
 * import { runStep } from "./step.ts";
 *
 * async function isLastStep(loop: Loop, place: LoopPlace): Promise<boolean> {
 *   const entry = { messages: [], assembly: { systemPrompt: "", tools: [], context: [] } };
 *   return (await runStep(loop, place, entry)).kind === "answered";
 * }
 * ```
 */
export async function runStep(loop: Loop, place: LoopPlace, entry: NonNullable<StepEntry>): Promise<StepEnd> {
  const { session } = loop;
  const { turn, step, signal } = place;
  session.append({ type: "step/start", data: { turn, step } });
  const answer = await askModel(loop, place, entry);
  const { assembled } = answer;
  const calls = logAnswer(session, place, answer);
  const hasConcluded = calls.length > 0 && await runCalls(loop, place, calls, providerIdsOf(assembled));
  signal.throwIfAborted();
  session.append({ type: "step/end", data: { turn, step } });
  const isCut = assembled.finish?.kind === "max-tokens";
  const owesAnswer = calls.length > 0 && !hasConcluded;
  return { kind: isCut ? "max-tokens" : owesAnswer ? "called-tools" : "answered", usage: assembled.usage };
}
