/**
 * One request to the model: pulls its stream to the end, or until it is cancelled, and keeps every chunk with its time.
 *
 * @module
 */
import {
  type FinishReason,
  freezeJson,
  type LlmFailure,
  snapshotOf,
  type StreamChunk,
  StreamRecorder,
} from "../event/mod.ts";
import type { Clock } from "../runtime/runtime.ts";
import { messageOf } from "../tool/mod.ts";
import { breathe } from "./breathe.ts";
import { untilAborted } from "../writer/until_aborted.ts";

/**
 * The largest answer, in UTF-16 units of all its deltas and finished blocks (most providers say everything in both). A larger
 * one fails with `TOO_LARGE`.
 */
export const RESPONSE_SIZE_MAX = 16 * 1024 * 1024;

/** The most chunks of one answer. */
export const RESPONSE_CHUNKS_MAX = 1_000_000;

/** How many chunks are taken before the event loop has its turn. */
const CHUNKS_PER_BREATH = 1024;

/** How one request went. */
export interface Attempt {
  /** What came, a failure included, which is its last chunk. */
  readonly recorder: StreamRecorder;
  readonly end:
    /** The stream said so, or ended. */
    | { readonly kind: "finished" }
    /** The model failed. */
    | { readonly kind: "failed"; readonly failure: LlmFailure }
    /** The turn was cancelled. */
    | { readonly kind: "cancelled" }
    /** A barrier or a listener around the model threw. The model is not to blame. */
    | { readonly kind: "threw"; readonly error: unknown };
}

/** What an attempt needs from around it. */
export interface AttemptContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told each chunk as it comes, for whoever watches. Nothing of this is durable. */
  readonly onChunk: (chunk: StreamChunk) => void;
}

/**
 * Pulls a stream. Nonsense, too much of it, and an end inside of a call are failures of the model, recorded as the last chunk
 * as if the provider had reported them. A stream that does not heed the signal is left behind.
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
 * if (attempt.end.kind !== "finished" || attempt.recorder.records.length !== 4) throw new Error("unreachable");
 * ```
 */
export async function pullAttempt(stream: AsyncIterable<StreamChunk>, context: AttemptContext): Promise<Attempt> {
  const { clock, signal, onChunk } = context;
  const recorder = new StreamRecorder();
  const measure = new Measure();
  let iterator: AsyncIterator<StreamChunk> | null = null;
  let reason: FinishReason | null = null;
  try {
    iterator = stream[Symbol.asyncIterator]();
    while (reason === null) {
      const next = await untilAborted(Promise.resolve(iterator.next()), signal);
      if (signal.aborted) break;
      if (next.done === true) {
        if (measure.isInsideCall) reason = record(recorder, clock, STREAM_CLOSED);
        break;
      }
      if (measure.isTimeToBreathe) await breathe();
      const failure = measure.failureOf(next.value) ?? kept(recorder, next.value, clock.now());
      reason = failure === null ? finishOf(next.value) : record(recorder, clock, failure);
      if (failure === null) onChunk(next.value);
    }
  } catch (error) {
    leave(iterator);
    return { recorder, end: signal.aborted ? { kind: "cancelled" } : { kind: "threw", error } };
  }
  leave(iterator);
  if (signal.aborted) return { recorder, end: { kind: "cancelled" } };
  if (reason?.kind !== "error" && reason?.kind !== "aborted") return { recorder, end: { kind: "finished" } };
  return { recorder, end: { kind: "failed", failure: freezeJson(reason.failure) } };
}

/** A call whose arguments stop in the middle must never be run, whatever the half of them says. */
const STREAM_CLOSED: LlmFailure = { message: "the stream ended in the middle of a call", code: "STREAM_CLOSED" };

const TOO_LARGE: LlmFailure = {
  message: `the answer is over ${RESPONSE_SIZE_MAX} characters or ${RESPONSE_CHUNKS_MAX} chunks`,
  code: "TOO_LARGE",
};

/** Records a chunk. Returns what is wrong with it: then it is not recorded. */
function kept(recorder: StreamRecorder, chunk: StreamChunk, timeMs: number): LlmFailure | null {
  try {
    recorder.add(chunk, timeMs);
    return null;
  } catch (error) {
    return { message: messageOf(error), code: "TRANSPORT" };
  }
}

/** A copy: the failure in it goes into the log a second time, and must not have changed by then. */
function finishOf(chunk: StreamChunk): FinishReason | null {
  return chunk.type === "finish" ? snapshotOf(chunk.reason, "the reason") : null;
}

function record(recorder: StreamRecorder, clock: Clock, failure: LlmFailure): FinishReason {
  const reason: FinishReason = { kind: "error", failure };
  recorder.add({ type: "finish", reason }, clock.now());
  return reason;
}

/** How much has come, and whether a call is unfinished. */
class Measure {
  readonly #openCalls = new Set<number>();
  #size = 0;
  #chunks = 0;

  /** A stream that is always ready must not keep a cancel from being heard. */
  get isTimeToBreathe(): boolean {
    return this.#chunks % CHUNKS_PER_BREATH === CHUNKS_PER_BREATH - 1;
  }

  get isInsideCall(): boolean {
    return this.#openCalls.size > 0;
  }

  failureOf(chunk: StreamChunk): LlmFailure | null {
    if (chunk?.type === "tool-call-delta") this.#openCalls.add(chunk.index);
    if (chunk?.type === "block-end") this.#openCalls.delete(chunk.index);
    this.#size += sizeOf(chunk);
    return this.#size > RESPONSE_SIZE_MAX || ++this.#chunks > RESPONSE_CHUNKS_MAX ? TOO_LARGE : null;
  }
}

/** Everything counts: whatever is in a chunk is kept until the answer ends. */
function sizeOf(chunk: StreamChunk): number {
  switch (chunk?.type) {
    case "text-delta":
    case "reasoning-delta":
      return chunk.text?.length ?? 0;
    case "tool-call-delta":
      return (chunk.argumentsDelta?.length ?? 0) + (chunk.id?.length ?? 0) + (chunk.name?.length ?? 0);
    default:
      return textSize(chunk);
  }
}

/** What is no JSON has no size: it will not be recorded. */
function textSize(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
}

/** Not waited for: a stream that hangs in its clean-up must not hold the turn. */
function leave(iterator: AsyncIterator<StreamChunk> | null): void {
  try {
    iterator?.return?.()?.then(undefined, () => {});
  } catch {
    // It is over either way.
  }
}
