/**
 * The surface as a compaction looks at it: nodes, what they cost, and where it may be cut.
 *
 * @see compaction §1, §4
 * @module
 */
import { balancedCuts, type LogFolds, pricesOf, type SurfaceNode } from "../fold/mod.ts";

/** A surface, ready to be cut. */
export interface SurfaceMap {
  /** In the model's order. */
  readonly nodes: readonly SurfaceNode[];
  /** What each node costs, in tokens. */
  readonly prices: readonly number[];
  /** Whether the cut before a node keeps every call with its result; one more than there are nodes. */
  readonly cuts: readonly boolean[];
  /** Index of the first node that may be shadowed: the system message at the head never is. */
  readonly first: number;
}

/** A run of nodes, by index, both ends included. */
export interface NodeRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Looks at the surface as it is now.
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { surfaceMap } from "./surface_map.ts";
 *
 * if (surfaceMap(logFold.initial()).cuts.length !== 1) throw new Error("unreachable");
 * ```
 */
export function surfaceMap({ surface, meter }: Pick<LogFolds, "surface" | "meter">): SurfaceMap {
  const nodes = surface.nodes.toArray();
  return {
    nodes,
    prices: pricesOf(meter).map(({ tokens }) => tokens),
    cuts: balancedCuts(nodes),
    first: nodes[0]?.type === "system/message" ? 1 : 0,
  };
}

/**
 * What a run of nodes costs together.
 *
 * @example
 * ```ts
 * import { priceOfRange } from "./surface_map.ts";
 *
 * if (priceOfRange({ prices: [1, 2, 4] }, { first: 1, last: 2 }) !== 6) throw new Error("unreachable");
 * ```
 */
export function priceOfRange({ prices }: Pick<SurfaceMap, "prices">, { first, last }: NodeRange): number {
  let tokens = 0;
  for (let index = first; index <= last; index++) tokens += prices[index]!;
  return tokens;
}
