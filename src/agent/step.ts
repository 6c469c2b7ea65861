/**
 * One step: what the model is told, its answer, and the calls it proposes.
 *
 * @see execution §1.2 (6 to 14)
 * @module
 */
import { gatedModelStream } from "../checkpoint/mod.ts";
import {
  type EventData,
  type LlmFailure,
  type Message,
  replayStream,
  StreamRecorder,
  type Usage,
} from "../event/mod.ts";
import { newMessageId } from "../tool/ids.ts";
import type { ToolCall } from "../tool/mod.ts";
import { runToolCall } from "../tool/pipeline.ts";
import { assemble, type Assembled, isVisible } from "./assemble.ts";
import { type Attempt, pullAttempt } from "./attempt.ts";
import type { Loop } from "./loop.ts";
import { requestOf, routeDrafts } from "./request.ts";

/** Where a step stands, and what it starts with. */
export interface StepPlace {
  readonly turn: number;
  readonly step: number;
  /** Claimed from the inbox. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
}

/** How a step that was not cut short ended. */
export interface StepEnd {
  readonly kind: "answered" | "called-tools" | "max-tokens";
  readonly usage: Usage | null;
}

/** The provider failed, with facts. */
export class ModelFailed extends Error {
  readonly failure: LlmFailure;

  constructor(failure: LlmFailure) {
    super(failure.message);
    this.name = "ModelFailed";
    this.failure = failure;
  }
}

/**
 * Runs one step, from `step/start` to `step/end`.
 *
 * @throws the signal's reason when the turn is cancelled, {@linkcode ModelFailed}, a barrier's refusal, or whatever refused an
 * append; the step is open then, and `closeTurn` closes it
 *
 * @example
 * ```ts
 * import type { Loop } from "./loop.ts";
 * import { runStep } from "./step.ts";
 *
 * async function isLastStep(loop: Loop, turn: number, step: number, signal: AbortSignal): Promise<boolean> {
 *   return (await runStep(loop, { turn, step, messages: [], signal })).kind === "answered";
 * }
 * ```
 */
export async function runStep(loop: Loop, place: StepPlace): Promise<StepEnd> {
  const { session, model } = loop;
  const { turn, step, signal } = place;
  session.append({ type: "step/start", data: { turn, step } });
  pinSystemPrompt(loop, place);
  for (const message of place.messages) session.append({ type: "user/message", data: message, surfaceOp: "append" });
  for (const draft of routeDrafts(session.folds.route, loop, !loop.hasRequested)) session.append(draft);
  loop.hasRequested = true;

  const stream = gatedModelStream(session, model, requestOf(session.id, session.folds), signal);
  const attempt = await pullAttempt(stream, {
    clock: session.clock,
    signal,
    onChunk: (chunk) => loop.tell({ kind: "chunk", turn, step, chunk }),
  });
  const assembled = assemble(replayStream(attempt.recorder.records), { turn, step, takenCallIds: callIdsOf(loop) });
  if (attempt.isCancelled || attempt.failure !== null) {
    logUnfinished(loop, place, attempt, assembled);
    if (attempt.failure !== null) throw new ModelFailed(attempt.failure);
    throw signal.reason;
  }

  const isCut = assembled.finish?.kind === "max-tokens";
  const calls = logAnswer(loop, place, assembled, isCut);
  if (calls.length > 0) await runCalls(loop, place, calls);
  session.append({ type: "step/end", data: { turn, step } });
  return { kind: isCut ? "max-tokens" : calls.length > 0 ? "called-tools" : "answered", usage: assembled.usage };
}

/**
 * The system message stands at the head of the surface and is only ever replaced by another. A log that began without one
 * (another program's) keeps its head: it cannot be put before what is there.
 */
function pinSystemPrompt({ session, systemPrompt }: Loop, { turn, step }: StepPlace): void {
  const head = session.folds.surface.nodes.at(0);
  const content = systemPrompt === "" ? [] : [{ type: "text" as const, text: systemPrompt }];
  if (head !== undefined && head.type !== "system/message") return;
  if (head !== undefined && JSON.stringify(head.message.content) === JSON.stringify(content)) return;
  const message: Message = {
    role: "system",
    content,
    source: { kind: "plugin", plugin: "holdfast" },
    id: newMessageId(session.random),
  };
  const place = head === undefined
    ? { surfaceOp: "append" as const }
    : { surfaceOp: { op: "replace" as const, startSeq: head.seq, endSeq: head.seq }, sourceEventSeqs: [head.seq] };
  session.append({ type: "system/message", data: { turn, step, message }, ...place });
}

/** What was cancelled after a person saw something stays in the conversation, without calls; anything else is only evidence. */
function logUnfinished(loop: Loop, { turn, step }: StepPlace, attempt: Attempt, assembled: Assembled): void {
  const { session } = loop;
  const stream = attempt.recorder.records;
  const content = assembled.content.filter((block) => block.type === "text" || block.type === "reasoning");
  if (attempt.isCancelled && isVisible(content)) {
    const message = assistantMessage(loop, { ...assembled, content });
    const data = { turn, step, message, ...usageOf(assembled), stream, interrupted: true };
    session.append({ type: "assistant/message", data, surfaceOp: "append" });
  } else if (stream.length > 0) {
    session.append({ type: "assistant/attempt", data: { turn, step, stream } });
  }
}

/** Exactly one message per successful request, also when it is empty. An answer that was cut off proposes no calls. */
function logAnswer(loop: Loop, { turn, step }: StepPlace, assembled: Assembled, isCut: boolean) {
  const { session } = loop;
  const content = isCut ? assembled.content.filter((block) => block.type !== "tool-call") : assembled.content;
  const recorder = new StreamRecorder();
  for (const { chunk, time } of assembled.chunks) recorder.add(chunk, time);
  const message = assistantMessage(loop, { ...assembled, content });
  const data = { turn, step, message, ...usageOf(assembled), stream: recorder.records };
  session.append({ type: "assistant/message", data, surfaceOp: "append" });
  for (const renamed of isCut ? [] : assembled.renamed) {
    session.append({ type: "call/renamed", data: { turn, step, ...renamed }, ignorable: true });
  }
  return content.filter((block) => block.type === "tool-call");
}

function assistantMessage({ session, model }: Loop, { content, replayState }: Assembled): Message {
  return {
    role: "assistant",
    content,
    source: {
      kind: "model",
      provider: model.provider,
      model: model.id,
      ...(replayState === null ? {} : { replayState }),
    },
    id: newMessageId(session.random),
  };
}

function usageOf({ usage }: Assembled): Pick<EventData["assistant/message"], "usage"> {
  return usage === null ? {} : { usage };
}

/** One after the other, in the model's order. What is not started when the turn is cancelled is answered by `closeTurn`. */
async function runCalls(loop: Loop, place: StepPlace, calls: ReturnType<typeof logAnswer>): Promise<void> {
  const { turn, step, signal } = place;
  const context = {
    ...loop,
    signal,
    onBody: ({ callId, callSeq, effect }: ToolCall, name: string) =>
      loop.tell({ kind: "tool-start", turn, step, callId, callSeq, name, effect }),
  };
  for (const call of calls) {
    signal.throwIfAborted();
    const proposed = { turn, step, callId: call.id, name: call.name, arguments: call.arguments };
    const { refusal } = await runToolCall(proposed, context);
    if (refusal !== null) throw refusal;
  }
  signal.throwIfAborted();
}

/** The ids of all calls the model can see: a second one of the same id could not be told from it. */
function callIdsOf({ session }: Loop): Set<string> {
  const ids = new Set<string>();
  for (const { type, message } of session.folds.surface.nodes) {
    if (type !== "assistant/message") continue;
    for (const block of message.content) if (block.type === "tool-call") ids.add(block.id);
  }
  return ids;
}
