/**
 * Files and folders of a simulated medium: what every process sees, what a power cut leaves for certain, and what lies between.
 *
 * @module
 */

import { Content, sameBytes } from "./content.ts";

/** Who keeps a file for itself: a live process, or one that is dead and not yet noticed. */
export interface Holder {
  /** The process; `null` for the ghost of a dead one. */
  readonly process: object | null;
  /** How many more tries a ghost refuses. */
  triesLeft: number;
}

/** A change of a file that no sync has taken to the device. The file's content after it is kept, which costs next to nothing. */
export interface FileChange {
  readonly kind: "write" | "truncate";
  /** For a write, where it starts; for a truncate, the new length. */
  readonly offsetBytes: number;
  /** For a write, how many bytes; for a truncate 0. */
  readonly sizeBytes: number;
  readonly before: Content;
  readonly after: Content;
}

/** What nobody knows after a sync that failed: blocks and lengths that may have reached the device, or not. */
export interface Doubt {
  /** What was dropped, in order, until a later sync works: it may have been done up to any point. */
  dropped: FileChange[];
  /** By block: contents that may stand there as well as that of {@linkcode FileNode.settled}. */
  readonly blocks: Map<number, Content[]>;
  /** Lengths the file may have as well. */
  readonly sizes: Set<number>;
}

/** A file behind its name, as an inode is. */
export class FileNode {
  readonly kind = "file";
  readonly id: number;
  /** What every process reads. */
  written: Content;
  /** What is on the device for certain, apart from `doubt`. */
  settled: Content;
  /** What was done since, oldest first. */
  changes: FileChange[] = [];
  doubt: Doubt | null = null;
  /** The kernel's lock on it, or its exclusive handle. */
  holder: Holder | null = null;
  /** Counts every write; part of the revision. */
  writes = 0;

  /** A file with this content, all of it durable. */
  constructor(id: number, content: Content = Content.EMPTY) {
    this.id = id;
    this.written = content;
    this.settled = content;
  }

  /** Whether a power cut leaves exactly what is read now. */
  get isClean(): boolean {
    return this.changes.length === 0 && this.doubt === null;
  }

  write(offsetBytes: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const before = this.written;
    this.written = before.write(offsetBytes, bytes);
    this.changes.push({ kind: "write", offsetBytes, sizeBytes: bytes.length, before, after: this.written });
    this.writes++;
  }

  truncate(sizeBytes: number): void {
    const before = this.written;
    if (sizeBytes === before.sizeBytes) return;
    this.written = before.resize(sizeBytes);
    this.changes.push({ kind: "truncate", offsetBytes: sizeBytes, sizeBytes: 0, before, after: this.written });
    this.writes++;
  }

  /** A sync that worked: every block and length changed since the last one is durable. What an earlier one dropped is not. */
  settle(blockBytes: number): void {
    if (this.changes.length === 0) return;
    if (this.doubt !== null) this.#settleWithDoubt(this.doubt, blockBytes);
    else this.settled = this.written;
    this.changes = [];
  }

  /** A sync that failed and dropped what waited: it may be on the device or not, and no later sync writes it. */
  drop(blockBytes: number): void {
    if (this.changes.length === 0) return;
    const doubt: Doubt = this.doubt ??= { dropped: [], blocks: new Map(), sizes: new Set() };
    doubt.dropped.push(...this.changes);
    for (const change of this.changes) {
      for (const sizeBytes of sizesOf(change, blockBytes)) doubt.sizes.add(sizeBytes);
      for (const block of touchedBlocks(change, blockBytes)) {
        const versions = doubt.blocks.get(block) ?? [];
        versions.push(change.after);
        doubt.blocks.set(block, versions);
      }
    }
    this.changes = [];
  }

  /** Everything there is, as if it were written to another device: the same cache, the same waiting changes, no holder. */
  copy(): FileNode {
    const copy = new FileNode(this.id, this.settled);
    copy.written = this.written;
    copy.writes = this.writes;
    copy.changes = [...this.changes];
    if (this.doubt !== null) {
      const blocks = [...this.doubt.blocks].map(([block, versions]) => [block, [...versions]] as [number, Content[]]);
      copy.doubt = { dropped: [...this.doubt.dropped], blocks: new Map(blocks), sizes: new Set(this.doubt.sizes) };
    }
    return copy;
  }

