/**
 * One request to the model: pulls its stream to the end, or until it is cancelled, and keeps every chunk with its time.
 *
 * @module
 */
import { hasCode } from "../errors.ts";
import { type FinishReason, type LlmFailure, type StreamChunk, StreamRecorder } from "../event/mod.ts";
import type { Clock } from "../runtime/runtime.ts";
import { messageOf } from "../tool/mod.ts";
import { untilAborted } from "../writer/until_aborted.ts";

/**
 * The largest answer, in UTF-16 units of all its deltas and finished blocks (most providers say everything in both). A larger
 * one fails with `TOO_LARGE`.
 */
export const RESPONSE_SIZE_MAX = 16 * 1024 * 1024;

/** The most chunks of one answer. */
export const RESPONSE_CHUNKS_MAX = 1_000_000;

/** How one request went. */
export interface Attempt {
  readonly recorder: StreamRecorder;
  /** The turn was cancelled: what came until then is in `recorder`. */
  readonly isCancelled: boolean;
  /** Why it failed; `null` when it did not. */
  readonly failure: LlmFailure | null;
}

/** What an attempt needs from around it. */
export interface AttemptContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told each chunk as it comes, for whoever watches. Nothing of this is durable. */
  readonly onChunk: (chunk: StreamChunk) => void;
}

/**
 * Pulls a stream. A stream that throws has failed with `TRANSPORT`, and the failure is recorded as its last chunk, as if the
 * provider had reported it. A stream that does not heed the signal is left behind.
 *
 * @throws {CheckpointFailedError} of the model barrier: the model was not called
 *
 * @example
 * ```ts
 * import { pullAttempt } from "./attempt.ts";
 * import { scripted } from "./models/mod.ts";
 *
 * const { signal } = new AbortController();
 * const request = { sessionId: "s", header: { config: { provider: "scripted", model: "scripted" } }, messages: [] };
 * const stream = scripted([[{ text: "hi" }]]).stream(request, signal);
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const attempt = await pullAttempt(stream, { clock, signal, onChunk() {} });
 * if (attempt.failure !== null || attempt.recorder.records.length !== 4) throw new Error("unreachable");
 * ```
 */
export async function pullAttempt(stream: AsyncIterable<StreamChunk>, context: AttemptContext): Promise<Attempt> {
  const { clock, signal, onChunk } = context;
  const recorder = new StreamRecorder();
  const iterator = stream[Symbol.asyncIterator]();
  let size = 0;
  let chunks = 0;
  let reason: FinishReason | null = null;
  try {
    while (reason === null) {
      const { done, value: chunk } = await untilAborted(iterator.next(), signal);
      if (signal.aborted) throw signal.reason;
      if (done) break;
      size += sizeOf(chunk);
      if (size > RESPONSE_SIZE_MAX || ++chunks > RESPONSE_CHUNKS_MAX) throw new AnswerTooLarge();
      recorder.add(chunk, clock.now());
      if (chunk.type === "finish") reason = chunk.reason;
      onChunk(chunk);
    }
  } catch (error) {
    if (signal.aborted) {
      leave(iterator);
      return { recorder, isCancelled: true, failure: null };
    }
    if (hasCode(error, "CHECKPOINT_FAILED")) throw error;
    const code = error instanceof AnswerTooLarge ? "TOO_LARGE" : "TRANSPORT";
    reason = { kind: "error", failure: { message: messageOf(error), code } };
    recorder.add({ type: "finish", reason }, clock.now());
  }
  leave(iterator);
  const failure = reason?.kind === "error" || reason?.kind === "aborted" ? reason.failure : null;
  return { recorder, isCancelled: false, failure };
}

class AnswerTooLarge extends Error {
  override message = `the answer is over ${RESPONSE_SIZE_MAX} characters or ${RESPONSE_CHUNKS_MAX} chunks`;
}

function sizeOf(chunk: StreamChunk): number {
  switch (chunk?.type) {
    case "text-delta":
    case "reasoning-delta":
      return chunk.text?.length ?? 0;
    case "tool-call-delta":
      return chunk.argumentsDelta?.length ?? 0;
    case "block-end":
      return "text" in chunk.block ? chunk.block.text.length : JSON.stringify(chunk.block)?.length ?? 0;
    default:
      return 0;
  }
}

/** Not waited for: a stream that hangs in its clean-up must not hold the turn. */
function leave(iterator: AsyncIterator<StreamChunk>): void {
  try {
    iterator.return?.()?.then(undefined, () => {});
  } catch {
    // It is over either way.
  }
}
