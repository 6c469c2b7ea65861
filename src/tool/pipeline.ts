/**
 * One tool call, from intent to result.
 *
 * The order is the promise, and it stands in one function: recorded, allowed, asked, guarded, marked, durable, run. Nothing
 * that can be registered or disposed changes it.
 *
 * @see architecture P5; execution §3.3
 * @module
 */
import { type ApprovalOptions, requestApproval } from "../approval/mod.ts";
import { passBarrier } from "../checkpoint/mod.ts";
import { hasCode } from "../errors.ts";
import {
  type ApprovalOutcome,
  argumentsDigest,
  type EffectClass,
  type EventData,
  type JsonValue,
} from "../event/mod.ts";
import type { Session } from "../session/mod.ts";
import { parseArguments } from "./arguments.ts";
import { newEffectKey, newMessageId } from "./ids.ts";
import {
  ABORTED,
  aborted,
  abortedBeforeDispatch,
  failure,
  failureOf,
  outcomeUnknown,
  success,
  ToolError,
  type ToolOutcome,
  UNKNOWN_TOOL,
} from "./outcome.ts";
import { type EarlierTry, earlierTry } from "./retry.ts";
import type { Permission, Tool, ToolCall } from "./tool.ts";

/** A call as the model proposed it. */
export interface ProposedCall {
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  readonly name: string;
  /** The model's raw text. */
  readonly arguments: string;
}

/** What a guard looks at. */
export interface GuardedCall {
  readonly sessionId: string;
  readonly callId: string;
  readonly callSeq: number;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly effect: EffectClass;
}

/**
 * The last word before a call runs. It can deny, with the reason the model reads, and never allow: what policy or a person
 * refused stays refused. One that throws denies.
 */
export type Guard = (call: GuardedCall) => string | undefined;

/** What a call is run with. */
export interface PipelineContext extends ApprovalOptions {
  readonly session: Session;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly guards: readonly Guard[];
  /** Told that a body is about to run. */
  readonly onBody?: (call: ToolCall, name: string) => void;
}

/** How a call ended, and the barrier failure that ended it, when one did: then the turn must not go on. */
export interface CallEnd {
  readonly outcome: ToolOutcome;
  readonly refusal: unknown;
}

/**
 * Runs one call and answers it: when it resolves, its `tool/call` and its `tool/result` are in the log.
 *
 * Whatever the tool, a guard or an approver does, the call ends with a result. The result of a body with an effect is flushed
 * at once, because until then a crash would make the outcome unknown.
 *
 * @throws only what refused an append: the log cannot take events, and the call may be unanswered
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { runToolCall } from "./pipeline.ts";
 * import type { Tool } from "./tool.ts";
 *
 * async function runOne(session: Session, tool: Tool, signal: AbortSignal): Promise<boolean> {
 *   const context = { session, tools: new Map([[tool.name, tool]]), guards: [], approvers: [], policy: "ask" as const, signal };
 *   const end = await runToolCall({ turn: 1, step: 1, callId: "c1", name: tool.name, arguments: "{}" }, context);
 *   return end.outcome.isError;
 * }
 * ```
 */
export async function runToolCall(proposed: ProposedCall, context: PipelineContext): Promise<CallEnd> {
  const { session } = context;
  const { turn, step, callId, name } = proposed;
  const call = session.append({
    type: "tool/call",
    data: { turn, step, callId, name, arguments: proposed.arguments },
  });
  const end = await settle(proposed, call.seq, context);
  session.append(resultDraft(session, proposed, call.seq, end.outcome));
  if (end.hadEffect) await flushResult(session, context.signal);
  return end;
}

type Settled = CallEnd & { readonly hadEffect: boolean };

/** Everything between `tool/call` and `tool/result`, in the order that is promised. */
async function settle(proposed: ProposedCall, callSeq: number, context: PipelineContext): Promise<Settled> {
  const { session, signal } = context;
  const { turn, step, callId, name } = proposed;

  let args: JsonValue;
  try {
    args = parseArguments(proposed.arguments);
  } catch (error) {
    return ended(failure(error));
  }
  if (signal.aborted) return ended(abortedBeforeDispatch());
  const tool = context.tools.get(name);
  if (tool === undefined) return ended(failureOf(UNKNOWN_TOOL, "UnknownToolError", `there is no tool "${name}"`));
  const effect = tool.effectOf(args);

  // Policy
  const digest = await argumentsDigest(proposed.arguments);
  const earlier = effect === "none" ? null : await earlierTry(session.folds.unresolved.effects, name, digest);
  let permission: Permission;
  try {
    permission = withEarlierTry(checked(tool.permissionFor(args, effect)), effect, earlier);
  } catch (error) {
    return ended(failure(error));
  }
  if (permission.decision === "deny") return ended(failure(new Error(permission.reason)));
  if (signal.aborted) return ended(abortedBeforeDispatch());

  // Question
  if (permission.decision === "ask") {
    const question = { toolName: name, reason: permission.reason, call: { callId, callSeq, argumentsDigest: digest } };
    let answer: ApprovalOutcome;
    try {
      answer = await requestApproval(session, question, context);
    } catch (error) {
      if (!hasCode(error, "CHECKPOINT_FAILED")) throw error;
      return ended(failure(error), error);
    }
    if (answer === "cancelled" && signal.aborted) return ended(abortedBeforeDispatch());
    if (answer !== "allowed-once") return ended(failure(new Error(denialText(answer, context))));
  }

  // Guard
  const refused = guardReason(context, { sessionId: session.id, callId, callSeq, name, arguments: args, effect });
  if (refused !== null) return ended(failure(new Error(refused)));
  if (signal.aborted) return ended(abortedBeforeDispatch());

  // Marker and barrier
  const effectKey = earlier?.effectKey ?? newEffectKey(session.random);
  const retry = earlier === null ? {} : { retryOf: earlier.retryOf };
  const dispatched = { turn, step, callId, callSeq, effectKey, effect, ...retry };
  const marker = session.append({ type: "effect/dispatched", data: dispatched, ignorable: true });
  try {
    await passBarrier(session, { barrier: "tool", throughSeq: marker.seq, effect, signal });
  } catch (error) {
    return signal.aborted ? ended(abortedBeforeDispatch()) : ended(failure(error), error);
  }

  // Body
  const running: ToolCall = Object.freeze({ sessionId: session.id, ...dispatched, signal });
  context.onBody?.(running, name);
  return { outcome: await runBody(tool, args, running), refusal: null, hadEffect: effect !== "none" };
}

