/**
 * The folds of a log as JSON and back: what a snapshot keeps, so that the next one who opens the log need not apply every event.
 *
 * What a fold builds beside its state (lists in chunks, keys that were looked up) is not kept and is built anew.
 *
 * @module
 */
import { type EventData, freezeJson, type Message } from "../event/mod.ts";
import type { Brackets } from "./bracket_state.ts";
import { bracketsFold } from "./brackets.ts";
import type { ChunkedList } from "./chunked_list.ts";
import { compactionsFold } from "./compactions.ts";
import { firstPromptFold } from "./first_prompt.ts";
import { heardFold } from "./heard.ts";
import { inboxFold } from "./inbox.ts";
import { lifecycleFold } from "./lifecycle.ts";
import { logFold, type LogFolds } from "./log_fold.ts";
import { pendingCallsFold, restorePendingCalls } from "./pending_calls.ts";
import { policyFold } from "./policy.ts";
import { routeFold } from "./route.ts";
import { spilledFold } from "./spilled.ts";
import { surfaceFold, type SurfaceNode } from "./surface.ts";
import { tokenMeterFold } from "./token_meter.ts";
import { unresolvedFold } from "./unresolved.ts";

/** How a state is written down. Raised when the same folds would be written in another way. */
const KEPT_FORM = 1;

/** Which folds are kept, in which versions. Another text means that a state which was kept says nothing any more. */
export const KEPT_FOLDS_VERSION: string = [
  { name: "form", version: KEPT_FORM },
  logFold,
  surfaceFold,
  bracketsFold,
  pendingCallsFold,
  lifecycleFold,
  inboxFold,
  heardFold,
  policyFold,
  routeFold,
  tokenMeterFold,
  compactionsFold,
  firstPromptFold,
  spilledFold,
  unresolvedFold,
].map(({ name, version }) => `${name}:${version}`).join(" ");

/** What the events of a log come to. */
export interface KeptFolds {
  /** Every fold. */
  readonly folds: LogFolds;
  /** The type of the last event; `null` for an empty log. */
  readonly lastType: string | null;
}

/**
 * The state as lossless JSON, in one text.
 *
 * @example
 * ```ts
 * import { keptText, readKept } from "./kept_folds.ts";
 * import { logFold } from "./log_fold.ts";
 *
 * const text = keptText({ folds: logFold.initial(), lastType: null });
 * if (readKept(JSON.parse(text)).folds.nextSeq !== 0) throw new Error("unreachable");
 * ```
 */
export function keptText({ folds, lastType }: KeptFolds): string {
  const { surface, lifecycle: _, ...others } = folds;
  const nodes = surface.nodes.toArray().map(nodeToKeep);
  return JSON.stringify({ ...others, surface: { ...surface, nodes }, lastType });
}

/**
 * The state that was kept, ready to go on with. Its version must be {@linkcode KEPT_FOLDS_VERSION}.
 *
 * @param kept what `JSON.parse` made of {@linkcode keptText}. It is frozen, and parts of it live on in the state
 * @throws {TypeError} when it is no such state
 */
export function readKept(kept: unknown): KeptFolds {
  const { lastType, ...state } = freezeJson(kept) as JsonOf<LogFolds> & { readonly lastType: string | null };
  const { surface, brackets, meter, unresolved, spilled, heard } = state;
  const pendingCalls = restorePendingCalls(state.pendingCalls as LogFolds["pendingCalls"]);
  const folds = {
    ...state,
    surface: { ...surface, nodes: listLike(surfaceFold.initial().nodes, surface.nodes.map(nodeFromKept)) },
    brackets: {
      ...brackets,
      calls: listLike(bracketsFold.initial().calls, brackets.calls),
      questions: listLike(bracketsFold.initial().questions, brackets.questions),
    } as Brackets,
    pendingCalls,
    lifecycle: pendingCalls.lifecycle,
    heard: listLike(heardFold.initial(), heard),
    meter: { ...meter, nodes: listLike(tokenMeterFold.initial().nodes, meter.nodes) },
    spilled: { ...spilled, texts: listLike(spilledFold.initial().texts, spilled.texts) },
    unresolved: {
      ...unresolved,
      awaited: listLike(unresolvedFold.initial().awaited, unresolved.awaited),
      awaitedNested: listLike(unresolvedFold.initial().awaitedNested, unresolved.awaitedNested),
    },
  };
  return { folds: folds as unknown as LogFolds, lastType };
}

/** A list is an array in JSON. */
// deno-lint-ignore no-explicit-any
type JsonOf<State> = { readonly [Key in keyof State]: any };

/** A list with the items, found by the same keys as those of an empty one. */
function listLike<Item>(empty: ChunkedList<Item>, items: readonly Item[]): ChunkedList<Item> {
  return empty.filledWith(items);
}

/** A result carries its message, which is not written twice. */
function nodeToKeep({ seq, type, message, result, originalSeq }: SurfaceNode): unknown {
  return { seq, type, ...(result === null ? { message } : { result }), originalSeq };
}

function nodeFromKept(
  { seq, type, message, result, originalSeq }: {
    readonly seq: number;
    readonly type: SurfaceNode["type"];
    readonly message?: Message;
    readonly result?: EventData["tool/result"];
    readonly originalSeq?: number;
  },
): SurfaceNode {
  return {
    ...{ seq, type, message: (result?.message ?? message)!, result: result ?? null },
    ...(originalSeq === undefined ? {} : { originalSeq }),
  };
}
