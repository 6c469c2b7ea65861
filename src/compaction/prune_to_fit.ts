/**
 * Pruning until a request fits: the last thing that is tried before one is sent that cannot fit.
 *
 * What the model has not read yet stays whole as long as there is another way. But a result of which the provider would refuse to
 * read anything is of less use than its beginning and its end, with a word about where the rest is.
 *
 * @see compaction §5, §7 W5
 * @module
 */
import type { Session } from "../session/mod.ts";
import { pruneSession } from "./prune.ts";
import { PLAIN_MARKER_CHARS } from "./prune_content.ts";
import { checkedPruneOptions, type PruneOptions } from "./prune_options.ts";

/** How often the sizes are halved: the last pass leaves a 16th, some hundred characters of each result. */
export const FIT_HALVINGS_MAX = 4;

/**
 * Cuts results, the newest included, and cuts them shorter while the request is still over. Durable with the next flush.
 *
 * @param isOver whether the request still does not fit; asked before each pass
 * @returns how many cuts were made
 * @throws what {@linkcode pruneSession} throws
 *
 * @example
 * ```ts
 * import { measure } from "../fold/mod.ts";
 * import type { Session } from "../session/mod.ts";
 * import { pruneToFit } from "./prune_to_fit.ts";
 *
 * function fit(session: Session, windowTokens: number): boolean {
 *   return pruneToFit(session, {}, () => measure(session.folds).totalTokens > windowTokens) > 0;
 * }
 * ```
 */
export function pruneToFit(session: Session, options: PruneOptions, isOver: () => boolean): number {
  const { thresholdChars, headChars, tailChars, marker } = checkedPruneOptions(options);
  let cuts = 0;
  for (let halvings = 0; halvings <= FIT_HALVINGS_MAX && isOver(); halvings++) {
    const part = 2 ** -halvings;
    const [head, tail] = [Math.floor(headChars * part), Math.floor(tailChars * part)];
    const threshold = Math.max(Math.floor(thresholdChars * part), head + tail + PLAIN_MARKER_CHARS);
    const sizes = { thresholdChars: threshold, headChars: head, tailChars: tail };
    cuts += pruneSession(session, { ...sizes, marker, protectRecent: 0 }).pruned.length;
  }
  return cuts;
}
