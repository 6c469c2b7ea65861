/**
 * What a power cut may leave of one file.
 *
 * Two families. *In order*: the first so many changes are there, and of the next write the first so many bytes. *By block*: the
 * file has any of the lengths it had or passed at a block's edge, and each block below it holds any of the contents it had
 * since the last sync, zeros where it had none. So a length can be there before its data, which reads as a tail of zeros.
 *
 * @module
 */

import type { Content } from "./content.ts";
import { type FileOutcome, Outcomes } from "./outcomes.ts";
import { combinations } from "./combinations.ts";
import { type CrashBounds, type Draws, PREFIX_EDGE_BYTES } from "./crash_bounds.ts";
import { type FileChange, type FileNode, sameBlock, sizesOf, touchedBlocks } from "./nodes.ts";

/** All outcomes of a file within the bounds, each content once, the one where nothing arrived first. */
export function fileOutcomes(file: FileNode, bounds: CrashBounds): FileOutcome[] {
  const found = new Outcomes();
  found.add(file.settled, () => "nothing of what waits");
  const changes = changesOf(file);
  for (const [index, change] of changes.entries()) {
    for (const takenBytes of prefixesOf(change, bounds)) {
      found.add(afterPart(change, takenBytes), () => describePart(changes, index, takenBytes));
    }
    found.add(change.after, () => describePart(changes, index, null));
  }
  if (bounds.blockCombinationsMax > 0) {
    const history = historyOf(file, bounds.blockBytes);
    for (const sizeBytes of history.sizes) addBlockwise(found, history, sizeBytes, bounds);
  }
  return found.list;
}

/** One outcome of a file, drawn from all there are: also from those the bounds leave out. */
export function drawFileOutcome(file: FileNode, bounds: CrashBounds, draws: Draws): FileOutcome {
  if (file.isClean) return { content: file.settled, describe: () => "all of it" };
  const changes = changesOf(file);
  if (changes.length > 0 && (bounds.blockCombinationsMax === 0 || draws.below(2) === 0)) {
    const index = draws.below(changes.length);
    const change = changes[index]!;
    const takenBytes = draws.below(change.sizeBytes + 1);
    return { content: afterPart(change, takenBytes), describe: () => describePart(changes, index, takenBytes) };
  }
  const history = historyOf(file, bounds.blockBytes);
  const sizeBytes = history.sizes[draws.below(history.sizes.length)]!;
  const blocks = blocksBelow(history, sizeBytes, bounds.blockBytes);
  const chosen = blocks.map(({ versions }) => draws.below(versions.length));
  return blockwise(history, sizeBytes, blocks, chosen);
}

/** What a power cut may have let through up to any point: what was dropped, and what waits. */
function changesOf(file: FileNode): readonly FileChange[] {
  return [...(file.doubt?.dropped ?? []), ...file.changes];
}

/** A block and the contents it may hold, the oldest first, all different up to `endBytes`. */
interface Block {
  readonly index: number;
  readonly startBytes: number;
  readonly endBytes: number;
  readonly versions: readonly Content[];
}

/** What a file was since its last sync. */
interface History {
  readonly settled: Content;
  /** Ascending. */
  readonly sizes: readonly number[];
  /** By block: contents that brought it something new, in order. */
  readonly blocks: ReadonlyMap<number, readonly Content[]>;
}

function historyOf(file: FileNode, blockBytes: number): History {
  const sizes = new Set([file.settled.sizeBytes, ...(file.doubt?.sizes ?? [])]);
  const blocks = new Map<number, Content[]>();
  for (const [block, versions] of file.doubt?.blocks ?? []) blocks.set(block, [file.settled, ...versions]);
  for (const change of file.changes) {
    for (const sizeBytes of sizesOf(change, blockBytes)) sizes.add(sizeBytes);
    for (const block of touchedBlocks(change, blockBytes)) {
      const versions = blocks.get(block) ?? [file.settled];
      versions.push(change.after);
      blocks.set(block, versions);
    }
  }
  const sorted = [...blocks].sort(([left], [right]) => left - right);
  return { settled: file.settled, sizes: [...sizes].sort((a, b) => a - b), blocks: new Map(sorted) };
}

