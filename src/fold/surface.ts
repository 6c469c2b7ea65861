/**
 * The surface: the messages the model sees, in the order it sees them.
 *
 * The log only grows. What the model reads can shrink, because an event may replace a run of nodes on the surface.
 *
 * @see session-format §4.1, §4.2; compaction §1
 * @module
 */
import {
  deepEqualJson,
  type EventData,
  isEvent,
  isSurfaceType,
  type Message,
  type SessionEvent,
} from "../event/mod.ts";
import { ChunkedList } from "./chunked_list.ts";
import type { Fold } from "./fold.ts";

/** One node of the surface: an event that stands there, without what only the log needs (an assistant's stream). */
export interface SurfaceNode {
  /** seq of the event that stands here. */
  readonly seq: number;
  /** The type of that event. */
  readonly type: "system/message" | "user/message" | "assistant/message" | "tool/result";
  /** The message it carries. */
  readonly message: Message;
  /** The whole data of a `tool/result`, which a replacement must repeat; `null` for the other types. */
  readonly result: EventData["tool/result"] | null;
  /** Of a result that was cut: seq of the one that came first, which is whole, however often it was cut since. */
  readonly originalSeq?: number;
}

/** The surface of a log. */
export interface Surface {
  /** In the model's order. After a replacement the seqs need not rise. */
  readonly nodes: ChunkedList<SurfaceNode>;
  /** How many replacements the log holds. While it stays, the surface only grows at its end. */
  readonly replaceGeneration: number;
  /** The first event that could not be applied, and why: such a log is damaged. `null` when there is none. */
  readonly fault: { readonly seq: number; readonly message: string } | null;
}

/** Follows the surface events. An event with a {@linkcode surfaceProblem} changes nothing but `fault`. */
export const surfaceFold: Fold<Surface> = {
  name: "surface",
  version: 2,

  initial: () => ({ nodes: ChunkedList.from<SurfaceNode>([], ({ seq }) => seq), replaceGeneration: 0, fault: null }),

  apply(state: Surface, event: SessionEvent): Surface {
    const node = nodeOf(event);
    if (node === null) return state;
    const problem = surfaceProblem(state, event);
    if (problem !== null) {
      return state.fault === null ? { ...state, fault: { seq: event.seq, message: problem } } : state;
    }
    const span = spanOf(state, event);
    return span === null ? { ...state, nodes: state.nodes.with(node) } : {
      ...state,
      nodes: state.nodes.withSpan(
        span.first,
        span.last,
        node.result === null ? node : cutNode(state, node, span.first),
      ),
      replaceGeneration: state.replaceGeneration + 1,
    };
  },
};

/**
 * Says why an event must not come next in a log with this surface.
 *
 * The span of a replacement is meant by position: `startSeq` may be the greater number after earlier replacements.
 *
 * @returns what was found, or `null` when the event is fine or does not touch the surface
 *
 * @example
 * ```ts
 * import { surfaceFold, surfaceProblem } from "./surface.ts";
 *
 * const problem = surfaceProblem(surfaceFold.initial(), {
 *   type: "user/message",
 *   seq: 4,
 *   time: 1,
 *   data: { id: "m", role: "user", content: [], source: { kind: "user" } },
 *   surfaceOp: { op: "replace", startSeq: 2, endSeq: 3 },
 *   sourceEventSeqs: [2, 3],
 * });
 * if (problem !== "seq 2 is not on the surface") throw new Error("unreachable");
 * ```
 */
export function surfaceProblem(state: Surface, event: SessionEvent): string | null {
  if (!isSurfaceType(event.type)) return null;
  const provenance = provenanceProblem(event);
  if (provenance !== null) return provenance;
  const { surfaceOp } = event;
  if (surfaceOp === undefined) return `${event.type} has no surfaceOp`;
  if (surfaceOp === "append") return null;

  const { startSeq, endSeq } = surfaceOp;
  if (startSeq >= event.seq || endSeq >= event.seq) return `the span ${startSeq}..${endSeq} reaches its own seq`;
  const first = state.nodes.findIndex(startSeq);
  if (first === -1) return `seq ${startSeq} is not on the surface`;
  const last = state.nodes.findIndex(endSeq);
  if (last === -1) return `seq ${endSeq} is not on the surface`;
  if (first > last) return `seq ${startSeq} stands behind seq ${endSeq} on the surface`;

  const cited = new Set(event.sourceEventSeqs);
  for (const { seq } of state.nodes.between(first, last)) {
    if (!cited.has(seq)) return `sourceEventSeqs leaves out seq ${seq}, which it replaces`;
  }
  return headProblem(state, event, first, last) ?? resultProblem(state, event, first, last);
}

