/**
 * Asking a model for a summary: a request of its own, which is no step of the conversation.
 *
 * It stands behind the model barrier like every other, so that the start of its compaction is durable before it leaves. Listeners
 * of `agent/request` and `llm/stream` are not asked: they are about steps.
 *
 * @see compaction §4 "Request"
 * @module
 */
import { gatedModelStream } from "../checkpoint/mod.ts";
import {
  type Summarise,
  type SummaryRequest,
  summaryRequest,
  type SummaryTarget,
  surfaceMap,
} from "../compaction/mod.ts";
import { isEvent, replayStream, type SessionEvent, wellFormedJson, wellFormedMessage } from "../event/mod.ts";
import { logFold, type LogFolds } from "../fold/mod.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import { assemble } from "./assemble.ts";
import { pullAttempt } from "./attempt.ts";
import type { Loop } from "./loop.ts";
import { ModelBoundary, modelFor } from "./model_boundary.ts";
import { pairedMessages } from "./paired_messages.ts";
import type { PastRequest } from "./request.ts";

/** Which part of the summariser's window its summary may take at most, where the window is known. */
export const SUMMARY_SHARE_MAX = 0.25;

/**
 * Who summarises: the model that was set for it, else the one that was asked last, else the agent's own.
 *
 * @example
 * ```ts
 * import { summaryTarget } from "./compact_summary.ts";
 * import type { Loop } from "./loop.ts";
 *
 * function summarizerOf(loop: Loop): string {
 *   return summaryTarget(loop).model;
 * }
 * ```
 */
export function summaryTarget({ compaction, models, session }: Loop): SummaryTarget {
  const asked = session.folds.route.header?.config ?? { provider: models[0].provider, model: models[0].id };
  const { provider, model } = compaction.summarizer ?? asked;
  const found = modelFor(models, { provider, model });
  const contextWindow = found?.id === model ? found.contextWindow ?? Infinity : Infinity;
  // Providers refuse a request whose answer alone might fill a small window.
  const maxTokens = Math.max(1, Math.min(compaction.maxTokens, Math.floor(contextWindow * SUMMARY_SHARE_MAX)));
  return { provider, model, maxTokens };
}

/**
 * What asks the models of a loop for summaries.
 *
 * @example
 * ```ts
 * import { summariserOf } from "./compact_summary.ts";
 * import type { Loop } from "./loop.ts";
 *
 * async function blocksOf(loop: Loop, signal: AbortSignal): Promise<number> {
 *   const header = { config: { provider: "p", model: "m" } };
 *   return (await summariserOf(loop)({ header, messages: [] }, signal)).content.length;
 * }
 * ```
 */
export function summariserOf({ session, models }: Pick<Loop, "session" | "models">): Summarise {
  return async (asked, signal) => {
    const request = summaryModelRequest(session.id, asked);
    const { config } = request.header;
    const boundary = new ModelBoundary(modelFor(models, config), request, signal);
    const around: Model = { provider: config.provider, id: config.model, stream: () => boundary.stream() };
    const { recorder, end } = await pullAttempt(gatedModelStream(session, around, request, signal), {
      clock: session.clock,
      signal,
      onChunk() {},
    });
    boundary.end();
    if (end.kind === "cancelled") throw signal.reason;
    if (end.kind === "threw") throw end.error;
    const { content, finish, usage } = assemble(replayStream(recorder.records), NO_PLACE);
    return { content, finish, usage };
  };
}

const NO_PLACE = { turn: 0, step: 0, takenCallIds: new Set<string>() };

/**
 * A summariser's request as it is sent.
 *
 * @example
 * ```ts
 * import { summaryModelRequest } from "./compact_summary.ts";
 *
 * const request = summaryModelRequest("s1", { header: { config: { provider: "p", model: "m" } }, messages: [] });
 * if (request.purpose !== "compaction") throw new Error("unreachable");
 * ```
 */
export function summaryModelRequest(sessionId: string, { header, messages }: SummaryRequest): ModelRequest {
  return Object.freeze({
    sessionId,
    header: wellFormedJson(header),
    messages: Object.freeze(pairedMessages(messages).map(wellFormedMessage)),
    purpose: "compaction",
  });
}

/**
 * Every request for a summary that a log holds, made again, in order.
 *
 * @param events a whole log
 *
 * @example
 * ```ts
 * import { pastSummaryRequests } from "./compact_summary.ts";
 *
 * if ([...pastSummaryRequests("s1", [])].length !== 0) throw new Error("unreachable");
 * ```
 */
export function* pastSummaryRequests(sessionId: string, events: Iterable<SessionEvent>): Generator<PastRequest> {
  let folds = logFold.initial();
  for (const event of events) {
    if (isEvent(event, "compaction/summary") && event.data.llmStreamCall === true) {
      const { provider, model, maxTokens = 0, shadowedRange } = event.data;
      const request = requestAgain(folds, shadowedRange, { provider, model, maxTokens });
      yield { seq: event.seq, request: summaryModelRequest(sessionId, request) };
    }
    folds = logFold.apply(folds, event);
  }
}

function requestAgain(
  folds: LogFolds,
  { start, end }: { readonly start: number; readonly end: number },
  target: SummaryTarget,
): SummaryRequest {
  const map = surfaceMap(folds);
  const first = map.nodes.findIndex(({ seq }) => seq === start);
  const last = map.nodes.findIndex(({ seq }) => seq === end);
  return summaryRequest(folds.route, map, { first, last }, target);
}
