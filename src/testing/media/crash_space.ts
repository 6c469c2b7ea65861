/**
 * Everything a power cut may leave of a tree of folders and files: counted, numbered, and made on demand.
 *
 * @module
 */

import type { Content } from "./content.ts";
import { combinations } from "./combinations.ts";
import type { CrashBounds, Draws } from "./crash_bounds.ts";
import { drawFileOutcome, fileOutcomes } from "./file_outcomes.ts";
import type { FileOutcome } from "./outcomes.ts";
import { FileNode, FolderNode, type MediumNode } from "./nodes.ts";

/** What kind of tree is looked at. */
export interface SpaceOptions {
  readonly bounds: CrashBounds;
  /** Whether a file with this content counts as published. One that does not is as good as absent, and is left out. */
  readonly isPublished: (content: Content) => boolean;
}

/** One state, as a tree of its own. */
export interface MadeState {
  readonly root: FolderNode;
  /** For a person, made only when asked for. */
  readonly lines: readonly (() => string)[];
  /** The full names that were waiting and are not there. */
  readonly lost: readonly string[];
}

/** What is noted down while a state is made. */
interface Notes {
  readonly lines: (() => string)[];
  readonly lost: string[];
}

/** The states of one medium, as it was when the space was made. */
export class CrashSpace {
  readonly #root: FolderSpace;

  /** Looks at everything that waits; what the medium does later changes nothing. */
  constructor(root: FolderNode, options: SpaceOptions) {
    this.#root = folderSpace(root, options);
  }

  /** How many states there are, within the bounds. Exact up to 2⁵³. */
  get count(): number {
    return this.#root.count;
  }

