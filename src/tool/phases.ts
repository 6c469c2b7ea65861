/**
 * The phases of a recorded call, in the order that is promised: decided (policy, question, guard), marked, durable, run. Nothing
 * that can be registered or disposed changes it. Calls of the model, nested calls and calls outside of any session pass here.
 *
 * @see architecture P5; execution §3.3, §3.7
 * @module
 */
import { passBarrier } from "../checkpoint/mod.ts";
import { type Block, type EffectClass, type JsonValue, type Message, snapshotJson } from "../event/mod.ts";
import { type GivenArguments, givenValue } from "./arguments.ts";
import type { HookedCall } from "./call.ts";
import { decide } from "./decide.ts";
import { execute } from "./execute.ts";
import { newEffectKey } from "./ids.ts";
import { NestedCalls, type ProposedNestedCall } from "./nested.ts";
import { abortedBeforeDispatch, failure, failureOf, INVALID_ARGS, success, type ToolOutcome } from "./outcome.ts";
import {
  type Dispatch,
  nestedData,
  type RecordedCall,
  recordMarker,
  recordNestedCall,
  recordOutcome,
} from "./record.ts";
import type { EarlierTry } from "./retry.ts";
import { finalOutcome, type Unreviewed } from "./review.ts";
import { startRunning, stopRunning } from "./running.ts";
import { type CallFacts, type Host, type Scene, subjectOf } from "./scene.ts";
import { problemsText } from "./schema_problem.ts";
import { answerOf } from "./strangers.ts";
import type { Tool } from "./tool.ts";
import { isUnsettled } from "./unsettled.ts";

/** A call that is recorded and decided about. */
export interface PreparedCall {
  readonly facts: CallFacts;
  /** What `dispatchCall` will run; `null` when the call has ended already. */
  readonly plan: { readonly tool: Tool; readonly earlier: EarlierTry | null } | null;
  /** How it has ended, when there is no plan. */
  readonly end: Ended;
}

/** A call that has ended and is not answered in the log. */
export interface SettledCall {
  readonly facts: CallFacts;
  readonly end: Ended;
  /** Kept from the first try to commit, so that a second one asks nobody again. */
  final: ToolOutcome | null;
}

/** How a call ended, before it is reviewed. */
interface Ended extends Unreviewed {
  /** See {@linkcode CallEnd.refusal}. */
  readonly refusal: unknown;
}

/** How a call ended, now that it is answered. */
export interface CallEnd {
  readonly outcome: ToolOutcome;
  /** The barrier failure that ended it, or a call its body made; else `null`. With one, the turn must not go on. */
  readonly refusal: unknown;
  /** For the inbox of the next step, in this order. */
  readonly additionalContexts: readonly Message[];
  /** Whether the turn ends with this step. */
  readonly concludesTurn: boolean;
}

/**
 * Everything between the record and the marker. Never rejects.
 *
 * @example
 * ```ts
 * import { givenText } from "./arguments.ts";
 * import { prepare } from "./phases.ts";
 * import type { RecordedCall } from "./record.ts";
 * import type { Host } from "./scene.ts";
 *
 * async function mayRun(call: RecordedCall, host: Host): Promise<boolean> {
 *   return (await prepare(call, givenText(call.arguments), host)).plan !== null;
 * }
 * ```
 */
export async function prepare(call: RecordedCall, given: GivenArguments, host: Host): Promise<PreparedCall> {
  const tool = host.tools.get(call.name) ?? null;
  const raw = {
    call,
    tool,
    args: null,
    hooked: hookedCall(call, host, given.ok ? given.value : call.arguments, "opaque"),
  };
  if (!given.ok) return over(raw, { outcome: given.outcome, review: "none" });
  if (host.signal.aborted) return over(raw, { outcome: abortedBeforeDispatch(), review: "none" });

  const checked = await checkedArguments(tool, given.value, host);
  if (checked === null) return over(raw, { outcome: abortedBeforeDispatch(), review: "none" });
  const facts = tool === null || !checked.ok
    ? raw
    : { ...raw, args: checked.value, hooked: hookedCall(call, host, given.value, tool.effectOf(checked.value)) };
  const verdict = await decide({ ...facts, host }, checked.ok ? null : checked.outcome);
  if (verdict.kind === "run") {
    return { facts, plan: { tool: tool!, earlier: verdict.earlier }, end: ended(abortedBeforeDispatch()) };
  }
  const { outcome, isReviewed, refusal } = verdict;
  return over(facts, { outcome, review: isReviewed ? "full" : "finalize", refusal });
}

