/**
 * The token meter: how much of the model's window the surface takes.
 *
 * A provider says exactly what a request took, but only of that request; a heuristic prices everything, but roughly. So the last
 * answer is an anchor: what it took, and what the surface cost by the heuristic when it was asked. What was added or taken away
 * since then is priced by the heuristic alone, and a usage that is out of date never counts.
 *
 * @see compaction §3 "Token meter", §7 W6, W7
 * @module
 */
import {
  deepEqualJson,
  isEvent,
  isSurfaceType,
  type JsonValue,
  type Message,
  type RequestHeader,
  type SessionEvent,
  type StreamRecord,
  type Usage,
} from "../event/mod.ts";
import { ChunkedList } from "./chunked_list.ts";
import { priceOfHeader, priceOfNode } from "./estimate.ts";
import type { Fold } from "./fold.ts";

/** What one node of the surface costs. */
export interface PricedNode {
  /** seq of the event that stands there. */
  readonly seq: number;
  /** What it costs by the heuristic. */
  readonly tokens: number;
  /** When it came, milliseconds since the epoch. */
  readonly time: number;
  /** Whether it is a system prompt. */
  readonly isSystem: boolean;
}

/** What a request is known to have taken, answer included. */
export interface MeterAnchor {
  /** What it was made with; `null` in a log that does not say. */
  readonly header: RequestHeader | null;
  /** What the surface cost by the heuristic when the model was asked, and its answer. */
  readonly surfaceTokens: number;
  /** What the provider counted; what the heuristic says, where that is more. */
  readonly tokens: number;
}

/** The state of the meter. */
export interface TokenMeter {
  /** The nodes of the surface, with their prices, in the model's order. */
  readonly nodes: ChunkedList<PricedNode>;
  /** Their sum. */
  readonly surfaceTokens: number;
  /** What the next request is made with, as far as the log says. */
  readonly header: RequestHeader | null;
  /** The last answer; `null` before the first. */
  readonly anchor: MeterAnchor | null;
}

/** Follows the surface and the provider's counts. */
export const tokenMeterFold: Fold<TokenMeter> = {
  name: "token_meter",
  version: 1,

  initial: () => ({
    nodes: ChunkedList.from<PricedNode>([], ({ seq }) => seq),
    surfaceTokens: 0,
    header: null,
    anchor: null,
  }),

  apply(state: TokenMeter, event: SessionEvent): TokenMeter {
    if (isEvent(event, "request/header")) return { ...state, header: event.data.header };
    if (!isSurfaceType(event.type)) return state;
    const tokens = priceOfNode({ type: event.type, message: messageOf(event) });
    const next = withNode(state, event, tokens);
    if (!isEvent(event, "assistant/message") || next === state) return next;
    return { ...next, anchor: anchorOf(state, event.data, tokens) };
  },
};

/** What the next request takes, as far as it can be known before it is sent. */
export interface Measure {
  /** Messages, system prompt and tools together. */
  readonly totalTokens: number;
  /** The messages by the heuristic alone, system prompt included. */
  readonly surfaceTokens: number;
  /** Tools and system prompt by the heuristic: what no compaction makes smaller. */
  readonly envelopeTokens: number;
}

/**
 * Reads the meter. No provider is asked.
 *
 * @example
 * ```ts
 * import { measure, tokenMeterFold } from "./token_meter.ts";
 *
 * if (measure({ meter: tokenMeterFold.initial() }).totalTokens !== 0) throw new Error("unreachable");
 * ```
 */
export function measure({ meter }: { readonly meter: TokenMeter }): Measure {
  const { nodes, surfaceTokens, header, anchor } = meter;
  const toolTokens = priceOfHeader(header);
  const isAnchored = anchor !== null && isSame(anchor.header, header);
  const totalTokens = isAnchored
    ? Math.max(0, anchor.tokens + surfaceTokens - anchor.surfaceTokens)
    : nodes.length === 0
    ? 0
    : toolTokens + surfaceTokens;
  const head = nodes.at(0);
  return { totalTokens, surfaceTokens, envelopeTokens: toolTokens + (head?.isSystem === true ? head.tokens : 0) };
}

/**
 * What each node of the surface costs, in the model's order.
 *
 * @example
 * ```ts
 * import { tokenMeterFold, pricesOf } from "./token_meter.ts";
 *
 * if (pricesOf(tokenMeterFold.initial()).length !== 0) throw new Error("unreachable");
 * ```
 */
export function pricesOf({ nodes }: TokenMeter): readonly PricedNode[] {
  return nodes.toArray();
}

/** A replacement that could not be applied to the surface changes nothing here either. */
function withNode(state: TokenMeter, { type, seq, time, surfaceOp }: SessionEvent, tokens: number): TokenMeter {
  const node: PricedNode = { seq, tokens, time, isSystem: type === "system/message" };
  if (surfaceOp === undefined) return state;
  if (surfaceOp === "append") {
    return { ...state, nodes: state.nodes.with(node), surfaceTokens: state.surfaceTokens + tokens };
  }
  const first = state.nodes.findIndex(surfaceOp.startSeq);
  const last = state.nodes.findIndex(surfaceOp.endSeq);
  if (first === -1 || last < first) return state;
  let shadowed = 0;
  for (const { tokens } of state.nodes.between(first, last)) shadowed += tokens;
  return {
    ...state,
    nodes: state.nodes.withSpan(first, last, node),
    surfaceTokens: state.surfaceTokens - shadowed + tokens,
  };
}

/** What stood on the surface when the model was asked: without what came while it answered, which it did not see. */
function anchorOf(
  { nodes, surfaceTokens, header }: TokenMeter,
  // Version 0 keeps the stream in rows of its own.
  { stream = [], usage }: { readonly stream?: readonly StreamRecord[]; readonly usage?: Usage },
  answerTokens: number,
): MeterAnchor {
  const askedAt = firstChunkTime(stream);
  let unseen = 0;
  for (let index = nodes.length - 1; askedAt !== null && index >= 0; index--) {
    const { time, tokens } = nodes.at(index)!;
    if (time <= askedAt) break;
    unseen += tokens;
  }
  const anchorTokens = surfaceTokens - unseen + answerTokens;
  const heuristic = priceOfHeader(header) + anchorTokens;
  return { header, surfaceTokens: anchorTokens, tokens: Math.max(heuristic, usage === undefined ? 0 : taken(usage)) };
}

function firstChunkTime([record]: readonly StreamRecord[]): number | null {
  if (record === undefined) return null;
  return record.type === "chunk" ? record.time : record.time0;
}

/**
 * Our adapters log as `inputTokens` everything the model read, what came from a cache included. Other programs log the cached
 * part beside it; that can be told only where it is the larger one, or by their total.
 */
function taken(
  { inputTokens, outputTokens, totalTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage,
): number {
  const cached = cacheReadTokens + cacheWriteTokens;
  return Math.max(totalTokens, inputTokens + outputTokens + (cached > inputTokens ? cached : 0));
}

function messageOf(event: SessionEvent): Message {
  return (isEvent(event, "user/message") ? event.data : (event.data as unknown as { message: Message }).message);
}

function isSame(left: RequestHeader | null, right: RequestHeader | null): boolean {
  return left === right || deepEqualJson(left as unknown as JsonValue, right as unknown as JsonValue);
}
