/**
 * A run of nodes that is to be replaced: whether it may be, and whether it is still there when its summary is.
 *
 * @see compaction §2 (1), (5)
 * @module
 */
import type { NodeRange, SurfaceMap } from "./surface_map.ts";

/**
 * Where a run of nodes stands, named by the seqs of its ends as they are on the surface.
 *
 * @throws {RangeError} when an end is not there, they are reversed, the pinned head is among them, or a cut parts a call from its
 * result
 *
 * @example
 * ```ts
 * import { rangeOf } from "./span.ts";
 *
 * const message = { id: "u", role: "user" as const, content: [], source: { kind: "user" } };
 * const nodes = [{ seq: 4, type: "user/message" as const, message, result: null }];
 * const range = rangeOf({ nodes, prices: [8], cuts: [true, true], first: 0 }, { startSeq: 4, endSeq: 4 });
 * if (range.first !== 0 || range.last !== 0) throw new Error("unreachable");
 * ```
 */
export function rangeOf(
  { nodes, cuts, first: firstFree }: SurfaceMap,
  { startSeq, endSeq }: { readonly startSeq: number; readonly endSeq: number },
): NodeRange {
  const refused = (found: string) => new RangeError(`Cannot compact seq ${startSeq} to ${endSeq}: ${found}`);
  const first = nodes.findIndex(({ seq }) => seq === startSeq);
  const last = nodes.findIndex(({ seq }) => seq === endSeq);
  if (first === -1) throw refused(`seq ${startSeq} is not on the surface`);
  if (last === -1) throw refused(`seq ${endSeq} is not on the surface`);
  if (first > last) throw refused(`seq ${startSeq} stands behind seq ${endSeq}`);
  if (first < firstFree) throw refused("the system message at its head is pinned");
  if (!cuts[first]) throw refused(`the cut before seq ${startSeq} parts a call from its result`);
  if (!cuts[last + 1]) throw refused(`the cut behind seq ${endSeq} parts a call from its result`);
  return { first, last };
}

/**
 * Whether all of a surface is as it was: the same nodes at the same prices.
 *
 * @example
 * ```ts
 * import { isSameSurface } from "./span.ts";
 *
 * const empty = { nodes: [], prices: [], cuts: [true], first: 0 };
 * if (!isSameSurface(empty, empty)) throw new Error("unreachable");
 * ```
 */
export function isSameSurface(before: SurfaceMap, now: SurfaceMap): boolean {
  return before.nodes.length === now.nodes.length &&
    hasNodes(now, 0, before, { first: 0, last: before.nodes.length - 1 });
}

/**
 * Whether a run of nodes is as it was, wherever it stands now: contiguous, at the same prices, and fit to be cut out.
 *
 * @example
 * ```ts
 * import { isSameSpan } from "./span.ts";
 *
 * const message = { id: "u", role: "user" as const, content: [], source: { kind: "user" } };
 * const nodes = [{ seq: 4, type: "user/message" as const, message, result: null }];
 * const map = { nodes, prices: [8], cuts: [true, true], first: 0 };
 * if (!isSameSpan(map, map, { first: 0, last: 0 })) throw new Error("unreachable");
 * ```
 */
export function isSameSpan(before: SurfaceMap, now: SurfaceMap, range: NodeRange): boolean {
  const { first, last } = range;
  const at = now.nodes.findIndex(({ seq }) => seq === before.nodes[first]!.seq);
  return at !== -1 && now.cuts[at] === true && now.cuts[at + last - first + 1] === true &&
    hasNodes(now, at, before, range);
}

/** Whether the nodes of a range stand at an index, one after the other and at the same price. */
function hasNodes(now: SurfaceMap, at: number, before: SurfaceMap, { first, last }: NodeRange): boolean {
  for (let index = first; index <= last; index++) {
    const there = at + index - first;
    if (now.nodes[there]?.seq !== before.nodes[index]!.seq || now.prices[there] !== before.prices[index]) return false;
  }
  return true;
}