  /** A block that was written again is written whole, so of those nothing is in doubt any more; nor is a new length. */
  #settleWithDoubt(doubt: Doubt, blockBytes: number): void {
    const isResized = this.changes.some(({ before, after }) => before.sizeBytes !== after.sizeBytes);
    const sizeBytes = isResized ? this.written.sizeBytes : this.settled.sizeBytes;
    let settled = this.settled.resize(sizeBytes);
    for (const block of new Set(this.changes.flatMap((change) => touchedBlocks(change, blockBytes)))) {
      const startBytes = block * blockBytes;
      const endBytes = Math.min(startBytes + blockBytes, sizeBytes);
      if (startBytes < endBytes) settled = settled.write(startBytes, this.written.block(startBytes, endBytes));
      doubt.blocks.delete(block);
    }
    if (isResized) {
      doubt.sizes.clear();
      for (const block of doubt.blocks.keys()) if (block * blockBytes >= sizeBytes) doubt.blocks.delete(block);
    }
    doubt.dropped = [];
    this.settled = settled;
    if (doubt.blocks.size > 0 || doubt.sizes.size > 0) return;
    this.settled = this.written;
    this.doubt = null;
  }
}

/** A name that came (`node`) or went (`null`), and that no sync has taken to the device. */
export interface NameChange {
  readonly name: string;
  readonly node: MediumNode | null;
}

/** A folder behind its name. */
export class FolderNode {
  readonly kind = "folder";
  readonly id: number;
  /** What every process sees. Never changed, only replaced, as `settled` is. */
  written: ReadonlyMap<string, MediumNode>;
  /** The names that are on the device for certain. */
  settled: ReadonlyMap<string, MediumNode>;
  /** What came and went since, oldest first. */
  changes: NameChange[] = [];

  /** A folder with these names, all of them durable. */
  constructor(id: number, entries: ReadonlyMap<string, MediumNode> = new Map()) {
    this.id = id;
    this.written = entries;
    this.settled = entries;
  }

  set(name: string, node: MediumNode): void {
    this.#change({ name, node });
  }

  remove(name: string): void {
    this.#change({ name, node: null });
  }

  /** Takes a name away, durably and at once, whatever became of it before. The other names go on waiting. */
  erase(name: string): void {
    this.remove(name);
    this.changes = this.changes.filter((change) => change.name !== name);
    this.settled = new Map([...this.settled].filter(([other]) => other !== name));
  }

  /** All names are durable as they are now. */
  settle(): void {
    this.settled = this.written;
    this.changes = [];
  }

  /** The folder with all below it, as {@linkcode FileNode.copy} copies a file. */
  copy(copies: Map<MediumNode, MediumNode> = new Map()): FolderNode {
    const copyOf = (node: MediumNode): MediumNode => {
      const known = copies.get(node);
      if (known !== undefined) return known;
      const copy = node.kind === "file" ? node.copy() : node.copy(copies);
      copies.set(node, copy);
      return copy;
    };
    const copy = new FolderNode(this.id, new Map([...this.settled].map(([name, node]) => [name, copyOf(node)])));
    copy.written = new Map([...this.written].map(([name, node]) => [name, copyOf(node)]));
    copy.changes = this.changes.map(({ name, node }) => ({ name, node: node && copyOf(node) }));
    return copy;
  }

  #change(change: NameChange): void {
    const written = new Map(this.written);
    if (change.node === null) written.delete(change.name);
    else written.set(change.name, change.node);
    this.written = written;
    this.changes.push(change);
  }
}

/** A file or a folder. */
export type MediumNode = FileNode | FolderNode;

/** The blocks a change may alter on the device, ascending. Of a truncate only the one that is cut: those above are gone. */
export function touchedBlocks(change: FileChange, blockBytes: number): number[] {
  const { kind, offsetBytes, sizeBytes } = change;
  if (kind === "truncate") return offsetBytes % blockBytes === 0 ? [] : [Math.floor(offsetBytes / blockBytes)];
  const first = Math.floor(offsetBytes / blockBytes);
  const last = Math.floor((offsetBytes + sizeBytes - 1) / blockBytes);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** The lengths a change may bring: the one it ends with, and the blocks' edges that a growing file passes. */
export function sizesOf(change: FileChange, blockBytes: number): number[] {
  const { before, after } = change;
  const edges = touchedBlocks(change, blockBytes).map((block) => block * blockBytes);
  return [...edges.filter((edge) => edge > before.sizeBytes && edge < after.sizeBytes), after.sizeBytes];
}

/** Whether two versions of a block agree up to `endBytes`. */
export function sameBlock(left: Content, right: Content, startBytes: number, endBytes: number): boolean {
  return left === right || sameBytes(left.block(startBytes, endBytes), right.block(startBytes, endBytes));
}