type CheckedArguments =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly outcome: ToolOutcome };

/** What the tool's schema says about them; `null` when the call was cancelled meanwhile. */
async function checkedArguments(tool: Tool | null, args: JsonValue, host: Host): Promise<CheckedArguments | null> {
  if (tool === null) return { ok: true, value: args };
  const answer = await answerOf(() => tool.checkArguments(args), host);
  if (answer.kind === "given-up") return null;
  if (answer.kind === "failed") return { ok: false, outcome: failure(answer.error) };
  if (answer.value.ok) {
    const { value } = answer.value;
    return { ok: true, value: value === args ? args : frozenCopy(value) };
  }
  const said = `invalid arguments: ${problemsText(answer.value.problems)}`;
  return { ok: false, outcome: failureOf(INVALID_ARGS, "ToolError", said) };
}

/** Calls of the tool share one value, so it is frozen; what a validator made that is no JSON (a date) stays as it is. */
function frozenCopy(value: unknown): JsonValue {
  try {
    return snapshotJson(value, "the checked arguments");
  } catch {
    return value as JsonValue;
  }
}

/**
 * Passes the barrier and runs wrappers and body. Never rejects.
 *
 * @example
 * ```ts
 * import { dispatch, type PreparedCall } from "./phases.ts";
 * import type { Host } from "./scene.ts";
 *
 * async function hadBody(prepared: PreparedCall, host: Host): Promise<boolean> {
 *   return (await dispatch(prepared, host)).end.hadBody;
 * }
 * ```
 */
export async function dispatch({ facts, plan, end }: PreparedCall, host: Host): Promise<SettledCall> {
  if (plan === null) return { facts, end, final: null };
  if (host.session !== null) startRunning(host.session, facts.call.callSeq);
  try {
    return { facts, end: await run({ ...facts, host }, plan.tool, plan.earlier), final: null };
  } catch (error) {
    // A fault of ours. The call is answered all the same, and the turn does not go on.
    return { facts, end: ended(failure(error), { refusal: error }), final: null };
  }
}

/** Marker, barrier, wrappers and body. */
async function run(scene: Scene, tool: Tool, earlier: EarlierTry | null): Promise<Ended> {
  const { call, hooked, host } = scene;
  const { session, signal } = host;
  const { effect } = hooked;
  if (signal.aborted) return ended(abortedBeforeDispatch());
  const drawn: Dispatch = {
    effectKey: earlier?.effectKey ?? newEffectKey(host.random),
    effect,
    ...(earlier === null ? {} : { retryOf: earlier.retryOf }),
  };

  // A body that has no effect and runs inside another needs no evidence of its own.
  if (session !== null && (call.parentCallId === null || effect !== "none")) {
    try {
      const throughSeq = await recordMarker(session, call, drawn, signal);
      await passBarrier(session, { barrier: "tool", throughSeq, effect, signal });
    } catch (error) {
      if (signal.aborted) return ended(abortedBeforeDispatch());
      return ended(failure(error), { review: "finalize", refusal: error });
    }
  }

  let refusal: unknown = null;
  const nested = new NestedCalls(call.depth, async (proposed) => {
    try {
      const end = await runNested(call, proposed, host);
      refusal ??= end.refusal;
      return end.outcome;
    } catch (error) {
      refusal ??= error;
      throw error;
    }
  });
  const executed = await execute(scene, tool, drawn, nested);
  const review = executed.isWrapperFailure ? "finalize" : "full";
  return { outcome: executed.outcome, hadBody: executed.hadBody, review, refusal };
}

/**
 * A call that a body makes: the same pipeline, under a name of its own in the log.
 *
 * @throws only what refused an append
 */
