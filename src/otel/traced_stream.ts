/**
 * A model's stream under a span.
 *
 * @module
 */
import { type Context, context } from "@opentelemetry/api";
import type { StreamChunk } from "../../mod.ts";
import { quiet } from "./quiet.ts";

/** A span that is open, and the context in which it is the current one. */
export interface StreamWatch {
  /** In which the stream is pulled, so that requests of the model's own are below the span. */
  readonly around: Context;
  /** Told each chunk. */
  onChunk(chunk: StreamChunk): void;
  /** Told once: `null` when the stream ended or was left, or what it threw. */
  onEnd(error: unknown): void;
}

/**
 * The same stream, watched. Everything goes through as it is: chunks, the end, what is thrown, and that the consumer leaves.
 *
 * @param begin called at the first pull, when the request begins
 *
 * @example
 * ```ts
 * import { ROOT_CONTEXT } from "@opentelemetry/api";
 * import { tracedStream } from "./traced_stream.ts";
 *
 * async function* stream() {
 *   yield { type: "finish", reason: { kind: "stop" } } as const;
 * }
 * let chunks = 0;
 * const watch = { around: ROOT_CONTEXT, onChunk: () => chunks++, onEnd: () => {} };
 * for await (const _ of tracedStream(stream(), () => watch));
 * if (chunks !== 1) throw new Error("unreachable");
 * ```
 */
export async function* tracedStream(
  stream: AsyncIterable<StreamChunk> | PromiseLike<AsyncIterable<StreamChunk>>,
  begin: () => StreamWatch,
): AsyncGenerator<StreamChunk, void, void> {
  // Whoever watches cannot keep a request from being made.
  const watch = quiet(begin);
  const around = watch?.around ?? context.active();
  let iterator: AsyncIterator<StreamChunk> | null = null;
  let failure: unknown = null;
  let isOver = false;
  try {
    // An async listener gives back a promise of a stream.
    const given = await stream;
    iterator = context.with(around, () => given[Symbol.asyncIterator]());
    for (;;) {
      const next = await context.with(around, () => iterator!.next());
      if (next.done === true) {
        isOver = true;
        return;
      }
      quiet(() => watch?.onChunk(next.value));
      yield next.value;
    }
  } catch (error) {
    isOver = true;
    failure = error;
    throw error;
  } finally {
    quiet(() => watch?.onEnd(failure));
    if (!isOver) await iterator?.return?.();
  }
}
