/**
 * What happens to a medium without an operation of ours: a program that ignores our locks, and time.
 *
 * @module
 */

import { nameParts } from "../../../mod.ts";
import { Content } from "./content.ts";
import type { SimulatedDisk } from "./disk.ts";
import { FileNode, FolderNode } from "./nodes.ts";
import { findFolder, lookUp } from "./tree.ts";

/** What a program that ignores our locks can do. */
export interface MediumStranger {
  /** Puts a new file in place of whatever had the name. */
  write(name: string, bytes: Uint8Array): void;
  /** Appends to the file that is there. */
  append(name: string, bytes: Uint8Array): void;
  /** Removes a name, whoever has it open. */
  remove(name: string): void;
}

/** A stranger on this disk. */
export function strangerOn(disk: SimulatedDisk): MediumStranger {
  const change = (act: () => void) => {
    act();
    disk.disturbances++;
    writeBack(disk.root, disk.bounds.blockBytes);
  };
  return {
    write: (name, bytes) => change(() => place(disk, name, bytes)),
    append: (name, bytes) =>
      change(() => {
        const node = lookUp(disk.root, name);
        if (node?.kind !== "file") throw new TypeError(`Cannot append to "${name}" as a stranger: it is not there`);
        node.write(node.written.sizeBytes, bytes);
      }),
    remove: (name) =>
      change(() => {
        const parts = nameParts(name);
        findFolder(disk.root, parts.slice(0, -1), `remove "${name}"`)?.remove(parts.at(-1)!);
      }),
  };
}

/** Puts a file under a name, durably, with the folders that lead to it. */
export function place(disk: SimulatedDisk, name: string, bytes: Uint8Array): void {
  const parts = nameParts(name);
  let folder = disk.root;
  for (const part of parts.slice(0, -1)) {
    let next = folder.written.get(part);
    if (next === undefined) folder.set(part, next = new FolderNode(disk.nextId()));
    folder.settle();
    if (next.kind === "file") throw new TypeError(`Cannot place "${name}": "${part}" is a file`);
    folder = next;
  }
  folder.set(parts.at(-1)!, new FileNode(disk.nextId(), Content.of(bytes)));
  folder.settle();
}

/** Everything in and below a folder is durable, as after a while by itself. What was dropped is not. */
export function writeBack(folder: FolderNode, blockBytes: number): void {
  folder.settle();
  for (const node of folder.written.values()) {
    if (node.kind === "folder") writeBack(node, blockBytes);
    else node.settle(blockBytes);
  }
}
