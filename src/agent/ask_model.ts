/**
 * The request of a step: which model is asked, what it is told, and what is done when it fails.
 *
 * @see execution §1.2 (7 to 12), §1.6
 * @module
 */
import { gatedModelStream } from "../checkpoint/mod.ts";
import { type LlmFailure, type Message, replayStream, snapshotOf } from "../event/mod.ts";
import type { Model } from "../model/model.ts";
import type { Session } from "../session/mod.ts";
import { newMessageId } from "../tool/ids.ts";
import { logUnfinished } from "./answer.ts";
import { assemble, type Assembled } from "./assemble.ts";
import { type Attempt, pullAttempt } from "./attempt.ts";
import { recoverFromOverflow } from "./compact_overflow.ts";
import { ModelFailed } from "./failure.ts";
import { hookAnswer } from "./hook_answer.ts";
import type { CallConfig, LoopPlace } from "./hooks.ts";
import type { Loop } from "./loop.ts";
import { ModelBoundary, modelFor } from "./model_boundary.ts";
import { requestOf, routeDrafts } from "./request.ts";
import { snapshotMessage } from "./runtime_context.ts";
import type { StepEntry } from "./step_entry.ts";

/** How often one step asks the model, whatever listeners want. The last failure then ends the turn. */
export const ATTEMPTS_PER_STEP_MAX = 10_000;

/** What a model answered, and which one it was. */
export interface ModelAnswer {
  readonly assembled: Assembled;
  readonly config: CallConfig;
}

/**
 * Makes the step's request until it is answered, or nobody wants it made again. Every attempt that failed is in the log.
 *
 * @throws the signal's reason when the turn is cancelled, {@linkcode ModelFailed}, what a listener threw, a barrier's refusal,
 * or whatever refused an append
 *
 * @example
 * ```ts
 * import { askModel } from "./ask_model.ts";
 * import type { LoopPlace } from "./hooks.ts";
 * import type { Loop } from "./loop.ts";
 *
 * async function blocksOf(loop: Loop, place: LoopPlace): Promise<number> {
 *   const entry = { messages: [], assembly: { systemPrompt: "", tools: [], context: [] } };
 *   return (await askModel(loop, place, entry)).assembled.content.length;
 * }
 * ```
 */
export async function askModel(loop: Loop, place: LoopPlace, entry: NonNullable<StepEntry>): Promise<ModelAnswer> {
  let unreadFromSeq = loop.session.nextSeq;
  for (let attempts = 1;; attempts++) {
    const config = await configOf(loop, place);
    const model = modelFor(loop.models, config);
    if (attempts === 1) {
      unreadFromSeq = loop.session.nextSeq;
      tell(loop, place, entry);
    }
    logRoute(loop, entry, config, model);

    const { attempt, isSent } = await oneAttempt(loop, place, model);
    const assembled = assembleAttempt(loop, place, attempt);
    const { end } = attempt;
    if (end.kind === "finished") {
      loop.overflowRetries = 0;
      return { assembled, config };
    }
    logUnfinished(loop.session, place, { attempt, isSent, assembled, config });
    if (end.kind === "cancelled") throw place.signal.reason;
    if (end.kind === "threw") throw end.error;
    if (attempts >= ATTEMPTS_PER_STEP_MAX) throw new ModelFailed(end.failure);
    if (await recoverFromOverflow(loop, place, end.failure, unreadFromSeq)) {
      retellContext(loop, entry);
    } else if (!await isRetried(loop, place, config, end.failure)) {
      throw new ModelFailed(end.failure);
    }
  }
}

/** Which model is asked. Nothing was told to it yet, so that a cancel in here leaves neither prompt nor message behind. */
async function configOf(loop: Loop, place: LoopPlace): Promise<CallConfig> {
  const { hooks, session, models: [{ provider, id }], parameters } = loop;
  const found = await hookAnswer(place.signal, () =>
    hooks.waterfall(
      "agent/request",
      [place],
      () => Promise.resolve<CallConfig>({ ...parameters, provider, model: id }),
      { subject: session },
    ));
  const isNamed = (value: unknown) => typeof value === "string" && value !== "";
  if (!isNamed(found?.provider) || !isNamed(found?.model)) {
    throw new TypeError("Cannot make a request: a listener of agent/request named no provider and model");
  }
  // Other readers of the log know these members and no others.
  const { provider: foundProvider, model, reasoningEffort, temperature, maxTokens, stop } = found;
  const given = withoutUndefined({ reasoningEffort, temperature, maxTokens, stop });
  return snapshotOf<CallConfig>({ provider: foundProvider, model, ...given }, "the configuration of a request");
}

