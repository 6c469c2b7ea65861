/**
 * The calls of one message, each through the pipeline, in the order that the schedule allows.
 *
 * @see execution §1.4
 * @module
 */
import { spillInto } from "../compaction/mod.ts";
import type { Message, ToolCallBlock } from "../event/mod.ts";
import type { ProposedCall, ToolCall } from "../tool/mod.ts";
import { commitCall, dispatchCall, executionMode, type PipelineContext, prepareCall } from "../tool/pipeline.ts";
import type { LoopPlace } from "./hooks.ts";
import type { Inbox } from "./inbox.ts";
import type { Loop } from "./loop.ts";
import { modelWindow } from "./model_window.ts";
import { scheduleCalls } from "./schedule_calls.ts";

/**
 * Runs calls. What was started has its result when this settles; what was not is a tail, which `closeTurn` answers.
 *
 * What a call wants the model to read beside its result waits in the inbox for the next step.
 *
 * @returns whether a call asked for the turn to end
 * @throws what refused a barrier or an append: the turn must not go on
 *
 * @example
 * ```ts
 * import type { ToolCallBlock } from "../event/mod.ts";
 * import type { LoopPlace } from "./hooks.ts";
 * import type { Loop } from "./loop.ts";
 * import { runCalls } from "./run_calls.ts";
 *
 * async function runOne(loop: Loop, place: LoopPlace, call: ToolCallBlock): Promise<boolean> {
 *   return await runCalls(loop, place, [call], new Map());
 * }
 * ```
 */
export async function runCalls(
  loop: Loop,
  place: LoopPlace,
  calls: readonly ToolCallBlock[],
  providerIds: ReadonlyMap<string, string>,
): Promise<boolean> {
  const { tools, inbox } = loop;
  const context = contextOf(loop, place);
  let hasConcluded = false;
  await scheduleCalls(calls.map((call) => proposed(place, call, providerIds)), {
    modeOf: (call) => executionMode(tools.get(call.name), call.arguments),
    prepare: (call) => prepareCall(call, context),
    dispatch: (prepared) => dispatchCall(prepared, context),
    commit: async (settled) => {
      const { refusal, additionalContexts, concludesTurn } = await commitCall(settled, context);
      hasConcluded ||= concludesTurn;
      return refusal ?? keep(inbox, additionalContexts);
    },
  }, { parallelMax: loop.maxParallelToolCalls, signal: place.signal });
  return hasConcluded;
}

function proposed(
  { turn, step }: LoopPlace,
  call: ToolCallBlock,
  providerIds: ReadonlyMap<string, string>,
): ProposedCall {
  const providerCallId = providerIds.get(call.id);
  const { id: callId, name, arguments: text } = call;
  return { turn, step, callId, name, arguments: text, ...(providerCallId === undefined ? {} : { providerCallId }) };
}

/** The result is in the log by then, so that what is refused here stops the batch and does not break it. */
function keep(inbox: Inbox, contexts: readonly Message[]): unknown {
  try {
    if (contexts.length > 0) inbox.insert("next-step", contexts);
    return null;
  } catch (error) {
    return error;
  }
}

function contextOf(loop: Loop, { turn, step, signal }: LoopPlace): PipelineContext {
  const { session, tools, guards, approvers, policy, hooks, spill } = loop;
  const onBody = ({ callId, callSeq, effect }: ToolCall, name: string) =>
    loop.tell({ kind: "tool-start", turn, step, callId, callSeq, name, effect });
  const windowTokens = () => modelWindow(loop)?.contextWindow ?? null;
  const keepContent = spill === null ? undefined : spillInto(session, spill, windowTokens);
  return { session, tools, guards, approvers, policy, hooks, signal, onBody, keepContent };
}
