/**
 * The body of one call and the wrappers around it, behind the barrier.
 *
 * @see execution §3.3 (8, 9)
 * @module
 */
import type { Block, JsonValue, ResultError } from "../event/mod.ts";
import { type BodyFacts, runBody } from "./body.ts";
import type { ToolCall, WrappedCall } from "./call.ts";
import { contextMessages } from "./contexts.ts";
import type { NestedCalls } from "./nested.ts";
import { abortedBeforeDispatch, failure, failureOf, success, type ToolOutcome } from "./outcome.ts";
import { blocksOf, outputOutcome } from "./output.ts";
import type { Dispatch } from "./record.ts";
import { type Scene, subjectOf } from "./scene.ts";
import { type Answer, answerOf, unawaited } from "./strangers.ts";
import type { Tool } from "./tool.ts";
import { isUnsettled, lostResult, outcomeUnknown } from "./unsettled.ts";

/** How often the wrappers of one call may run its body. */
export const BODY_RUNS_MAX = 100;

/** What became of the body. */
export interface Executed {
  readonly outcome: ToolOutcome;
  /** Whether a body was entered. */
  readonly hadBody: boolean;
  /** Whether a wrapper failed: its own error is then not reviewed. */
  readonly isWrapperFailure: boolean;
}

/**
 * Runs wrappers and body. Never rejects.
 *
 * It ends when no body of this call runs any more, whatever the wrappers do: a wrapper that hangs is given up after a cancel, and
 * one that answers early does not leave a body behind. From then on `next()` refuses.
 *
 * @example
 * ```ts
 * import { execute } from "./execute.ts";
 * import { NestedCalls } from "./nested.ts";
 * import type { Scene } from "./scene.ts";
 * import type { Tool } from "./tool.ts";
 *
 * async function run(scene: Scene, tool: Tool): Promise<boolean> {
 *   const nested = new NestedCalls(0, () => Promise.reject(new TypeError("no nested calls here")));
 *   const { outcome } = await execute(scene, tool, { effectKey: "0".repeat(32), effect: "none" }, nested);
 *   return outcome.isError;
 * }
 * ```
 */
export async function execute(scene: Scene, tool: Tool, dispatch: Dispatch, nested: NestedCalls): Promise<Executed> {
  const { host, hooked } = scene;
  const runs = new BodyRuns(scene, tool, dispatch, nested);
  const wrapped = wrappedCall(scene, dispatch);
  const chain = () =>
    host.hooks.waterfall("tools/execute", [wrapped], () => runs.enter(wrapped.signal), subjectOf(host));
  const answer = await chainAnswer(chain, runs, scene);
  await runs.close();

  const { hadBody } = runs;
  if (answer.kind === "failed") {
    const outcome = runs.mayHaveHadEffect ? lostResult(answer.error) : failure(answer.error);
    return { outcome, hadBody, isWrapperFailure: true };
  }
  if (answer.kind === "given-up") {
    return { outcome: runs.last ?? abortedBeforeDispatch(), hadBody, isWrapperFailure: false };
  }
  const outcome = await wrapperOutcome(answer.value, runs, scene, tool);
  // A run that left its effect open is not settled by a later one that failed.
  const isOpen = runs.hasUnsettled && outcome.isError && !isUnsettled(outcome);
  if (!isOpen) return { outcome, hadBody, isWrapperFailure: false };
  const said = failure(
    outcomeUnknown(`${textOf(outcome)}. An earlier try of this call may have taken effect: check first`),
  );
  return { outcome: said, hadBody, isWrapperFailure: false };

  function textOf({ content }: ToolOutcome): string {
    const [block] = content;
    return block?.type === "text" ? block.text.replace(/^Error: /, "") : `tool "${hooked.name}" failed`;
  }
}

/** What the wrappers answer. Bodies are always waited for, wrappers after a cancel only as long as their grace. */
async function chainAnswer(chain: () => unknown, runs: BodyRuns, { host }: Scene): Promise<Answer<unknown>> {
  const answered = (async () => await chain())();
  for (;;) {
    const answer = await answerOf(() => answered, host);
    if (answer.kind !== "given-up" || runs.isQuiet) return answer;
    await runs.drained();
  }
}

/** The runs of the body of one call. */
class BodyRuns {
  readonly #scene: Scene;
  readonly #tool: Tool;
  readonly #facts: BodyFacts;
  readonly #nested: NestedCalls;
  /** Aborts when the call is over, for a body that a wrapper did not wait for. */
  readonly #over = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Outcomes that were made here: a wrapper that passes one on is believed. */
  readonly #made = new WeakSet<object>();
  #count = 0;
  #last: ToolOutcome | null = null;
  #hasUnsettled = false;
  #hasSucceeded = false;

  constructor(scene: Scene, tool: Tool, dispatch: Dispatch, nested: NestedCalls) {
    this.#scene = scene;
    this.#tool = tool;
    this.#nested = nested;
    const { sessionId, turn, step, callId, rootCallId, providerCallId, callSeq } = scene.hooked;
    this.#facts = { sessionId, turn, step, callId, rootCallId, providerCallId, callSeq, ...dispatch };
  }

  get hadBody(): boolean {
    return this.#count > 0;
  }

  get isQuiet(): boolean {
    return this.#running.size === 0;
  }

  /** How the newest run ended; `null` when none has. */
  get last(): ToolOutcome | null {
    return this.#last;
  }