function withoutUndefined<Members extends object>(members: Members): Partial<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<Members>;
}

function tell(loop: Loop, place: LoopPlace, { messages, assembly }: NonNullable<StepEntry>): void {
  pinSystemPrompt(loop, place, assembly.systemPrompt);
  for (const message of messages) loop.session.append({ type: "user/message", data: message, surfaceOp: "append" });
}

/** What a compaction took from the model although it still holds is told again before the request is. */
function retellContext({ session }: Loop, { assembly }: NonNullable<StepEntry>): void {
  const context = snapshotMessage(session.folds.surface, assembly.context, session.random);
  if (context !== null) session.append({ type: "user/message", data: context, surfaceOp: "append" });
}

/**
 * The system message stands at the head of the surface and is only ever replaced by another. A log that began without one
 * (another program's) keeps its head: it cannot be put before what is there.
 */
function pinSystemPrompt({ session }: Loop, { turn, step }: LoopPlace, systemPrompt: string): void {
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

function logRoute(loop: Loop, { assembly }: NonNullable<StepEntry>, config: CallConfig, model: Model | null): void {
  const { session } = loop;
  const generation = session.folds.surface.replaceGeneration;
  const position = loop.requestGeneration === null
    ? "first"
    : loop.requestGeneration === generation
    ? "next"
    : "series";
  const settings = { config, model, tools: assembly.tools, position } as const;
  for (const draft of routeDrafts(session.folds.route, settings)) {
    session.append(draft);
    // The header comes first, and counts even when what follows it is refused.
    loop.requestGeneration = generation;
  }
  loop.requestGeneration = generation;
}

/** The barrier stands outside of every listener: however often one of them asks the model, what it is asked is durable. */
async function oneAttempt(loop: Loop, place: LoopPlace, model: Model | null) {
  const { session, hooks, tell } = loop;
  const { turn, step, signal } = place;
  const request = requestOf(session.id, session.folds);
  const boundary = new ModelBoundary(model, request, signal);
  const around: Model = {
    provider: request.header.config.provider,
    id: request.header.config.model,
    async *stream() {
      const own = () => boundary.stream();
      // Waited for, because an async listener gives back a promise of a stream, and its rejection must not go unheard.
      yield* await hooks.waterfall("llm/stream", [{ ...place, request }], own, { subject: session });
    },
  };
  const attempt = await pullAttempt(gatedModelStream(session, around, request, signal), {
    clock: session.clock,
    signal,
    onChunk: (chunk) => tell({ kind: "chunk", turn, step, chunk }),
  });
  boundary.end();
  return { attempt, isSent: boundary.isSent };
}

function assembleAttempt({ session }: Loop, { turn, step }: LoopPlace, { recorder }: Attempt): Assembled {
  return assemble(replayStream(recorder.records), { turn, step, takenCallIds: callIdsOf(session) });
}

async function isRetried(loop: Loop, place: LoopPlace, config: CallConfig, failure: LlmFailure): Promise<boolean> {
  const { session, hooks } = loop;
  const { provider } = config;
  const action = await hookAnswer(place.signal, () =>
    hooks.waterfall(
      "agent/request-error",
      [{ ...place, provider, failure }],
      () => Promise.resolve(undefined),
      { subject: session },
    ));
  return action?.kind === "retry";
}

/** The ids of all calls the model can see: a second one of the same id could not be told from it. */
function callIdsOf({ folds }: Session): Set<string> {
  const ids = new Set<string>();
  for (const { type, message } of folds.surface.nodes) {
    if (type !== "assistant/message") continue;
    for (const block of message.content) if (block.type === "tool-call") ids.add(block.id);
  }
  return ids;
}
