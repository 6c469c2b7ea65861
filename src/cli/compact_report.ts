/**
 * How a compaction is told in words.
 *
 * @module
 */
import type { Compacted, ContextGauge } from "../../mod.ts";
import { counted } from "./format.ts";

/** What a compaction did, in one line. */
export function compactedText({ shadowedCount, shadowedTokens, checkpointTokens, summarySeq }: Compacted): string {
  return `Compacted ${counted(shadowedCount, "message")}: about ${shadowedTokens} tokens became ${checkpointTokens}, ` +
    `summary at seq ${summarySeq}. The log keeps everything`;
}

/** What is told when nothing was compacted. */
export const NOTHING_TO_COMPACT = "There is nothing to compact";

/** How full the model's window is, in one line. */
export function gaugeText({ tokens, windowTokens, share }: ContextGauge): string {
  if (windowTokens === null || share === null) return `  (the model reads about ${tokens} tokens)`;
  return `  (the model reads about ${tokens} of ${windowTokens} tokens, ${Math.round(share * 100)} %)`;
}
