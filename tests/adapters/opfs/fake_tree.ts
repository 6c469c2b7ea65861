/**
 * The files and folders behind a fake origin, and what a crash leaves of them.
 *
 * @module
 */

import { GrowableBytes } from "../../../src/adapters/memory/growable_bytes.ts";

/** A file, with what of it is on the device. */
export interface FakeFile {
  readonly kind: "file";
  written: GrowableBytes;
  durable: Uint8Array<ArrayBuffer>;
  /** Changes that no flush has taken to the device, in order. */
  waiting: ({ readonly at: number; readonly bytes: Uint8Array<ArrayBuffer> } | { readonly sizeBytes: number })[];
  /** The worker that has its handle; compared by identity. */
  holder: object | null;
  changes: number;
  /** Taken out of the tree while somebody may still hold it. */
  isGone: boolean;
}

/** A folder. */
export interface FakeFolder {
  readonly kind: "directory";
  readonly entries: Map<string, FakeFile | FakeFolder>;
}

/** What a crash leaves of what was not flushed: all, nothing, the first half of the bytes, or the last write alone. */
export type Unflushed = "kept" | "dropped" | "prefix" | "last";

/** A file of no bytes. */
export function freshFile(): FakeFile {
  return {
    kind: "file",
    written: new GrowableBytes(),
    durable: new Uint8Array(0),
    waiting: [],
    holder: null,
    changes: 1,
    isGone: false,
  };
}

/** How many bytes all files below a folder have. */
export function bytesIn(folder: FakeFolder): number {
  let sizeBytes = 0;
  for (const entry of folder.entries.values()) {
    sizeBytes += entry.kind === "file" ? entry.written.sizeBytes : bytesIn(entry);
  }
  return sizeBytes;
}

/** Whether somebody has a handle of the file, or of one in the folder. */
export function isHeld(entry: FakeFile | FakeFolder): boolean {
  return entry.kind === "file" ? entry.holder !== null : [...entry.entries.values()].some(isHeld);
}

/** Removes what is in a folder, entry by entry, each after what is in it. */
export function removalsOf(folder: FakeFolder): (() => void)[] {
  return [...folder.entries].flatMap(([name, entry]) => {
    const own = () => {
      if (entry.kind === "file") entry.isGone = true;
      folder.entries.delete(name);
    };
    return entry.kind === "file" ? [own] : [...removalsOf(entry), own];
  });
}

/** What a crash leaves. */
export function copyOf(folder: FakeFolder, unflushed: Unflushed): FakeFolder {
  const entries = new Map<string, FakeFile | FakeFolder>();
  for (const [name, entry] of folder.entries) {
    entries.set(name, entry.kind === "file" ? copyOfFile(entry, unflushed) : copyOf(entry, unflushed));
  }
  return { kind: "directory", entries };
}

function copyOfFile(node: FakeFile, unflushed: Unflushed): FakeFile {
  const copy = freshFile();
  const left = new GrowableBytes(node.durable);
  const { waiting } = node;
  const steps = { kept: waiting, dropped: [], prefix: firstHalf(waiting), last: waiting.slice(-1) }[unflushed];
  for (const step of steps) "bytes" in step ? left.write(step.at, step.bytes) : left.truncate(step.sizeBytes);
  copy.written = left;
  copy.durable = left.slice();
  return copy;
}

/** The first half of the bytes that wait, in order. */
function firstHalf(waiting: FakeFile["waiting"]): FakeFile["waiting"] {
  const total = waiting.reduce((sum, step) => sum + ("bytes" in step ? step.bytes.length : 1), 0);
  let left = Math.floor(total / 2);
  const half: FakeFile["waiting"] = [];
  for (const step of waiting) {
    if (left <= 0) break;
    half.push("bytes" in step ? { at: step.at, bytes: step.bytes.slice(0, left) } : step);
    left -= "bytes" in step ? step.bytes.length : 1;
  }
  return half;
}
