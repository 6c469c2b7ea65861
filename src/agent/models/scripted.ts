/**
 * A model that follows a script: the first request gets the first step, the second the second, and so on.
 *
 * It is how the rest is tested, and how a demonstration runs without a key: it can answer, propose calls, wait, fail in the
 * middle of a stream, or never come back.
 *
 * @module
 */
import type { FinishReason, JsonValue, LlmFailure, StreamChunk, Usage } from "../../event/mod.ts";
import type { Model, ModelRequest } from "../../model/model.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { callChunks, reasoningChunks, textChunks } from "./chunks.ts";

/** One thing a scripted model does while it answers. */
export type ScriptPart =
  /** Says a text; an array is said in that many deltas. */
  | { readonly text: string | readonly string[] }
  | { readonly reasoning: string | readonly string[] }
  /** Proposes a call. Arguments that are not a string are written as JSON. Without an id it gets `call_<request>_<n>`. */
  | { readonly call: { readonly id?: string; readonly name: string; readonly arguments?: JsonValue } }
  | { readonly usage: Usage }
  /** Waits on the clock. */
  | { readonly delayMs: number }
  /** Waits until the request is aborted. */
  | { readonly hang: true }
  /** Ends the stream with this reason. Without one, a step ends with `tool-calls` when it proposed some, else `stop`. */
  | { readonly finish: FinishReason["kind"] }
  /** Ends the stream with a failure the provider reports. */
  | { readonly error: LlmFailure }
  /** Breaks the stream: it throws. */
  | { readonly throws: string }
  /** Ends the stream without a finish chunk. */
  | { readonly cut: true }
  /** Any chunk, as it is. */
  | { readonly chunk: StreamChunk }
  /** Runs code at this point. Not possible in a script that comes from a file. */
  | { readonly run: (request: ModelRequest, signal: AbortSignal) => void | Promise<void> };

/** What a scripted model does on one request. */
export type ScriptStep = readonly ScriptPart[];

/** How a scripted model is set up. */
export interface ScriptedOptions {
  /** Needed by `delayMs` parts only. */
  readonly clock?: Clock;
  /** Default "scripted". */
  readonly provider?: string;
  /** Default "scripted". */
  readonly id?: string;
  /** Tokens of context the model says it has; by default it does not say. */
  readonly contextWindow?: number;
}

/** A scripted model, and what it was asked so far. */
export interface ScriptedModel extends Model {
  /** Every request that was entered, in order. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Makes a model that follows `steps`. A request beyond the last step ends with the failure code `SCRIPT_ENDED`.
 *
 * @example
 * ```ts
 * import { scripted } from "./scripted.ts";
 *
 * const model = scripted([[{ text: "hello" }]]);
 * const request = { sessionId: "s", header: { config: { provider: "scripted", model: "scripted" } }, messages: [] };
 * let text = "";
 * for await (const chunk of model.stream(request, new AbortController().signal)) {
 *   if (chunk.type === "text-delta") text += chunk.text;
 * }
 * if (text !== "hello") throw new Error("unreachable");
 * ```
 */
export function scripted(steps: readonly ScriptStep[], options: ScriptedOptions = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    provider: options.provider ?? "scripted",
    id: options.id ?? "scripted",
    contextWindow: options.contextWindow,
    requests,
    async *stream(request, signal) {
      const step = steps[requests.length];
      requests.push(request);
      if (step === undefined) {
        yield failed({ message: `the script has ${steps.length} steps`, code: "SCRIPT_ENDED" });
        return;
      }
      yield* follow(step, request, signal, requests.length, options.clock);
    },
  };
}

