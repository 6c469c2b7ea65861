/**
 * One tool call, from intent to result.
 *
 * The order is the promise: recorded, decided (policy, question, guard), marked, durable, run, reviewed, answered. A loop calls
 * the three parts one by one: calls are prepared one after the other, may be dispatched side by side, and are committed in the
 * model's order. What happens inside of them is in `phases.ts`.
 *
 * @see architecture P5; execution §3.3
 * @module
 */
import type { ApprovalHooks, ApprovalOptions } from "../approval/mod.ts";
import type { JsonValue } from "../event/mod.ts";
import { Hooks } from "../hooks/mod.ts";
import type { Session } from "../session/mod.ts";
import { givenText } from "./arguments.ts";
import type { ProposedCall, ToolCall } from "./call.ts";
import type { ToolHooks } from "./hooks.ts";
import {
  type CallEnd,
  callEnd,
  dispatch,
  flushResult,
  prepare,
  type PreparedCall,
  type SettledCall,
} from "./phases.ts";
import { recordCall, recordResult } from "./record.ts";
import { finalOutcome } from "./review.ts";
import { stopRunning } from "./running.ts";
import type { Guard, Host, KeepContent } from "./scene.ts";
import { unawaited } from "./strangers.ts";
import type { Tool } from "./tool.ts";

export type { CallEnd, PreparedCall, SettledCall };

/** What a call is run with. */
export interface PipelineContext extends ApprovalOptions {
  readonly session: Session;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Looked at after policy and approval; each can only deny. */
  readonly guards: readonly Guard[];
  /** Dispatched about the session. Default: nobody listens. */
  readonly hooks?: Hooks<ToolHooks & ApprovalHooks>;
  /** Told about each run of a body, just before it. */
  readonly onBody?: (call: ToolCall, name: string) => void;
  /** Keeps long results elsewhere. Default: every result stays. */
  readonly keepContent?: KeepContent;
}

/**
 * Runs one call and answers it: when it resolves, its `tool/call` and its `tool/result` are in the log.
 *
 * Whatever the tool, a hook, a guard or an approver does, the call ends with a result. The result of a body with an effect is
 * flushed at once, because until then a crash would make the outcome unknown.
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
  return await commitCall(await dispatchCall(await prepareCall(proposed, context), context), context);
}

/**
 * Appends `tool/call`, then asks policy, the person and the guards.
 *
 * @throws only what refused the append of `tool/call`
 *
 * @example
 * ```ts
 * import { type PipelineContext, prepareCall } from "./pipeline.ts";
 *
 * async function mayRun(context: PipelineContext): Promise<boolean> {
 *   const prepared = await prepareCall({ turn: 1, step: 1, callId: "c1", name: "pay", arguments: "{}" }, context);
 *   return prepared.plan !== null;
 * }
 * ```
 */
export async function prepareCall(proposed: ProposedCall, context: PipelineContext): Promise<PreparedCall> {
  const call = await recordCall(context.session, proposed, context.signal);
  return await prepare(call, givenText(proposed.arguments), hostOf(context));
}

/**
 * Passes the barrier and runs wrappers and body. May run beside other calls. Never rejects: what goes wrong is an outcome.
 *
 * @example
 * ```ts
 * import { commitCall, dispatchCall, type PipelineContext, type PreparedCall } from "./pipeline.ts";
 *
 * async function finish(prepared: PreparedCall, context: PipelineContext): Promise<boolean> {
 *   return (await commitCall(await dispatchCall(prepared, context), context)).concludesTurn;
 * }
 * ```
 */
export async function dispatchCall(prepared: PreparedCall, context: PipelineContext): Promise<SettledCall> {
  return await dispatch(prepared, hostOf(context));
}

/**
 * Reviews the outcome and appends `tool/result`; that of a body with an effect is flushed before it resolves. To be called in
 * the model's order; after a refused append it may be called again.
 *
 * @throws only what refused the append: the call is unanswered
 *
 * @example
 * ```ts
 * import { commitCall, type PipelineContext, type SettledCall } from "./pipeline.ts";
 *
 * async function contextsOf(settled: SettledCall, context: PipelineContext): Promise<number> {
 *   return (await commitCall(settled, context)).additionalContexts.length;
 * }
 * ```
 */
export async function commitCall(settled: SettledCall, context: PipelineContext): Promise<CallEnd> {
  const host = hostOf(context);
  const { facts, end } = settled;
  const outcome = settled.final ??= await finalOutcome({ ...facts, host }, end);
  const logged = await recordResult(context.session, facts.call, outcome, host.signal);
  stopRunning(context.session, facts.call.callSeq);
  if (end.hadBody && facts.hooked.effect !== "none") await flushResult(host);
  return callEnd(logged, end.refusal);
}

/**
 * How a call may run: beside others, or alone. Only exactly `true` from `isConcurrencySafe` is "parallel".
 *
 * @param args parsed, not checked
 *
 * @example
 * ```ts
 * import { executionMode } from "./pipeline.ts";
 *
 * if (executionMode(undefined, {}) !== "exclusive") throw new Error("unreachable");
 * ```
 */
export function executionMode(tool: Tool | undefined, args: JsonValue): "parallel" | "exclusive" {
  try {
    return unawaited(tool?.isConcurrencySafe?.(args)) === true ? "parallel" : "exclusive";
  } catch {
    return "exclusive";
  }
}

function hostOf(context: PipelineContext): Host {
  const { session, tools, guards, hooks = new Hooks<ToolHooks & ApprovalHooks>(), approvers, policy, signal } = context;
  const { clock, random } = session;
  return {
    session,
    tools,
    guards,
    hooks,
    approvers,
    policy,
    signal,
    clock,
    random,
    onBody: context.onBody,
    keepContent: context.keepContent,
  };
}