async function runNested(parent: RecordedCall, proposed: ProposedNestedCall, parentHost: Host): Promise<CallEnd> {
  const { position, name, args, signal } = proposed;
  const host: Host = { ...parentHost, signal };
  const given = givenValue(args);
  const callId = `${parent.callId}:ptc:${position}`;
  const unrecorded: RecordedCall = {
    turn: parent.turn,
    step: parent.step,
    callId,
    name,
    arguments: given.ok ? given.text : "",
    rootCallId: parent.rootCallId,
    parentCallId: parent.callId,
    providerCallId: callId,
    depth: parent.depth + 1,
    callSeq: -1,
  };
  // What never gets as far as policy leaves no trace: it did not start.
  const isStarted = given.ok && !signal.aborted && host.session !== null;
  const call = isStarted ? await recordNestedCall(host.session, unrecorded, signal) : unrecorded;
  const { facts, end } = await dispatch(await prepare(call, given, host), host);
  try {
    return await commitNested({ ...facts, host }, end);
  } finally {
    if (host.session !== null) stopRunning(host.session, call.callSeq);
  }
}

/** The result of a nested call that left its effect open is not logged: `tool/ptc-dispatch` means that it is settled. */
async function commitNested(scene: Scene, end: Ended): Promise<CallEnd> {
  const { call, host, hooked } = scene;
  const { session, signal } = host;
  const outcome = await finalOutcome(scene, end);
  if (session === null || call.callSeq === -1) return callEnd(outcome, end.refusal);
  const hadEffect = end.hadBody && hooked.effect !== "none";
  if (!(hadEffect && isUnsettled(outcome))) {
    const content = await loggedContent(scene, outcome);
    await recordOutcome(session, { ...outcome, content }, signal, ({ isError, content }) => ({
      type: "tool/ptc-dispatch",
      data: { ...nestedData(call), isError, content },
    }));
  }
  if (hadEffect) await flushResult(host);
  return callEnd(outcome, end.refusal);
}

/** What listeners leave of the content of a nested call for the log. One that fails leaves nothing of it. */
async function loggedContent(scene: Scene, { isError, content }: ToolOutcome): Promise<readonly Block[]> {
  const { call, host } = scene;
  const record = Object.freeze({ ...nestedData(call), isError, content });
  const chain = () => host.hooks.waterfall("tools/ptc-dispatch-log", [record], () => content, subjectOf(host));
  const answer = await answerOf(chain, host);
  const logged = answer.kind === "answered" ? success({ content: answer.value }) : null;
  if (logged !== null && !logged.isError) {
    const { callId, callSeq, name } = call;
    return await host.keepContent?.({ callId, callSeq, name, isNested: true }, logged.content) ?? logged.content;
  }
  return [{ type: "text", text: "The content of this call was not logged: what decides about it failed." }];
}

/**
 * Makes a result durable at once. A failure is not lost here: the result stays pending, and the next barrier meets the same
 * refusal before anything runs.
 *
 * @example
 * ```ts
 * import { flushResult } from "./phases.ts";
 * import type { Host } from "./scene.ts";
 *
 * async function keep(host: Host): Promise<void> {
 *   await flushResult(host);
 * }
 * ```
 */
export async function flushResult({ session, signal }: Host): Promise<void> {
  await session?.flush({ signal }).catch(() => {});
}

function over(facts: CallFacts, end: Partial<Ended> & { readonly outcome: ToolOutcome }): PreparedCall {
  return { facts, plan: null, end: ended(end.outcome, end) };
}

function ended(outcome: ToolOutcome, end: Partial<Ended> = {}): Ended {
  return { hadBody: false, review: "full", refusal: null, ...end, outcome };
}

/**
 * The end of a call, as whoever made it is told.
 *
 * @example
 * ```ts
 * import { abortedBeforeDispatch } from "./outcome.ts";
 * import { callEnd } from "./phases.ts";
 *
 * if (callEnd(abortedBeforeDispatch(), null).concludesTurn) throw new Error("unreachable");
 * ```
 */
export function callEnd(outcome: ToolOutcome, refusal: unknown): CallEnd {
  const { additionalContexts = [], concludesTurn = false } = outcome;
  return { outcome, refusal, additionalContexts, concludesTurn };
}

function hookedCall(call: RecordedCall, host: Host, args: JsonValue, effect: EffectClass): HookedCall {
  const { depth: _, ...facts } = call;
  return Object.freeze({ ...facts, sessionId: host.session?.id ?? "", arguments: args, effect, signal: host.signal });
}
