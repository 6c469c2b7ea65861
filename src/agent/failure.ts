/**
 * Why a turn ended early: cancelled, or failed with facts.
 *
 * @see execution §1.3
 * @module
 */
import { HoldfastError } from "../errors.ts";
import { type AbortCause, type LlmFailure, shapeProblem, snapshotOf, type TurnEndReason } from "../event/mod.ts";
import { messageOf } from "../tool/mod.ts";

/** The reason of a turn's signal: who cancelled it. */
export class TurnCancelled extends Error {
  /** Who cancelled, as `turn/end` says it. */
  readonly abortCause: AbortCause;

  /**
   * Made by `cancel`.
   *
   * @throws {TypeError} when the log could not hold the cause: a turn that ends so would never end
   */
  constructor(abortCause: AbortCause) {
    const cause = snapshotOf(abortCause, "the cause of a cancel");
    const data = { turn: 1, reason: { kind: "aborted", reason: cause } };
    const problem = shapeProblem({ type: "turn/end", seq: 0, data });
    if (problem !== null) throw new TypeError(`Cannot cancel: found ${problem}`);
    super(`The turn was cancelled (${cause.kind})`);
    this.name = "AbortError";
    this.abortCause = cause;
  }
}

/** The provider failed, with facts. */
export class ModelFailed extends Error {
  readonly failure: LlmFailure;

  constructor(failure: LlmFailure) {
    super(failure.message);
    this.name = "ModelFailed";
    this.failure = failure;
  }
}

/** The log refused the events that close a turn. It is open still, and `cause` says why. */
export class TurnLeftOpen extends Error {
  readonly reason: TurnEndReason;

  constructor(reason: TurnEndReason, cause: unknown) {
    super("The turn could not be closed", { cause });
    this.name = "TurnLeftOpen";
    this.reason = reason;
  }
}

/** The turn has had as many steps as it may. */
export class StepLimit extends Error {
  constructor(limit: number) {
    super(`The turn reached ${limit} steps and was ended`);
    this.name = "StepLimit";
  }
}

/**
 * Who cancelled, from the signal of a turn.
 *
 * @example
 * ```ts
 * import { abortCauseOf, TurnCancelled } from "./failure.ts";
 *
 * const signal = AbortSignal.abort(new TurnCancelled({ kind: "parent" }));
 * if (abortCauseOf(signal).kind !== "parent") throw new Error("unreachable");
 * ```
 */
export function abortCauseOf({ reason }: AbortSignal): AbortCause {
  return reason instanceof TurnCancelled ? reason.abortCause : { kind: "user" };
}

/**
 * How a turn ends that was cut short. The cancel wins over whatever it caused.
 *
 * @example
 * ```ts
 * import { endReasonOf } from "./failure.ts";
 *
 * const { signal } = new AbortController();
 * const reason = endReasonOf(new Error("cannot read", { cause: new Error("no disk") }), signal);
 * if (reason.kind !== "error" || reason.error.code !== "UNKNOWN") throw new Error("unreachable");
 * if (reason.error.message !== "cannot read: no disk") throw new Error("unreachable");
 * ```
 */
export function endReasonOf(thrown: unknown, signal: AbortSignal): TurnEndReason {
  return signal.aborted
    ? { kind: "aborted", reason: abortCauseOf(signal) }
    : { kind: "error", error: failureFacts(thrown) };
}

/** A provider's failure keeps its facts and a refusal of ours its code; anything else is `UNKNOWN`. */
function failureFacts(error: unknown): LlmFailure {
  if (error instanceof ModelFailed) return error.failure;
  const message = messageOf(error);
  if (error instanceof StepLimit) return { message, code: "STEP_LIMIT" };
  return { message, code: error instanceof HoldfastError ? error.code : "UNKNOWN" };
}
