/**
 * Pruning: long results on the surface lose their middle. The cheapest way to make room, because no model is asked and nothing
 * is lost: the log keeps the whole result, and the marker says where it is.
 *
 * @see compaction §5, §7 W5, W10
 * @module
 */
import type { EventData } from "../event/mod.ts";
import { priceOfNode, type Spilled, type Surface, type SurfaceNode } from "../fold/mod.ts";
import type { Session } from "../session/mod.ts";
import { busyError } from "./errors.ts";
import { resultLocator, spillLocator } from "./locator.ts";
import { pruneContent, type PrunedContent } from "./prune_content.ts";
import { checkedPruneOptions, type PruneOptions } from "./prune_options.ts";

/** One result that was cut. */
export interface PrunedResult {
  /** seq of the result that stood on the surface. It stays in the log as it is. */
  readonly originalSeq: number;
  /** seq of the one that stands there now. */
  readonly replacementSeq: number;
  /** Which call it answers. */
  readonly callId: string;
  /** Unicode code points of its text before. */
  readonly charsBefore: number;
  /** And now. */
  readonly charsAfter: number;
}

/** What a pass did. */
export interface Pruned {
  /** In the model's order. */
  readonly pruned: readonly PrunedResult[];
  /** Code points that the model does not read any more. */
  readonly charsRemoved: number;
}

/**
 * Cuts every long result on the surface, but the newest. Each cut is two events side by side, `compaction/prune` and the shorter
 * `tool/result`; only the content differs. A second pass finds nothing to do. Durable with the next flush.
 *
 * @throws {CompactionError} busy: a compaction is open; nothing was appended
 * @throws {TypeError} when no turn is open
 * @throws whatever refused an append; what was cut before it stays cut
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { pruneSession } from "./prune.ts";
 *
 * function makeRoom(session: Session): number {
 *   return pruneSession(session, { protectRecent: 4 }).charsRemoved;
 * }
 * ```
 */
export function pruneSession(session: Session, options: PruneOptions = {}): Pruned {
  const { protectRecent, marker, ...sizes } = checkedPruneOptions(options);
  const { surface, brackets, spilled } = session.folds;
  if (brackets.compaction !== null) throw busyError(session.id);
  if (brackets.turn === null) throw new TypeError(`Cannot prune session "${session.id}": no turn is open`);

  const locatorOf = marker === "plain" ? () => null : locators(surface, spilled);
  const pruned: PrunedResult[] = [];
  let charsRemoved = 0;
  for (const node of unprotected(surface, protectRecent)) {
    const cut = pruneContent(contentOf(node), sizes, locatorOf(node));
    if (cut === null) continue;
    const replacementSeq = replace(session, node, cut);
    const { charsBefore, charsAfter } = cut;
    pruned.push({ originalSeq: node.seq, replacementSeq, callId: callIdOf(node), charsBefore, charsAfter });
    charsRemoved += charsBefore - charsAfter;
  }
  return { pruned, charsRemoved };
}

/** A result on the surface. */
interface ResultNode extends SurfaceNode {
  readonly result: EventData["tool/result"];
}

/** The results that may be cut, in the model's order. What it has not read yet is of no use to it without its middle. */
function unprotected({ nodes }: Surface, protectRecent: number): readonly ResultNode[] {
  const results: ResultNode[] = [];
  let unread = 0;
  for (const node of nodes) {
    if (node.type === "assistant/message") unread = 0;
    if (node.result === null) continue;
    results.push(node as ResultNode);
    unread++;
  }
  const kept = protectRecent === 0 ? 0 : Math.max(protectRecent, unread);
  return results.slice(0, Math.max(0, results.length - kept));
}

function replace(session: Session, node: ResultNode, { content }: PrunedContent): number {
  const { seq, result } = node;
  session.append({
    type: "compaction/prune",
    data: {
      shadowedRange: { start: seq, end: seq },
      shadowedSeqs: [seq],
      shadowedTokenCount: priceOfNode(node),
    },
  });
  const [block, ...others] = result.message.content;
  const message = { ...result.message, content: [{ ...block, content }, ...others] };
  return session.append({
    type: "tool/result",
    data: { ...result, message },
    surfaceOp: { op: "replace", startSeq: seq, endSeq: seq },
    sourceEventSeqs: [seq],
  }).seq;
}

function contentOf({ result }: ResultNode) {
  const [block] = result.message.content;
  return block?.type === "tool-result" ? block.content : [];
}

function callIdOf({ result }: ResultNode): string {
  const [block] = result.message.content;
  return block?.type === "tool-result" ? block.toolCallId : "";
}

/**
 * Where the whole text of each result is. One that was spilled is only a preview itself, so what counts is the blob; one that was
 * cut before is not whole either, so what counts is what came first.
 */
function locators({ nodes }: Surface, { texts }: Spilled): (node: ResultNode) => string {
  const askedAt = new Map<string, number>();
  for (const { type, seq, message } of nodes) {
    if (type !== "assistant/message") continue;
    for (const block of message.content) if (block.type === "tool-call") askedAt.set(block.id, seq);
  }
  const kept = new Map<string, string>();
  for (const { callId, callSeq, digest } of texts) {
    // An id may have been used before, by a call that is on the surface no more.
    if (callSeq > (askedAt.get(callId) ?? callSeq)) kept.set(callId, spillLocator(digest));
  }
  return (node) => kept.get(callIdOf(node)) ?? resultLocator(node.originalSeq ?? node.seq);
}
