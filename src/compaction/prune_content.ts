/**
 * The content of a result without its middle: what a model needs of a long result is mostly its beginning and its end.
 *
 * @see compaction §5
 * @module
 */
import type { Block } from "../event/mod.ts";
import { countCodePoints, headEnd, tailStart } from "./code_points.ts";

/** How much of a result is kept, in Unicode code points. */
export interface PruneSizes {
  /** A result with more text than this is cut. Above 0. */
  readonly thresholdChars: number;
  /** Kept at its beginning. */
  readonly headChars: number;
  /** Kept at its end. */
  readonly tailChars: number;
}

/** The sizes when nobody says otherwise. */
export const PRUNE_SIZES: PruneSizes = Object.freeze({ thresholdChars: 8192, headChars: 4096, tailChars: 1024 });

/** What stands for the middle, in code points, when nothing says where the whole text is. */
export const PLAIN_MARKER_CHARS = 39;

/** A content that was cut. */
export interface PrunedContent {
  readonly content: readonly Block[];
  /** Code points of text before. */
  readonly charsBefore: number;
  /** And after: never more than the threshold, so that a second pass finds nothing. */
  readonly charsAfter: number;
}

/**
 * What stands for the middle of a text.
 *
 * @param locator where the whole text is; `null` when nobody can say
 *
 * @example
 * ```ts
 * import { pruneMarker } from "./prune_content.ts";
 *
 * if (pruneMarker(null).length !== 39 || !pruneMarker("result:7").includes("result:7")) throw new Error("unreachable");
 * ```
 */
export function pruneMarker(locator: string | null): string {
  const place = locator === null ? "" : `; the whole text is ${locator}`;
  return `\n\n[... tool result middle pruned${place} ...]\n\n`;
}

/**
 * Cuts the middle out of the text of a content. Blocks that are no text stay, in their order, and count nothing.
 *
 * @param locator where the whole text is. It is left out where it would not fit into the threshold
 * @returns `null` when the content is within the threshold
 *
 * @example
 * ```ts
 * import { pruneContent } from "./prune_content.ts";
 *
 * const sizes = { thresholdChars: 50, headChars: 4, tailChars: 3 };
 * const pruned = pruneContent([{ type: "text", text: "😀".repeat(60) }], sizes, null);
 * if (pruned?.charsAfter !== 4 + 39 + 3) throw new Error("unreachable");
 * if (pruneContent(pruned.content, sizes, null) !== null) throw new Error("unreachable");
 * ```
 */
export function pruneContent(
  content: readonly Block[],
  { thresholdChars, headChars, tailChars }: PruneSizes,
  locator: string | null,
): PrunedContent | null {
  const charsBefore = countText(content);
  if (charsBefore <= thresholdChars) return null;
  const located = pruneMarker(locator);
  const fits = headChars + countCodePoints(located) + tailChars <= thresholdChars;
  const marker = fits ? located : pruneMarker(null);

  const tailAt = charsBefore - tailChars;
  const pruned: Block[] = [];
  let isMarked = false;
  let start = 0;
  for (const block of content) {
    if (block.type !== "text") {
      pruned.push(block);
      continue;
    }
    const end = start + countCodePoints(block.text);
    const isTouched = end > headChars && start < tailAt;
    if (!isTouched) pruned.push(block);
    else {
      const head = block.text.slice(0, headEnd(block.text, Math.max(0, headChars - start)));
      const tail = block.text.slice(tailStart(block.text, Math.max(0, end - tailAt)));
      const text = head + (isMarked ? "" : marker) + tail;
      isMarked = true;
      if (text !== "") pruned.push({ ...block, text });
    }
    start = end;
  }
  return { content: pruned, charsBefore, charsAfter: headChars + countCodePoints(marker) + tailChars };
}

function countText(content: readonly Block[]): number {
  let chars = 0;
  for (const block of content) if (block.type === "text") chars += countCodePoints(block.text);
  return chars;
}
