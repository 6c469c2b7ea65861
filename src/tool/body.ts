/**
 * One run of a body: its time, its nested calls, what it adds beside its result, and how it ended.
 *
 * @see execution §3.3 (8), §3.9
 * @module
 */
import { freezeJson, type JsonValue, type Message } from "../event/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import type { ToolCall } from "./call.ts";
import { type AdditionalContext, checkCount, contextMessage } from "./contexts.ts";
import { type NestedCalls, NestedScope } from "./nested.ts";
import { ABORTED, failure, failureOf, ToolError, type ToolOutcome } from "./outcome.ts";
import { outputOutcome } from "./output.ts";
import type { Tool } from "./tool.ts";
import { outcomeUnknown, timedOut } from "./unsettled.ts";

/** How long the first repetition of a failed body waits, in milliseconds. Each further one waits twice as long. */
const RETRY_DELAY_MS = 250;

/** What is known about a call before its body runs. */
export type BodyFacts = Omit<ToolCall, "signal" | "deferContext" | "concludeTurn" | "dispatch">;

/** What a body runs with. */
export interface BodyPlace {
  readonly tool: Tool;
  readonly args: JsonValue;
  readonly facts: BodyFacts;
  /** Caller and wrappers in one: the first abort wins. */
  readonly signal: AbortSignal;
  readonly nested: NestedCalls;
  readonly clock: Clock;
  readonly random: Random;
  /** Told about each run, just before it. */
  readonly onRun: (call: ToolCall) => void;
}

/**
 * Runs a body to its end, cancelled or not, and everything it called. Never rejects: what it throws is an outcome.
 *
 * A body without effect that failed without a code is run again as often as its tool says, unless it made calls of its own.
 *
 * @example
 * ```ts
 * import { type BodyPlace, runBody } from "./body.ts";
 *
 * async function hasFailed(place: BodyPlace): Promise<boolean> {
 *   return (await runBody(place)).isError;
 * }
 * ```
 */
export async function runBody(place: BodyPlace): Promise<ToolOutcome> {
  const { tool, facts, signal, nested, clock } = place;
  const repetitions = facts.effect === "none" ? tool.retries : 0;
  const nestedBefore = nested.count;
  for (let repetition = 0;; repetition++) {
    const outcome = await runOnce(place);
    const hasCode = !outcome.isError || outcome.error !== undefined;
    if (hasCode || repetition >= repetitions || nested.count > nestedBefore) return outcome;
    await pause(RETRY_DELAY_MS * 2 ** repetition, signal, clock);
    if (signal.aborted) return outcome;
  }
}

async function runOnce(
  { tool, args, facts, signal: outer, nested, clock, random, onRun }: BodyPlace,
): Promise<ToolOutcome> {
  const { effect } = facts;
  const { timeoutMs } = tool;
  const deadline = new AbortController();
  const isLate = new DOMException("The tool's time is up", "TimeoutError");
  const stopTimer = timeoutMs === null ? () => {} : clock.schedule(timeoutMs, () => deadline.abort(isLate));
  const signal = AbortSignal.any([outer, deadline.signal]);
  const scope = new NestedScope(nested, signal);
  const extras = new Extras(random);
  const call: ToolCall = Object.freeze({
    ...facts,
    signal,
    deferContext: (context: AdditionalContext) => extras.defer(context),
    concludeTurn: () => extras.conclude(),
    dispatch: (...call: Parameters<ToolCall["dispatch"]>) => scope.dispatch(...call),
  });
  onRun(call);

  let outcome: ToolOutcome;
  try {
    const returned = await tool.execute(args, call);
    outcome = await outputOutcome(tool, args, returned, { signal, clock });
  } catch (error) {
    outcome = thrownOutcome(error, signal, call);
  }
  stopTimer();
  extras.close();
  await scope.close();
  const whole = extras.addedTo(outcome, scope.contexts);
  // The first abort is the signal's reason: a cancel that came before is not a timeout.
  return signal.reason === isLate ? timedOut(timeoutMs!, whole, effect) : whole;
}

/** A body's own errors stand. One that gives up because it was told to leaves its effect unknown. */
function thrownOutcome(error: unknown, signal: AbortSignal, { effect }: ToolCall): ToolOutcome {
  if (!isAbort(error, signal)) return failure(error);
  if (effect === "none") return failureOf(ABORTED, "AbortError", "tool call aborted");
  return failure(
    outcomeUnknown("the call was cancelled while it ran. Whether it took effect is unknown: check first."),
  );
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  try {
    if (error instanceof ToolError) return false;
    return error === signal.reason ||
      (error instanceof Error && (error.name === "AbortError" || error.cause === signal.reason));
  } catch {
    // What is thrown can be a proxy that throws whatever it is asked.
    return false;
  }
}

/** What a body adds beside its result. */
class Extras {
  readonly #random: Random;
  readonly #contexts: Message[] = [];
  #concludesTurn = false;
  #isOver = false;

  constructor(random: Random) {
    this.#random = random;
  }

  defer(context: AdditionalContext): void {
    if (this.#isOver) throw new TypeError("Cannot add a context: the body is over");
    checkCount(this.#contexts.length + 1);
    this.#contexts.push(contextMessage(context, this.#random));
  }

  conclude(): void {
    if (!this.#isOver) this.#concludesTurn = true;
  }

  close(): void {
    this.#isOver = true;
  }

  /** Failures keep what was added; only a success can end the turn. */
  addedTo(outcome: ToolOutcome, nested: readonly Message[]): ToolOutcome {
    const contexts = [...this.#contexts, ...nested];
    return freezeJson({
      ...outcome,
      ...(contexts.length === 0 ? {} : { additionalContexts: contexts }),
      ...(this.#concludesTurn && !outcome.isError ? { concludesTurn: true as const } : {}),
    });
  }
}

function pause(delayMs: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.schedule(delayMs, end);
    function end() {
      stop();
      signal.removeEventListener("abort", end);
      resolve();
    }
    signal.addEventListener("abort", end, { once: true });
  });
}