  /** Whether a run left its effect open. */
  get hasUnsettled(): boolean {
    return this.#hasUnsettled;
  }

  /** Whether a run had its effect or left it open: a body's own failure says that nothing happened. */
  get mayHaveHadEffect(): boolean {
    return this.#hasUnsettled || this.#hasSucceeded;
  }

  isMadeHere(outcome: unknown): outcome is ToolOutcome {
    return typeof outcome === "object" && outcome !== null && this.#made.has(outcome);
  }

  /** The innermost `next()`. */
  enter(wrapperSignal: AbortSignal): Promise<ToolOutcome> {
    const running = this.#enter(wrapperSignal);
    this.#running.add(running);
    // Watched, because a wrapper may not wait for it.
    running.catch(() => {}).finally(() => this.#running.delete(running));
    return running;
  }

  async #enter(wrapperSignal: AbortSignal): Promise<ToolOutcome> {
    const { hooked, args, host } = this.#scene;
    if (this.#over.signal.aborted) throw new TypeError(`Cannot run tool "${hooked.name}" again: the call is answered`);
    if (this.#count >= BODY_RUNS_MAX) {
      throw new RangeError(`Cannot run tool "${hooked.name}" again: it ran ${BODY_RUNS_MAX} times for this call`);
    }
    if (hooked.signal.aborted || wrapperSignal.aborted) return this.#noted(abortedBeforeDispatch());
    this.#count++;
    const outcome = this.#noted(
      await runBody({
        tool: this.#tool,
        args,
        facts: this.#facts,
        signal: AbortSignal.any([hooked.signal, wrapperSignal, this.#over.signal]),
        nested: this.#nested,
        clock: host.clock,
        random: host.random,
        onRun: (call) => this.#tell(call),
      }),
    );
    this.#last = outcome;
    const hasEffect = this.#facts.effect !== "none";
    this.#hasUnsettled ||= hasEffect && isUnsettled(outcome);
    this.#hasSucceeded ||= hasEffect && !outcome.isError;
    return outcome;
  }

  /** Takes no more runs, tells those that run to stop, and waits for them. */
  async close(): Promise<void> {
    this.#over.abort(new DOMException("The call is answered", "AbortError"));
    await this.drained();
  }

  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  #noted(outcome: ToolOutcome): ToolOutcome {
    this.#made.add(outcome);
    return outcome;
  }

  #tell(call: ToolCall): void {
    try {
      unawaited(this.#scene.host.onBody?.(call, this.#scene.hooked.name));
    } catch {
      // Whoever watches cannot stop a body.
    }
  }
}

/** Everything about it is fixed but its signal. */
function wrappedCall({ hooked }: Scene, { effectKey, retryOf }: Dispatch): WrappedCall {
  let current = hooked.signal;
  const { signal: _, ...facts } = hooked;
  const wrapped = { ...facts, effectKey, ...(retryOf === undefined ? {} : { retryOf }) };
  Object.defineProperty(wrapped, "signal", {
    enumerable: true,
    get: () => current,
    set(signal: unknown) {
      if (!(signal instanceof AbortSignal)) throw new TypeError("Cannot replace a call's signal: found no AbortSignal");
      current = signal;
    },
  });
  return Object.freeze(wrapped) as WrappedCall;
}

/** What a wrapper answered, as an outcome: believed when it was made here, checked and rendered otherwise. */
async function wrapperOutcome(answer: unknown, runs: BodyRuns, scene: Scene, tool: Tool): Promise<ToolOutcome> {
  if (runs.isMadeHere(answer)) return answer;
  try {
    return await checkedAnswer(answer, scene, tool);
  } catch (error) {
    return failure(new TypeError("a wrapper of the call answered with no result", { cause: error }));
  }
}

async function checkedAnswer(answer: unknown, { args, host }: Scene, tool: Tool): Promise<ToolOutcome> {
  // Each member is read once, so that what is checked is what is kept.
  const { isError, content, meta, value, message, error, additionalContexts, concludesTurn } = answer as GivenAnswer;
  if (isError !== true && isError !== false) throw new TypeError("isError is neither true nor false");
  const outcome = isError
    ? givenFailure(content, message, error)
    : tool.output === null
    ? success({ content: blocksOf(content), ...(meta === undefined ? {} : { meta }) })
    : await outputOutcome(tool, args, value, host);
  const contexts = contextMessages(additionalContexts, host.random);
  return Object.freeze({
    ...outcome,
    ...(contexts.length === 0 ? {} : { additionalContexts: Object.freeze(contexts) }),
    ...(concludesTurn === true && !outcome.isError ? { concludesTurn } : {}),
  });
}

interface GivenAnswer {
  readonly isError: unknown;
  readonly content: string | readonly Block[];
  readonly meta?: JsonValue;
  readonly value: unknown;
  readonly message: unknown;
  readonly error?: ResultError;
  readonly additionalContexts?: Parameters<typeof contextMessages>[0];
  readonly concludesTurn?: true;
}

function givenFailure(content: GivenAnswer["content"], message: unknown, error: ResultError | undefined): ToolOutcome {
  const said = typeof message === "string"
    ? failure(new Error(message)).content
    : success({ content: blocksOf(content) }).content;
  if (error === undefined) return Object.freeze({ isError: true, content: said });
  const { name, code } = error;
  const coded = failureOf(String(code), String(name), "");
  return Object.freeze({ ...coded, content: said });
}
