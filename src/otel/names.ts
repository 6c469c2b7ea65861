/**
 * The names of spans, attributes and metrics, and which words may stand in them.
 *
 * Nothing that a person, a model or a tool wrote is among them: no prompt, no arguments, no result, no message of an error.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/ for those that begin with `gen_ai`
 * @module
 */

/** The name under which tracers and meters are asked for. */
export const SCOPE_NAME = "holdfast";

/** The spans. */
export const SPAN_NAMES: {
  readonly turn: string;
  readonly step: string;
  readonly request: string;
  readonly call: string;
  readonly barrier: string;
} = {
  turn: "holdfast.turn",
  step: "holdfast.step",
  request: "holdfast.request",
  call: "holdfast.call",
  barrier: "holdfast.barrier",
};

/** The metrics. */
export const METRIC_NAMES: {
  readonly flushDuration: string;
  readonly batchEvents: string;
  readonly batchSize: string;
  readonly barrierDuration: string;
  readonly atRiskSize: string;
  readonly atRiskEvents: string;
} = {
  flushDuration: "holdfast.flush.duration",
  batchEvents: "holdfast.flush.events",
  batchSize: "holdfast.flush.size",
  barrierDuration: "holdfast.barrier.duration",
  atRiskSize: "holdfast.at_risk.size",
  atRiskEvents: "holdfast.at_risk.events",
};

/** What a word looks like that may stand in an attribute: a code, a class name; never a sentence. */
const WORD = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

/**
 * The word for an error: its code, else its name. What is no word is `other`, so that no text of an error leaves by this way.
 *
 * @example
 * ```ts
 * import { errorWord } from "./names.ts";
 *
 * if (errorWord(new TypeError("the password is 1234")) !== "TypeError") throw new Error("unreachable");
 * if (errorWord({ code: "my password is 1234" }) !== "other") throw new Error("unreachable");
 * ```
 */
export function errorWord(error: unknown): string {
  try {
    const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
    const word = typeof code === "string" ? code : name;
    return typeof word === "string" && WORD.test(word) ? word : "other";
  } catch {
    // What is thrown can be null, or a proxy that throws whatever it is asked.
    return "other";
  }
}
