/**
 * What the next compaction would replace, from the log alone.
 *
 * @module
 */
import { isCheckpoint, type LogFolds, type NewestPrompt, priceOfMessage } from "../fold/mod.ts";
import { checkpointMessage } from "./checkpoint_message.ts";
import { keepPrompt } from "./keep_prompt.ts";
import { selectRange } from "./select_range.ts";
import { priceOfRange, surfaceMap } from "./surface_map.ts";

/** How much stays, and what for. */
export interface Choice {
  /** See `Retention`. */
  readonly retainTokens: number;
  /** Nodes that were appended from this seq on, at the end of the surface, stay: nobody has read them yet. Default: none. */
  readonly unreadFromSeq?: number;
  /** Whether an earlier summary may be summarised once more with nothing new beside it. Default false. */
  readonly mayRedo?: boolean;
}

/** A run of nodes worth replacing. */
export interface ChosenSpan {
  readonly startSeq: number;
  readonly endSeq: number;
  /** What it costs, in tokens. */
  readonly tokens: number;
  /** What of this was never summarised before, and will not be said again word for word. */
  readonly freshTokens: number;
}

/**
 * Chooses what to compact: everything but the tail that stays, with the newest prompt kept.
 *
 * @returns `null` when there is nothing to compact, or so little that not even the shortest summary would be smaller
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { chooseSpan } from "./choose_span.ts";
 *
 * if (chooseSpan(logFold.initial(), { retainTokens: 0 }) !== null) throw new Error("unreachable");
 * ```
 */
export function chooseSpan(
  folds: Pick<LogFolds, "surface" | "meter" | "compactions">,
  { retainTokens, unreadFromSeq = Infinity, mayRedo = false }: Choice,
): ChosenSpan | null {
  const map = surfaceMap(folds);
  const { nodes, prices } = map;
  let keptFrom = nodes.length;
  while (keptFrom > 0 && nodes[keptFrom - 1]!.seq >= unreadFromSeq) keptFrom -= 1;
  const selected = selectRange(map, { retainTokens, keptFrom });
  if (selected === null) return null;
  const { range, carried } = keepPrompt(map, selected, folds.compactions.newestPrompt);
  const tokens = priceOfRange(map, range);
  if (tokens <= leastTokens(carried)) return null;
  const [start, end] = [nodes[range.first]!, nodes[range.last]!];
  const summarised = isCheckpoint(start.message) ? prices[range.first]! : 0;
  // A prompt that an earlier checkpoint carries is no node of its own.
  const copied = carried === null ? -1 : nodes.findIndex(({ seq }) => seq === carried.seq);
  const freshTokens = tokens - summarised - (copied === -1 ? 0 : prices[copied]!);
  if (freshTokens <= 0 && !mayRedo) return null;
  return { startSeq: start.seq, endSeq: end.seq, tokens, freshTokens };
}

/** What the shortest checkpoint costs. */
function leastTokens(carried: NewestPrompt | null): number {
  const parts = { id: "m", compactionId: "k", commandId: null, turn: null };
  return priceOfMessage(checkpointMessage({ ...parts, summary: [{ type: "text", text: "." }], carried }));
}
