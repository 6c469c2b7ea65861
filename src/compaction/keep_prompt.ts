/**
 * The newest thing a person said is never summarised away.
 *
 * Where it can be cut off, it stays where it is. Where that would leave next to nothing to summarise, in the middle of a long row
 * of calls, it is copied word for word behind the summary, with a word about where the work stands, so that it looks like no new
 * request.
 *
 * @see compaction §7 W3, issues 12, 13; §7b (3)
 * @module
 */
import { isCheckpoint, type NewestPrompt } from "../fold/mod.ts";
import { type NodeRange, priceOfRange, type SurfaceMap } from "./surface_map.ts";

/** The prompt is cut off when what stands before it is at least this part of what would be summarised. */
export const PROMPT_CUT_SHARE_MIN = 0.5;

/** A range, and what of it must be said again word for word. */
export interface KeptRange {
  readonly range: NodeRange;
  /** `null` when the range does not hold it. */
  readonly carried: NewestPrompt | null;
}

/**
 * Narrows a range so that the newest prompt stays, or says that it must be carried.
 *
 * @example
 * ```ts
 * import { keepPrompt } from "./keep_prompt.ts";
 *
 * const range = { first: 0, last: 3 };
 * const map = { nodes: [], prices: [1, 1, 1, 1], cuts: [true, true, true, true, true], first: 0 };
 * if (keepPrompt(map, range, null).carried !== null) throw new Error("unreachable");
 * ```
 */
export function keepPrompt(map: SurfaceMap, range: NodeRange, prompt: NewestPrompt | null): KeptRange {
  const carried = carriedIn(map, range, prompt);
  if (carried === null) return { range, carried };
  const index = map.nodes.findIndex(({ seq }) => seq === carried.seq);
  const before = { first: range.first, last: index - 1 };
  const isCut = index > range.first && map.cuts[index] === true &&
    priceOfRange(map, before) >= priceOfRange(map, range) * PROMPT_CUT_SHARE_MIN;
  return isCut ? { range: before, carried: null } : { range, carried };
}

/**
 * The newest prompt, when shadowing this range would take it from the model: it stands in it, or in a checkpoint in it.
 *
 * @example
 * ```ts
 * import { carriedIn } from "./keep_prompt.ts";
 *
 * const map = { nodes: [], prices: [], cuts: [true], first: 0 };
 * if (carriedIn(map, { first: 0, last: 0 }, null) !== null) throw new Error("unreachable");
 * ```
 */
export function carriedIn(
  { nodes }: SurfaceMap,
  { first, last }: NodeRange,
  prompt: NewestPrompt | null,
): NewestPrompt | null {
  if (prompt === null) return null;
  const index = nodes.findIndex(({ seq }) => seq === prompt.seq);
  if (index !== -1) return index >= first && index <= last ? prompt : null;
  const holdsCheckpoint = nodes.slice(first, last + 1).some(({ message }) => isCheckpoint(message));
  return holdsCheckpoint ? prompt : null;
}