function ended(outcome: ToolOutcome, refusal: unknown = null): Settled {
  return { outcome, refusal, hadEffect: false };
}

/** A tool is a stranger here: a permission that is none of the three allows nothing. */
function checked(permission: Permission): Permission {
  if (["allow", "ask", "deny"].includes(permission?.decision)) return permission;
  throw new TypeError("the call was not allowed: the tool did not say whether it may run");
}

/** A repetition that could be a second effect is asked about, whatever the tool says; one that a person granted is not. */
function withEarlierTry(permission: Permission, effect: EffectClass, earlier: EarlierTry | null): Permission {
  if (earlier === null || permission.decision === "deny") return permission;
  if (earlier.isGranted) return { decision: "allow" };
  const mustAsk = permission.decision === "ask" || effect === "opaque" || earlier.isOpaque;
  if (!mustAsk) return permission;
  const found = `an equal earlier call (seq ${earlier.retryOf}) may already have taken effect`;
  const reason = permission.decision === "ask" ? permission.reason : undefined;
  return { decision: "ask", reason: reason === undefined ? found : `${reason}; ${found}` };
}

function denialText(answer: Exclude<ApprovalOutcome, "allowed-once">, { session, policy }: PipelineContext): string {
  if (answer === "rejected" && (session.folds.policy.policy ?? policy) === "never") return NEVER_ASKED;
  return DENIALS[answer];
}

const NEVER_ASKED = "the call was not allowed: it needs approval, and the approval policy is never to ask";

/** What the model reads when a call was not allowed. */
const DENIALS: Readonly<Record<Exclude<ApprovalOutcome, "allowed-once">, string>> = {
  "rejected": "the call was not allowed: the user said no",
  "cancelled": "the call was not allowed: the question was cancelled",
  "unavailable": "the call was not allowed: it needs approval, and nobody could be asked",
};

function guardReason(context: PipelineContext, call: GuardedCall): string | null {
  for (const guard of context.guards) {
    try {
      const reason = guard(call);
      if (reason !== undefined) return String(reason);
    } catch (error) {
      return `the call was not allowed: a guard failed: ${error instanceof Error ? error.message : "unknown error"}`;
    }
  }
  return null;
}

/** Runs the body to its end, cancelled or not. Its own errors stand; only a success is taken back by a cancel. */
async function runBody(tool: Tool, args: JsonValue, call: ToolCall): Promise<ToolOutcome> {
  const { signal, effect } = call;
  let outcome: ToolOutcome;
  try {
    outcome = success(await tool.execute(args, call));
  } catch (error) {
    if (error instanceof ToolError || !isAbort(error, signal)) return failure(error);
    if (effect === "none") return failureOf(ABORTED, "AbortError", "tool call aborted");
    return failure(
      outcomeUnknown("the call was cancelled while it ran. Whether it took effect is unknown: check first."),
    );
  }
  return signal.aborted && !outcome.isError ? aborted(outcome, effect) : outcome;
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  try {
    return error === signal.reason ||
      (error instanceof Error && (error.name === "AbortError" || error.cause === signal.reason));
  } catch {
    return false;
  }
}

function resultDraft(session: Session, { turn, step, callId }: ProposedCall, callSeq: number, outcome: ToolOutcome) {
  const { isError, content, error, meta } = outcome;
  const data: EventData["tool/result"] = {
    turn,
    step,
    message: {
      source: { kind: "tool", callId },
      content: [{ type: "tool-result", toolCallId: callId, content, isError }],
      role: "user",
      id: newMessageId(session.random),
    },
    ...(error === undefined ? {} : { error }),
    ...(meta === undefined ? {} : { meta }),
  };
  return { type: "tool/result", data, sourceEventSeqs: [callSeq], surfaceOp: "append" } as const;
}

/** A failure is not lost here: the result stays pending, and the next barrier meets the same refusal before anything runs. */
async function flushResult(session: Session, signal: AbortSignal): Promise<void> {
  await session.flush({ signal }).catch(() => {});
}
