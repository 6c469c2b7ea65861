/**
 * The tokens of the surface for whoever follows the events and keeps no surface: a page, a tail, another process.
 *
 * A replacement takes away nodes of which such a reader knows nothing any more. That is why `compaction/summary` and
 * `compaction/prune` stand directly before it and say what the nodes it takes away had cost.
 *
 * @see compaction §3 "Shadow price"
 * @module
 */
import { isEvent, isSurfaceType, type Message, type SessionEvent } from "../event/mod.ts";
import { priceOfNode } from "./estimate.ts";

/** A running total, and the price that the next event may use. */
export interface RunningTotal {
  /** What the surface costs by the heuristic. */
  readonly tokens: number;
  /** What the event before said that a span costs; any other event than its replacement cancels it. */
  readonly shadowed: { readonly start: number; readonly end: number; readonly tokens: number } | null;
}

/** The total of an empty log. */
export const RUNNING_TOTAL_ZERO: RunningTotal = Object.freeze({ tokens: 0, shadowed: null });

/**
 * The total after one more event. A replacement whose price nobody said changes nothing.
 *
 * @throws {TypeError} when the price before a replacement is that of another span: the log says something untrue
 *
 * @example
 * ```ts
 * import { addToTotal, RUNNING_TOTAL_ZERO } from "./running_total.ts";
 *
 * const total = addToTotal(RUNNING_TOTAL_ZERO, {
 *   type: "user/message",
 *   seq: 0,
 *   time: 1,
 *   data: { id: "m", role: "user", content: [{ type: "text", text: "abcd" }], source: { kind: "user" } },
 *   surfaceOp: "append",
 * });
 * if (total.tokens !== 9) throw new Error("unreachable");
 * ```
 */
export function addToTotal({ tokens, shadowed }: RunningTotal, event: SessionEvent): RunningTotal {
  if (isEvent(event, "compaction/summary") || isEvent(event, "compaction/prune")) {
    const { shadowedRange: { start, end }, shadowedTokenCount } = event.data;
    return { tokens, shadowed: { start, end, tokens: shadowedTokenCount } };
  }
  if (!isSurfaceType(event.type)) return { tokens, shadowed: null };
  const message =
    (isEvent(event, "user/message") ? event.data : (event.data as { message?: unknown }).message) as Message;
  const price = priceOfNode({ type: event.type, message });
  const { surfaceOp } = event;
  if (surfaceOp === undefined || surfaceOp === "append") return { tokens: tokens + price, shadowed: null };
  if (shadowed === null) return { tokens, shadowed: null };
  const { startSeq, endSeq } = surfaceOp;
  if (shadowed.start !== startSeq || shadowed.end !== endSeq) {
    const found = `the price before it is of ${shadowed.start}..${shadowed.end}`;
    throw new TypeError(`Cannot count the replacement of ${startSeq}..${endSeq} at seq ${event.seq}: ${found}`);
  }
  return { tokens: tokens + price - shadowed.tokens, shadowed: null };
}
