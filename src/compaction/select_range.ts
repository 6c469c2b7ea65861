/**
 * What is summarised: from the head of the surface to a cut that parts no call from its result.
 *
 * Always from the head, so that an earlier checkpoint is merged into the new one and there is never more than one.
 *
 * @see compaction §4 "Range", §7b (2)
 * @module
 */
import { type NodeRange, priceOfRange, type SurfaceMap } from "./surface_map.ts";

/** How much of the tail stays. */
export interface Retention {
  /** So many tokens of the tail stay; the node that crosses the number stays too. 0 keeps the newest unit alone. */
  readonly retainTokens: number;
  /** Nodes from this index on stay in any case. Default: none. */
  readonly keptFrom?: number;
}

/**
 * Chooses a range. Turns mean nothing to it: closed steps of the turn that runs can go. A call that waits for its result stays.
 *
 * @returns `null` when nothing can be shadowed
 *
 * @example
 * ```ts
 * import { selectRange } from "./select_range.ts";
 *
 * const map = { prices: [100, 100, 100, 100], cuts: [true, true, true, true, true], first: 0 };
 * const range = selectRange(map, { retainTokens: 150 });
 * if (range?.first !== 0 || range.last !== 1) throw new Error("unreachable");
 * ```
 */
export function selectRange(
  { prices, cuts, first }: Pick<SurfaceMap, "prices" | "cuts" | "first">,
  { retainTokens, keptFrom = prices.length }: Retention,
): NodeRange | null {
  let cut = prices.length;
  let kept = 0;
  do {
    cut -= 1;
    if (cut <= first) return null;
    kept += prices[cut]!;
  } while (kept < retainTokens);
  return rangeTo({ cuts, first }, Math.min(cut, keptFrom));
}

/**
 * Half of a range, for a summariser that could not read all of it: up to the last fit cut that leaves at most half of the price.
 *
 * @returns `null` when it cannot be halved
 *
 * @example
 * ```ts
 * import { halfOf } from "./select_range.ts";
 *
 * const map = { prices: [100, 100, 100, 100], cuts: [true, true, true, true, true], first: 0 };
 * if (halfOf(map, { first: 0, last: 3 })?.last !== 1) throw new Error("unreachable");
 * ```
 */
export function halfOf(
  { prices, cuts }: Pick<SurfaceMap, "prices" | "cuts">,
  { first, last }: NodeRange,
): NodeRange | null {
  const half = priceOfRange({ prices }, { first, last }) / 2;
  let cut = first;
  for (let price = 0; cut <= last && price + prices[cut]! <= half; cut++) price += prices[cut]!;
  return rangeTo({ cuts, first }, cut);
}

/** The cut moves towards the head until it parts nothing. */
function rangeTo({ cuts, first }: Pick<SurfaceMap, "cuts" | "first">, cut: number): NodeRange | null {
  while (cut > first && !cuts[cut]) cut -= 1;
  return cut <= first ? null : { first, last: cut - 1 };
}