async function* follow(
  step: ScriptStep,
  request: ModelRequest,
  signal: AbortSignal,
  requestNumber: number,
  clock: Clock | undefined,
): AsyncGenerator<StreamChunk> {
  let index = 0;
  let calls = 0;
  for (const part of step) {
    if (signal.aborted) throw signal.reason;
    if ("text" in part) yield* textChunks(index++, pieces(part.text));
    else if ("reasoning" in part) yield* reasoningChunks(index++, pieces(part.reasoning));
    else if ("call" in part) {
      calls += 1;
      const { id = `call_${requestNumber}_${calls}`, name, arguments: args = {} } = part.call;
      yield* callChunks(index++, { id, name, args: typeof args === "string" ? args : JSON.stringify(args) });
    } else if ("usage" in part) yield { type: "usage", usage: part.usage };
    else if ("chunk" in part) yield part.chunk;
    else if ("delayMs" in part) await pause(part.delayMs, clock, signal);
    else if ("hang" in part) await aborted(signal);
    else if ("run" in part) await part.run(request, signal);
    else if ("throws" in part) throw new Error(part.throws);
    else if ("error" in part) return yield failed(part.error);
    else if ("cut" in part) return;
    else return yield finished(part.finish);
  }
  yield finished(calls > 0 ? "tool-calls" : "stop");
}

function pieces(text: string | readonly string[]): readonly string[] {
  return typeof text === "string" ? [text] : text;
}

function failed(failure: LlmFailure): StreamChunk {
  return { type: "finish", reason: { kind: "error", failure } };
}

function finished(kind: FinishReason["kind"]): StreamChunk {
  if (kind !== "error" && kind !== "aborted") return { type: "finish", reason: { kind } };
  return { type: "finish", reason: { kind, failure: { message: `scripted ${kind}`, code: "UNKNOWN" } } };
}

function pause(delayMs: number, clock: Clock | undefined, signal: AbortSignal): Promise<void> {
  if (clock === undefined) throw new TypeError("Cannot wait in a script: a clock was not given");
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.schedule(delayMs, resolve);
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(cancel);
}

/** Rejects when the signal aborts, and never otherwise. */
function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}

const PART_KEYS = [
  "text",
  "reasoning",
  "call",
  "usage",
  "delayMs",
  "hang",
  "finish",
  "error",
  "throws",
  "cut",
  "chunk",
];

/**
 * Checks a script that comes from a file: an array of steps, each an array of parts with exactly one key.
 *
 * @throws {TypeError} naming the first place that is not a script
 *
 * @example
 * ```ts
 * import { parseScript } from "./scripted.ts";
 *
 * const steps = parseScript(JSON.parse('[[{"text":"hello"}]]'));
 * if (steps.length !== 1) throw new Error("unreachable");
 * ```
 */
export function parseScript(value: unknown): ScriptStep[] {
  if (!Array.isArray(value)) throw new TypeError("Cannot read the script: it is not an array of steps");
  value.forEach((step, stepIndex) => {
    if (!Array.isArray(step)) throw new TypeError(`Cannot read the script: step ${stepIndex} is not an array of parts`);
    step.forEach((part, partIndex) => checkPart(part, `step ${stepIndex}, part ${partIndex}`));
  });
  return value as ScriptStep[];
}

function checkPart(part: unknown, where: string): void {
  if (!isObject(part)) throw new TypeError(`Cannot read the script: ${where} is not an object`);
  const [key, ...more] = Object.keys(part);
  if (key === undefined || more.length > 0 || !PART_KEYS.includes(key)) {
    throw new TypeError(`Cannot read the script: ${where} needs exactly one key of ${PART_KEYS.join(", ")}`);
  }
  const value = part[key];
  if (!isPartValue(key, value)) {
    throw new TypeError(`Cannot read the script: ${where} has ${key} ${JSON.stringify(value)}`);
  }
}

function isPartValue(key: string, value: unknown): boolean {
  switch (key) {
    case "text":
    case "reasoning":
      return typeof value === "string" || Array.isArray(value) && value.every((piece) => typeof piece === "string");
    case "call":
      return isObject(value) && typeof value.name === "string" && ["undefined", "string"].includes(typeof value.id);
    case "usage":
      return isObject(value) && Number.isSafeInteger(value.inputTokens) && Number.isSafeInteger(value.outputTokens);
    case "delayMs":
      return typeof value === "number" && value >= 0 && value <= 0x7fff_ffff;
    case "hang":
    case "cut":
      return value === true;
    case "finish":
      return ["stop", "tool-calls", "max-tokens", "error", "aborted"].includes(value as string);
    case "error":
      return isObject(value) && typeof value.message === "string" && typeof value.code === "string";
    case "throws":
      return typeof value === "string";
    default:
      return isObject(value) && typeof value.type === "string";
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
