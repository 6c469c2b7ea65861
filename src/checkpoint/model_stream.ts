/**
 * The model barrier: a request leaves only when everything it was made from is durable.
 *
 * @module
 */
import type { StreamChunk } from "../event/mod.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import type { Session } from "../session/mod.ts";
import { passBarrier } from "./barrier.ts";

/**
 * A model stream behind the model barrier.
 *
 * Making it does nothing. The first pull flushes everything appended by then; only after the acknowledgement, and only if the
 * signal was not aborted meanwhile, is the model called. Each attempt is a stream of its own and has a barrier of its own.
 *
 * @throws {CheckpointFailedError} at the first pull; the model was not called
 * @throws the signal's reason at the first pull, when it is aborted by then; the model was not called
 *
 * @example
 * ```ts
 * import type { Model, ModelRequest } from "../model/model.ts";
 * import type { Session } from "../session/mod.ts";
 * import { gatedModelStream } from "./model_stream.ts";
 *
 * async function attempt(session: Session, model: Model, request: ModelRequest, signal: AbortSignal): Promise<number> {
 *   let chunks = 0;
 *   for await (const _ of gatedModelStream(session, model, request, signal)) chunks++;
 *   return chunks;
 * }
 * ```
 */
export async function* gatedModelStream(
  session: Session,
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<StreamChunk, void, void> {
  await passBarrier(session, { barrier: "model", throughSeq: session.nextSeq - 1, signal });
  yield* model.stream(request, signal);
}