/** The blocks that can differ in a file of this length. */
function blocksBelow(history: History, sizeBytes: number, blockBytes: number): Block[] {
  const blocks: Block[] = [];
  for (const [index, contents] of history.blocks) {
    const startBytes = index * blockBytes;
    if (startBytes >= sizeBytes) continue;
    const endBytes = Math.min(startBytes + blockBytes, sizeBytes);
    const versions: Content[] = [];
    for (const content of contents) {
      if (!versions.some((other) => sameBlock(other, content, startBytes, endBytes))) versions.push(content);
    }
    blocks.push({ index, startBytes, endBytes, versions });
  }
  return blocks;
}

function addBlockwise(found: Outcomes, history: History, sizeBytes: number, bounds: CrashBounds): void {
  const blocks = blocksBelow(history, sizeBytes, bounds.blockBytes);
  for (const chosen of combinations(blocks.map(({ versions }) => versions.length), bounds.blockCombinationsMax)) {
    const outcome = blockwise(history, sizeBytes, blocks, chosen);
    found.add(outcome.content, outcome.describe);
  }
}

function blockwise(
  history: History,
  sizeBytes: number,
  blocks: readonly Block[],
  chosen: readonly number[],
): FileOutcome {
  let content = history.settled.resize(sizeBytes);
  for (const [index, { startBytes, endBytes, versions }] of blocks.entries()) {
    const version = versions[chosen[index]!]!;
    if (version === history.settled) continue;
    content = content.write(startBytes, version.block(startBytes, endBytes));
  }
  const describe = () => {
    const parts = blocks.map(({ index, versions }, at) => `${index}: version ${chosen[at]! + 1} of ${versions.length}`);
    return `${sizeBytes} bytes, blocks {${parts.join(", ")}}`;
  };
  return { content, describe };
}

/** How many bytes of a write are there: every number below its length, or the edges. Of a truncate nothing is done by half. */
function* prefixesOf({ kind, offsetBytes, sizeBytes }: FileChange, bounds: CrashBounds): Generator<number> {
  if (kind === "truncate") return;
  if (sizeBytes <= bounds.prefixBytesMax) {
    for (let takenBytes = 0; takenBytes < sizeBytes; takenBytes++) yield takenBytes;
    return;
  }
  for (let takenBytes = 0; takenBytes <= PREFIX_EDGE_BYTES; takenBytes++) yield takenBytes;
  const { blockBytes } = bounds;
  const firstEdge = Math.ceil((offsetBytes + PREFIX_EDGE_BYTES + 2) / blockBytes) * blockBytes;
  for (let edge = firstEdge; edge < offsetBytes + sizeBytes - PREFIX_EDGE_BYTES - 1; edge += blockBytes) {
    for (const near of [edge - 1, edge, edge + 1]) yield near - offsetBytes;
  }
  for (let takenBytes = sizeBytes - PREFIX_EDGE_BYTES; takenBytes < sizeBytes; takenBytes++) yield takenBytes;
}

/** A file where the changes up to this one are there, and `takenBytes` of it. */
function afterPart({ kind, offsetBytes, before, after, sizeBytes }: FileChange, takenBytes: number): Content {
  if (kind === "truncate" || takenBytes >= sizeBytes) return after;
  if (offsetBytes === before.sizeBytes) return after.resize(offsetBytes + takenBytes);
  return before.write(offsetBytes, after.view.subarray(offsetBytes, offsetBytes + takenBytes));
}

function describePart(changes: readonly FileChange[], index: number, takenBytes: number | null): string {
  const { kind, offsetBytes, sizeBytes } = changes[index]!;
  const change = kind === "truncate"
    ? `the cut to ${offsetBytes} bytes`
    : `the write of ${sizeBytes} bytes at ${offsetBytes}`;
  const place = `change ${index + 1} of ${changes.length}`;
  return takenBytes === null ? `all up to ${change} (${place})` : `up to ${takenBytes} bytes of ${change} (${place})`;
}
