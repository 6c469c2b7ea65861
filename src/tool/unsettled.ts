/**
 * Outcomes of calls that were cut short: some of them leave open whether an effect happened, and then they say so.
 *
 * @see execution §3.3 (9), §3.9, §8
 * @module
 */
import {
  type EffectClass,
  freezeJson,
  NOT_STARTED_ERROR,
  OUTCOME_UNKNOWN_ERROR,
  TOOL_NOT_STARTED,
  TOOL_OUTCOME_UNKNOWN,
  TOOL_TIMEOUT,
} from "../event/mod.ts";
import { UNSETTLED_CODES } from "../fold/mod.ts";
import { ABORTED, failure, failureOf, messageOf, ToolError, type ToolOutcome } from "./outcome.ts";

/**
 * The error of a body that cannot tell whether its effect happened.
 *
 * @example
 * ```ts
 * import { outcomeUnknown } from "./unsettled.ts";
 *
 * if (outcomeUnknown("no answer came").code !== "TOOL_OUTCOME_UNKNOWN") throw new Error("unreachable");
 * ```
 */
export function outcomeUnknown(message: string, cause?: unknown): ToolError {
  return new ToolError(TOOL_OUTCOME_UNKNOWN, message, { name: OUTCOME_UNKNOWN_ERROR.name, cause });
}

/**
 * The error of a body that learns that nothing under its key has taken effect or ever will: somebody closed the key. The effect
 * then counts as absent, that of earlier tries under the key too, and an equal call is a new one.
 *
 * @example
 * ```ts
 * import { neverHappens } from "./unsettled.ts";
 *
 * if (neverHappens("the bank closed this key").code !== "TOOL_NOT_STARTED") throw new Error("unreachable");
 * ```
 */
export function neverHappens(message: string, cause?: unknown): ToolError {
  return new ToolError(TOOL_NOT_STARTED, message, { name: NOT_STARTED_ERROR.name, cause });
}

/**
 * The turn was cancelled while a body ran that then succeeded. What has no effect is forgotten; of everything else the result
 * is kept beside the error, because the model must not believe that nothing happened. Such an effect counts as unresolved.
 *
 * @example
 * ```ts
 * import { success } from "./outcome.ts";
 * import { aborted } from "./unsettled.ts";
 *
 * if (aborted(success("paid"), "opaque").content.length !== 2) throw new Error("unreachable");
 * ```
 */
export function aborted(outcome: ToolOutcome, effect: EffectClass): ToolOutcome {
  if (effect === "none") {
    return withContextsOf(outcome, failureOf(ABORTED, "AbortError", "tool call aborted"));
  }
  const said = failureOf(ABORTED, "AbortError", `tool call aborted while the tool ran. ${RAN_TO_ITS_END}`);
  return withContentOf(outcome, said);
}

/**
 * The tool's time was up before its body ended. Of everything with an effect the outcome is unknown, and the text says so; what
 * the body still returned is kept beside it.
 *
 * @param late what the body did when it was told to stop
 *
 * @example
 * ```ts
 * import { failure } from "./outcome.ts";
 * import { timedOut } from "./unsettled.ts";
 *
 * const outcome = timedOut(50, failure(new Error("gave up")), "opaque");
 * if (outcome.error?.code !== "TOOL_TIMEOUT") throw new Error("unreachable");
 * ```
 */
export function timedOut(timeoutMs: number, late: ToolOutcome, effect: EffectClass): ToolOutcome {
  const found = `the tool did not end within ${timeoutMs} ms`;
  if (effect === "none") return withContextsOf(late, failureOf(TOOL_TIMEOUT, "ToolTimeoutError", found));
  const isKnown = !late.isError;
  const said = isKnown ? RAN_TO_ITS_END : "Whether it took effect is unknown: check before repeating it.";
  const outcome = failureOf(TOOL_TIMEOUT, "ToolTimeoutError", `${found}. ${said}`);
  return isKnown ? withContentOf(late, outcome) : withContextsOf(late, outcome);
}

/**
 * The outcome of a call whose body may have had an effect, and whose own result is lost because something around it failed. It
 * counts as unknown, so that a repetition is recognised.
 *
 * @example
 * ```ts
 * import { lostResult } from "./unsettled.ts";
 *
 * if (lostResult(new Error("the wrapper broke")).error?.code !== "TOOL_OUTCOME_UNKNOWN") throw new Error("unreachable");
 * ```
 */
export function lostResult(error: unknown): ToolOutcome {
  return failure(outcomeUnknown(
    `${
      messageOf(error)
    }. The tool ran before that and its result is lost: it may have taken effect, check before repeating it`,
  ));
}

/**
 * Whether an outcome leaves open if an effect happened.
 *
 * @example
 * ```ts
 * import { failure } from "./outcome.ts";
 * import { isUnsettled, outcomeUnknown } from "./unsettled.ts";
 *
 * if (!isUnsettled(failure(outcomeUnknown("no answer")))) throw new Error("unreachable");
 * ```
 */
export function isUnsettled({ error }: ToolOutcome): boolean {
  return error !== undefined && UNSETTLED_CODES.has(error.code);
}

const RAN_TO_ITS_END =
  "It ran to its end, so its effect has probably happened: check before repeating it. What it returned follows.";

/** The failure, followed by what the body returned. */
function withContentOf(returned: ToolOutcome, said: ToolOutcome): ToolOutcome {
  const meta = returned.meta === undefined ? {} : { meta: returned.meta };
  return withContextsOf(returned, { ...said, content: [...said.content, ...returned.content], ...meta });
}

function withContextsOf({ additionalContexts }: ToolOutcome, said: ToolOutcome): ToolOutcome {
  return freezeJson({ ...said, ...(additionalContexts === undefined ? {} : { additionalContexts }) });
}
