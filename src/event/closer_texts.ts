/**
 * The constants of closers: what a model reads about a call that a crash left without a result.
 *
 * Texts are stored in logs, and other readers of the format compare the first one byte for byte. None may ever change.
 *
 * @see session-format §9
 * @module
 */
import type { ResultError } from "./event.ts";

/** Code of a result for a call whose effect certainly did not happen. */
export const TOOL_NOT_STARTED = "TOOL_NOT_STARTED";

/** Code of a result for a call that may or may not have had its effect. */
export const TOOL_OUTCOME_UNKNOWN = "TOOL_OUTCOME_UNKNOWN";

/** Code of a result for a call that ran out of time; for an effectful tool its outcome is unknown as well. */
export const TOOL_TIMEOUT = "TOOL_TIMEOUT";

/** The `error` of a result with the code {@linkcode TOOL_NOT_STARTED}. */
export const NOT_STARTED_ERROR: ResultError = Object.freeze({ name: "ToolNotStartedError", code: TOOL_NOT_STARTED });

/** The `error` of a result with the code {@linkcode TOOL_OUTCOME_UNKNOWN}. */
export const OUTCOME_UNKNOWN_ERROR: ResultError = Object.freeze({
  name: "ToolOutcomeUnknownError",
  code: TOOL_OUTCOME_UNKNOWN,
});

/** The format's text for a call that was proposed and never recorded as started. */
export const NOT_STARTED_TEXT =
  "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";

/** The format's text for a call that was recorded and has no result. */
export const OUTCOME_UNKNOWN_TEXT: string =
  "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. " +
  "Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may " +
  "have side effects, first verify external state or ask the user. Do not retry blindly.";

/** Ours: the call was recorded, and the log proves that its body never began. */
export const NOT_DISPATCHED_TEXT: string =
  "The tool call was recorded, but the session was interrupted before the tool was started. The log shows that it had " +
  "no effect. Call it again if it is still needed.";

/** Ours: a lookup or a person found that the effect happened, and no content of the result was recovered. */
export const HAPPENED_TEXT: string =
  "The session was interrupted while the tool was running. It was checked afterwards: the operation took effect. What " +
  "the tool returned is lost. Do not call it again; look the details up if they are needed.";

/** Ours: a lookup or a person found that the effect did not happen. */
export const ABSENT_TEXT: string =
  "The session was interrupted while the tool was running. It was checked afterwards: the operation did not take " +
  "effect. Call it again if it is still needed.";