  /** The state with this number, from 0 to `count - 1`. In number 0 nothing of what waits has arrived. */
  at(index: number): MadeState {
    if (!Number.isSafeInteger(index) || index < 0 || index >= this.count) {
      throw new RangeError(`Cannot make crash state ${index}: there are ${this.count}`);
    }
    const notes: Notes = { lines: [], lost: [] };
    return { root: makeFolder(this.#root, index, "", notes), ...notes };
  }
}

interface FileSpace {
  readonly kind: "file";
  readonly id: number;
  readonly count: number;
  /** `null` for an outcome that is not published: the name is then absent. */
  readonly outcomes: readonly (FileOutcome | null)[];
  readonly isClean: boolean;
}

/** A way the waiting names of a folder may come out. */
interface NameVector {
  readonly children: readonly (readonly [name: string, space: NodeSpace])[];
  readonly count: number;
  /** The waiting names that are there and those that are not. */
  readonly kept: readonly string[];
  readonly lost: readonly string[];
}

interface FolderSpace {
  readonly kind: "folder";
  readonly id: number;
  readonly count: number;
  readonly vectors: readonly NameVector[];
}

type NodeSpace = FileSpace | FolderSpace;

function fileSpace(file: FileNode, mayBeAbsent: boolean, options: SpaceOptions): FileSpace {
  if (file.isClean && options.isPublished(file.settled)) {
    const outcome: FileOutcome = { content: file.settled, describe: () => "all of it" };
    return { kind: "file", id: file.id, count: 1, outcomes: [outcome], isClean: true };
  }
  const all = fileOutcomes(file, options.bounds);
  const published: (FileOutcome | null)[] = all.filter(({ content }) => options.isPublished(content));
  // Absent is a state of its own once: where the name itself may be lost, it is counted there.
  if (published.length < all.length && !mayBeAbsent) published.unshift(null);
  return { kind: "file", id: file.id, count: published.length, outcomes: published, isClean: false };
}

function folderSpace(folder: FolderNode, options: SpaceOptions): FolderSpace {
  const versions = versionsOf(folder);
  const waiting = [...versions].filter(([, nodes]) => nodes.length > 1);
  const spaces = new Map<MediumNode, NodeSpace>();
  for (const nodes of versions.values()) {
    for (const node of nodes) {
      if (node === null || spaces.has(node)) continue;
      const space = node.kind === "file" ? fileSpace(node, nodes.includes(null), options) : folderSpace(node, options);
      spaces.set(node, space);
    }
  }
  const vectors: NameVector[] = [];
  for (const chosen of nameChoices(folder, waiting, options.bounds.nameCombinationsMax)) {
    const children: [string, NodeSpace][] = [];
    const [kept, lost]: [string[], string[]] = [[], []];
    for (const [name, nodes] of versions) {
      const node = nodes.length > 1 ? chosen.get(name) ?? null : nodes[0] ?? null;
      if (nodes.length > 1) (node === null ? lost : kept).push(name);
      if (node !== null) children.push([name, spaces.get(node)!]);
    }
    const count = children.reduce((product, [, space]) => product * space.count, 1);
    if (count > 0) vectors.push({ children, count, kept, lost });
  }
  return {
    kind: "folder",
    id: folder.id,
    count: vectors.reduce((sum, { count }) => sum + count, 0),
    vectors,
  };
}

/** By name, what it leads to: first what is durable, then what came since, each once. */
function versionsOf(folder: FolderNode): Map<string, (MediumNode | null)[]> {
  const versions = new Map<string, (MediumNode | null)[]>();
  for (const [name, node] of folder.settled) versions.set(name, [node]);
  for (const { name, node } of folder.changes) {
    const known = versions.get(name) ?? [null];
    if (!known.includes(node)) known.push(node);
    versions.set(name, known);
  }
  return versions;
}

type Choice = ReadonlyMap<string, MediumNode | null>;

/** The ways the waiting names may come out: all of them, or the edges where those are too many. */
function* nameChoices(
  folder: FolderNode,
  waiting: readonly (readonly [string, readonly (MediumNode | null)[]])[],
  limit: number,
): Generator<Choice> {
  const counts = waiting.map(([, nodes]) => nodes.length);
  if (counts.reduce((left, right) => left * right, 1) <= limit) {
    for (const chosen of combinations(counts, limit)) {
      yield new Map(waiting.map(([name, nodes], index) => [name, nodes[chosen[index]!]!]));
    }
    return;
  }
  const { changes } = folder;
  const seen = new Set<string>();
  const choose = (isThere: (index: number) => boolean): Choice | null => {
    const choice = new Map(waiting.map(([name]) => [name, folder.settled.get(name) ?? null]));
    for (const [index, { name, node }] of changes.entries()) if (isThere(index)) choice.set(name, node);
    const key = [...choice.values()].map((node) => node?.id ?? 0).join();
    return seen.has(key) ? null : (seen.add(key), choice);
  };
  for (let edge = 0; edge <= changes.length; edge++) {
    for (
      const isThere of [
        (index: number) => index < edge,
        (index: number) => index !== edge,
        (index: number) => index === edge,
      ]
    ) {
      const choice = choose(isThere);
      if (choice !== null) yield choice;
    }
  }
}

/** Makes the folder with the number `index`. Everything in it is durable. */
function makeFolder(space: FolderSpace, index: number, path: string, notes: Notes): FolderNode {
  let rest = index;
  let vector = space.vectors[0]!;
  for (vector of space.vectors) {
    if (rest < vector.count) break;
    rest -= vector.count;
  }
  for (const name of vector.kept) noteName(notes, `${path}${name}`, false);
  for (const name of vector.lost) noteName(notes, `${path}${name}`, true);
  const entries = new Map<string, MediumNode>();
  for (const [name, child] of vector.children) {
    const chosen = rest % child.count;
    rest = Math.floor(rest / child.count);
    if (child.kind === "folder") {
      entries.set(name, makeFolder(child, chosen, `${path}${name}/`, notes));
      continue;
    }
    const outcome = child.outcomes[chosen]!;
    if (!child.isClean) {
      notes.lines.push(() => `"${path}${name}": ${outcome === null ? "not published" : outcome.describe()}`);
    }
    if (outcome !== null) entries.set(name, new FileNode(child.id, outcome.content));
  }
  return new FolderNode(space.id, entries);
}

function noteName({ lines, lost }: Notes, name: string, isLost: boolean): void {
  lines.push(() => `name "${name}" ${isLost ? "lost" : "there"}`);
  if (isLost) lost.push(name);
}

/** One state drawn from all there are, also from those the bounds leave out. */
export function drawState(root: FolderNode, options: SpaceOptions, draws: Draws): MadeState {
  const notes: Notes = { lines: [], lost: [] };
  return { root: drawFolder(root, "", options, draws, notes), ...notes };
}

function drawFolder(
  folder: FolderNode,
  path: string,
  options: SpaceOptions,
  draws: Draws,
  notes: Notes,
): FolderNode {
  const entries = new Map<string, MediumNode>();
  for (const [name, nodes] of versionsOf(folder)) {
    const node = nodes[nodes.length > 1 ? draws.below(nodes.length) : 0] ?? null;
    if (nodes.length > 1) noteName(notes, `${path}${name}`, node === null);
    if (node === null) continue;
    if (node.kind === "folder") {
      entries.set(name, drawFolder(node, `${path}${name}/`, options, draws, notes));
      continue;
    }
    const outcome = drawFileOutcome(node, options.bounds, draws);
    const isPublished = options.isPublished(outcome.content);
    if (!node.isClean) {
      notes.lines.push(() => `"${path}${name}": ${isPublished ? outcome.describe() : "not published"}`);
    }
    if (isPublished) entries.set(name, new FileNode(node.id, outcome.content));
  }
  return new FolderNode(folder.id, entries);
}
