/**
 * One turn: steps until the model has nothing more to do.
 *
 * @see execution §1.2, §1.3
 * @module
 */
import { passBarrier } from "../checkpoint/mod.ts";
import { HoldfastError } from "../errors.ts";
import type { AbortCause, LlmFailure, Message, TurnEndReason, Usage } from "../event/mod.ts";
import { messageOf } from "../tool/mod.ts";
import { closeTurn } from "./close_turn.ts";
import { claim } from "./inbox.ts";
import type { Loop } from "./loop.ts";
import { ModelFailed, runStep } from "./step.ts";

/** How many steps a turn may have unless the host says otherwise. The turn then ends with the error `STEP_LIMIT`. */
export const STEPS_PER_TURN_MAX = 200;

/** How a turn went. */
export interface TurnReport {
  readonly turn: number;
  readonly reason: TurnEndReason;
  readonly steps: number;
  /** What the turn's requests cost, as far as the provider said; `null` when it did not. */
  readonly usage: Usage | null;
  /** What was thrown, when the reason is an error; with its cause. */
  readonly error: unknown;
}

/** The reason of a turn's signal: who cancelled it. */
export class TurnCancelled extends Error {
  readonly abortCause: AbortCause;

  constructor(abortCause: AbortCause) {
    super(`The turn was cancelled (${abortCause.kind})`);
    this.name = "AbortError";
    this.abortCause = abortCause;
  }
}

/**
 * Runs the next turn to its end. Whatever happens in it, the turn is closed and every call answered when this resolves.
 *
 * @param signal aborted with a {@linkcode TurnCancelled}; bodies that run are waited for
 * @param onClaim told which messages the turn has taken
 * @throws whatever refused `turn/start` (nothing happened then) or the events that close the turn (it is open still)
 *
 * @example
 * ```ts
 * import type { Loop } from "./loop.ts";
 * import { runTurn } from "./turn.ts";
 *
 * async function oneTurn(loop: Loop): Promise<string> {
 *   const report = await runTurn(loop, new AbortController().signal, () => {});
 *   return report.reason.kind;
 * }
 * ```
 */
export async function runTurn(
  loop: Loop,
  signal: AbortSignal,
  onClaim: (messages: readonly Message[]) => void,
): Promise<TurnReport> {
  const { session } = loop;
  const turn = session.folds.brackets.lastTurn + 1;
  session.append({ type: "turn/start", data: { turn } });
  const tally: Tally = { steps: 0, usage: null };
  let reason: TurnEndReason;
  let error: unknown = null;
  try {
    reason = await runSteps(loop, { turn, signal, onClaim, tally });
  } catch (thrown) {
    // The cancel wins over whatever it caused.
    reason = signal.aborted ? abortedBy(signal) : { kind: "error", error: failureFacts(thrown) };
    error = signal.aborted ? null : thrown;
  }
  await closeTurn(session, reason);
  return { turn, reason, ...tally, error };
}

interface Tally {
  steps: number;
  usage: Usage | null;
}

interface TurnPlace {
  readonly turn: number;
  readonly signal: AbortSignal;
  readonly onClaim: (messages: readonly Message[]) => void;
  readonly tally: Tally;
}

async function runSteps(loop: Loop, { turn, signal, onClaim, tally }: TurnPlace): Promise<TurnEndReason> {
  const { session } = loop;
  // Two facts, because a turn that hit the ceiling may still owe the model the results of its calls.
  let hitCeiling = false;
  for (let step = 1;; step++) {
    if (step > loop.stepsPerTurnMax) throw new StepLimit(loop.stepsPerTurnMax);
    signal.throwIfAborted();
    const messages = claim(session, step === 1);
    onClaim(messages);
    await passBarrier(session, { barrier: "pre-step", throughSeq: session.nextSeq - 1, signal });
    tally.steps = step;
    const end = await runStep(loop, { turn, step, messages, signal });
    tally.usage = sum(tally.usage, end.usage);
    signal.throwIfAborted();
    hitCeiling ||= end.kind === "max-tokens";
    const owesAnswer = end.kind === "called-tools" || session.folds.inbox.nextStep.length > 0;
    if (!owesAnswer) return { kind: hitCeiling ? "max-tokens" : "completed" };
  }
}

class StepLimit extends Error {
  constructor(limit: number) {
    super(`The turn reached ${limit} steps and was ended`);
  }
}

function abortedBy(signal: AbortSignal): TurnEndReason {
  const { reason } = signal;
  return { kind: "aborted", reason: reason instanceof TurnCancelled ? reason.abortCause : { kind: "user" } };
}

/** A provider's failure keeps its facts and a refusal of ours its code; anything else is `UNKNOWN`. */
function failureFacts(error: unknown): LlmFailure {
  if (error instanceof ModelFailed) return error.failure;
  const message = messageOf(error);
  if (error instanceof StepLimit) return { message, code: "STEP_LIMIT" };
  return { message, code: error instanceof HoldfastError ? error.code : "UNKNOWN" };
}

function sum(left: Usage | null, right: Usage | null): Usage | null {
  if (left === null || right === null) return left ?? right;
  const total: Record<string, number> = { ...left };
  for (const [key, value] of Object.entries(right)) total[key] = (total[key] ?? 0) + value;
  return total as unknown as Usage;
}
