/**
 * What a model's answer becomes in the log, whether it was finished or not.
 *
 * @see execution §1.2 (13), §1.5
 * @module
 */
import { type EventData, type Message, StreamRecorder, type ToolCallBlock } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";
import { newMessageId } from "../tool/ids.ts";
import { type Assembled, isVisible } from "./assemble.ts";
import type { Attempt } from "./attempt.ts";
import type { CallConfig, LoopPlace } from "./hooks.ts";

/**
 * Logs an answer: exactly one message per successful request, also when it is empty. One that was cut off proposes no calls.
 *
 * @returns the calls it proposes
 * @throws whatever refused an append
 *
 * @example
 * ```ts
 * import { logAnswer } from "./answer.ts";
 * import { assemble } from "./assemble.ts";
 * import type { LoopPlace } from "./hooks.ts";
 * import type { Session } from "../session/mod.ts";
 *
 * function logSilence(session: Session, place: LoopPlace): number {
 *   const assembled = assemble([], { ...place, takenCallIds: new Set() });
 *   return logAnswer(session, place, { assembled, config: { provider: "p", model: "m" } }).length;
 * }
 * ```
 */
export function logAnswer(
  session: Session,
  { turn, step }: LoopPlace,
  { assembled, config }: { readonly assembled: Assembled; readonly config: CallConfig },
): readonly ToolCallBlock[] {
  const isCut = assembled.finish?.kind === "max-tokens";
  const content = isCut ? assembled.content.filter((block) => block.type !== "tool-call") : assembled.content;
  const recorder = new StreamRecorder();
  for (const { chunk, time } of assembled.chunks) recorder.add(chunk, time);
  const message = assistantMessage(session, { ...assembled, content }, config);
  const data = { turn, step, message, ...usageOf(assembled), stream: recorder.records };
  session.append({ type: "assistant/message", data, surfaceOp: "append" });
  for (const renamed of isCut ? [] : assembled.renamed) {
    session.append({ type: "call/renamed", data: { turn, step, ...renamed }, ignorable: true });
  }
  return content.filter((block) => block.type === "tool-call");
}

/** An attempt that was cancelled, failed, or was ended by whoever stands around the model. */
export interface UnfinishedAttempt {
  readonly attempt: Attempt;
  /** Whether the model was asked. */
  readonly isSent: boolean;
  readonly assembled: Assembled;
  readonly config: CallConfig;
}

/**
 * Logs an attempt that came to nothing. What was cancelled after a person saw something stays in the conversation, without calls;
 * anything else is only evidence.
 *
 * @throws whatever refused the append
 *
 * @example
 * ```ts
 * import { logUnfinished, type UnfinishedAttempt } from "./answer.ts";
 * import type { LoopPlace } from "./hooks.ts";
 * import type { Session } from "../session/mod.ts";
 *
 * function logFailure(session: Session, place: LoopPlace, unfinished: UnfinishedAttempt): void {
 *   logUnfinished(session, place, unfinished);
 * }
 * ```
 */
export function logUnfinished(session: Session, { turn, step }: LoopPlace, unfinished: UnfinishedAttempt): void {
  const { attempt, isSent, assembled, config } = unfinished;
  const stream = attempt.recorder.records;
  const content = assembled.content.filter((block) => block.type === "text" || block.type === "reasoning");
  if (attempt.end.kind === "cancelled" && isVisible(content)) {
    const message = assistantMessage(session, { ...assembled, content }, config);
    const data = { turn, step, message, ...usageOf(assembled), stream, interrupted: true };
    session.append({ type: "assistant/message", data, surfaceOp: "append" });
  } else if (isSent || stream.length > 0) {
    session.append({ type: "assistant/attempt", data: { turn, step, stream } });
  }
}

/**
 * What the provider called the calls that have another id now.
 *
 * @example
 * ```ts
 * import { providerIdsOf } from "./answer.ts";
 * import { assemble } from "./assemble.ts";
 *
 * const chunk = { type: "tool-call-delta" as const, index: 0, id: "", name: "pay", argumentsDelta: "{}" };
 * const assembled = assemble([{ time: 0, chunk }], { turn: 1, step: 1, takenCallIds: new Set() });
 * if (providerIdsOf(assembled).get("call-1-1-0") !== "") throw new Error("unreachable");
 * ```
 */
export function providerIdsOf({ content, renamed }: Assembled): ReadonlyMap<string, string> {
  return new Map(renamed.flatMap(({ index, providerCallId }) => {
    const block = content[index];
    return block?.type === "tool-call" ? [[block.id, providerCallId]] : [];
  }));
}

function assistantMessage(
  { random }: Session,
  { content, replayState }: Assembled,
  { provider, model }: CallConfig,
): Message {
  const source = { kind: "model", provider, model, ...(replayState === null ? {} : { replayState }) };
  return { role: "assistant", content, source, id: newMessageId(random) };
}

function usageOf({ usage }: Assembled): Pick<EventData["assistant/message"], "usage"> {
  return usage === null ? {} : { usage };
}