/**
 * The messages the model sees: every node's message verbatim, without empty assistant and system messages.
 *
 * @example
 * ```ts
 * import { deriveMessages, surfaceFold } from "./surface.ts";
 *
 * const surface = surfaceFold.apply(surfaceFold.initial(), {
 *   type: "user/message",
 *   seq: 0,
 *   time: 1,
 *   data: { id: "m", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } },
 *   surfaceOp: "append",
 * });
 * if (deriveMessages(surface)[0]?.id !== "m") throw new Error("unreachable");
 * ```
 */
export function deriveMessages(state: Surface): Message[] {
  const messages: Message[] = [];
  for (const { type, message } of state.nodes) {
    const isKept = type === "user/message" || type === "tool/result" || message.content.length > 0;
    if (isKept) messages.push(message);
  }
  return messages;
}

function provenanceProblem(event: SessionEvent): string | null {
  const { sourceEventSeqs } = event;
  if (sourceEventSeqs === undefined) return null;
  if (event.type === "assistant/message") return "assistant/message must not have sourceEventSeqs";
  if (sourceEventSeqs.length === 0) return "sourceEventSeqs is empty";
  if (new Set(sourceEventSeqs).size !== sourceEventSeqs.length) return "sourceEventSeqs names a seq twice";
  for (const seq of sourceEventSeqs) {
    if (!Number.isSafeInteger(seq) || seq < 0) return `sourceEventSeqs holds ${seq}, which is no seq`;
    if (seq >= event.seq) return `sourceEventSeqs holds ${seq}, which is not before seq ${event.seq}`;
  }
  return null;
}

/** The system message at the head is pinned: providers cache what follows it, and nothing else may take its place. */
function headProblem(state: Surface, event: SessionEvent, first: number, last: number): string | null {
  if (first !== 0 || state.nodes.at(0)?.type !== "system/message") return null;
  return event.type === "system/message" && last === 0
    ? null
    : `seq ${state.nodes.at(0)!.seq} is the system message at the head, which only another one alone may replace`;
}

/** A result may be shortened, and in nothing else changed. */
function resultProblem(state: Surface, event: SessionEvent, first: number, last: number): string | null {
  if (!isEvent(event, "tool/result")) return null;
  const replaced = state.nodes.at(first)!;
  if (first !== last || replaced.result === null) return "a tool/result may replace only one other tool/result";
  return deepEqualJson(withoutContent(event.data), withoutContent(replaced.result))
    ? null
    : `it differs from the tool/result at seq ${replaced.seq} in more than its content`;
}

function withoutContent(result: EventData["tool/result"]): unknown {
  const [block, ...others] = result.message.content;
  return { ...result, message: { ...result.message, content: [{ ...block, content: [] }, ...others] } };
}

function nodeOf(event: SessionEvent): SurfaceNode | null {
  const { seq } = event;
  if (isEvent(event, "user/message")) return { seq, type: event.type, message: event.data, result: null };
  if (isEvent(event, "tool/result")) return { seq, type: event.type, message: event.data.message, result: event.data };
  if (isEvent(event, "assistant/message") || isEvent(event, "system/message")) {
    return { seq, type: event.type, message: event.data.message, result: null };
  }
  return null;
}

/** A result may replace only one other result. */
function cutNode({ nodes }: Surface, node: SurfaceNode, index: number): SurfaceNode {
  const { seq, originalSeq = seq } = nodes.at(index)!;
  return { ...node, originalSeq };
}

function spanOf(state: Surface, event: SessionEvent): { first: number; last: number } | null {
  const { surfaceOp } = event;
  if (surfaceOp === undefined || surfaceOp === "append") return null;
  return { first: state.nodes.findIndex(surfaceOp.startSeq), last: state.nodes.findIndex(surfaceOp.endSeq) };
}
