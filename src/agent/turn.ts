/**
 * One turn: steps until the model has nothing more to do.
 *
 * @see execution §1.2, §1.3
 * @module
 */
import type { TurnEndReason, Usage } from "../event/mod.ts";
import { closeTurn } from "./close_turn.ts";
import { endReasonOf, StepLimit, TurnLeftOpen } from "./failure.ts";
import { hookAnswer } from "./hook_answer.ts";
import type { Loop } from "./loop.ts";
import { runStep } from "./step.ts";
import { enterStep } from "./step_entry.ts";

/** How many steps a turn may have unless the host says otherwise. The turn then ends with the error `STEP_LIMIT`. */
export const STEPS_PER_TURN_MAX = 200;

/** How a turn went. */
export interface TurnReport {
  /** Its number. */
  readonly turn: number;
  /** Why it ended, as the log says it. */
  readonly reason: TurnEndReason;
  /** How many steps it had. */
  readonly steps: number;
  /** What the turn's requests cost, as far as the provider said; `null` when it did not. */
  readonly usage: Usage | null;
  /** What was thrown, when the reason is an error; with its cause. */
  readonly error: unknown;
}

/**
 * Runs the next turn to its end. Whatever happens in it, the turn is closed and every call answered when this resolves.
 *
 * @param signal aborted with a `TurnCancelled`; bodies that run are waited for
 * @throws whatever refused `turn/start`; nothing happened then
 * @throws {TurnLeftOpen} when the log refused the events that close the turn
 *
 * @example
 * ```ts
 * import type { Loop } from "./loop.ts";
 * import { runTurn } from "./turn.ts";
 *
 * async function oneTurn(loop: Loop): Promise<string> {
 *   const report = await runTurn(loop, new AbortController().signal);
 *   return report.reason.kind;
 * }
 * ```
 */
export async function runTurn(loop: Loop, signal: AbortSignal): Promise<TurnReport> {
  const { session } = loop;
  const turn = session.folds.brackets.lastTurn + 1;
  session.append({ type: "turn/start", data: { turn } });
  loop.overflowRetries = 0;
  const tally: Tally = { steps: 0, usage: null };
  let reason: TurnEndReason;
  let error: unknown = null;
  try {
    reason = await runSteps(loop, turn, signal, tally);
  } catch (thrown) {
    reason = endReasonOf(thrown, signal);
    if (reason.kind === "error") error = thrown;
  }
  try {
    await closeTurn(session, reason, (refusal) => loop.tell({ kind: "error", error: refusal }));
  } catch (refusal) {
    throw new TurnLeftOpen(reason, refusal);
  } finally {
    if (reason.kind === "error") loop.tell({ kind: "error", error });
  }
  return { turn, reason, ...tally, error };
}

interface Tally {
  steps: number;
  usage: Usage | null;
}

async function runSteps(loop: Loop, turn: number, signal: AbortSignal, tally: Tally): Promise<TurnEndReason> {
  const { agent, inbox } = loop;
  // Two facts, because a turn that hit the ceiling may still owe the model the results of its calls.
  let hitCeiling = false;
  // A turn that was given nothing has nothing to do.
  let owesStep = false;
  for (let step = 1;; step++) {
    if (step > loop.stepsPerTurnMax) throw new StepLimit(loop.stepsPerTurnMax);
    signal.throwIfAborted();
    // Listeners are handed this very object.
    const place = Object.freeze({ agent, turn, step, signal });
    const entry = await enterStep(loop, place);
    if (entry === null) return { kind: "blocked" };
    if (entry.messages.length === 0 && !owesStep) break;

    tally.steps = step;
    const end = await runStep(loop, place, entry);
    tally.usage = sum(tally.usage, end.usage);
    signal.throwIfAborted();
    hitCeiling ||= end.kind === "max-tokens";
    owesStep = end.kind === "called-tools";
    if (owesStep) continue;
    if (inbox.length("next-step") === 0) await stopping(loop, turn, signal);
    if (inbox.length("next-step") === 0) break;
  }
  return { kind: hitCeiling ? "max-tokens" : "completed" };
}

/** Whoever objects to the end of the turn steers. */
async function stopping({ session, hooks, agent }: Loop, turn: number, signal: AbortSignal): Promise<void> {
  await hookAnswer(signal, () => hooks.serial("agent/turn-stopping", [{ agent, turn, signal }], { subject: session }));
}

function sum(left: Usage | null, right: Usage | null): Usage | null {
  if (left === null || right === null) return left ?? right;
  const total: { -readonly [Name in keyof Usage]: Usage[Name] } = { ...left };
  for (const [name, value] of Object.entries(right)) {
    total[name as keyof Usage] = (total[name as keyof Usage] ?? 0) + value;
  }
  return total;
}
