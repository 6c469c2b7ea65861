/**
 * Walking the tree of a simulated medium.
 *
 * @module
 */

import { StorageLostError } from "../../../mod.ts";
import type { Content } from "./content.ts";
import type { FileNode, FolderNode, MediumNode } from "./nodes.ts";

/** A promise of what `act` returns, or rejected with what it throws: as every verb of a port answers, and with no turn lost. */
export function answer<Result>(act: () => Result): Promise<Result> {
  try {
    return Promise.resolve(act());
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The folder of these parts, `null` when there is none. */
export function findFolder(root: FolderNode, parts: readonly string[], what: string): FolderNode | null {
  let folder = root;
  for (const part of parts) {
    const node = folder.written.get(part);
    if (node === undefined) return null;
    if (node.kind === "file") throw new StorageLostError(`Cannot ${what}: "${part}" is a file, not a folder`);
    folder = node;
  }
  return folder;
}

/** The file of these parts and the folder it lies in; `file` is `null` when there is none, `folder` when there is no folder. */
export function findFile(
  root: FolderNode,
  parts: readonly string[],
  what: string,
): { readonly folder: FolderNode | null; readonly file: FileNode | null } {
  const folder = findFolder(root, parts.slice(0, -1), what);
  const node = folder?.written.get(parts.at(-1)!) ?? null;
  if (node?.kind === "folder") throw new StorageLostError(`Cannot ${what}: it is a folder`);
  return { folder, file: node };
}

/** What a name leads to, `null` for nothing. Never throws. */
export function lookUp(root: FolderNode, name: string): MediumNode | null {
  let node: MediumNode | undefined = root;
  for (const part of name.split("/")) {
    if (node?.kind !== "folder") return null;
    node = node.written.get(part);
  }
  return node ?? null;
}

/** Every file below a folder with its whole name, as processes see it. */
export function* filesBelow(folder: FolderNode, path = ""): Generator<readonly [name: string, file: FileNode]> {
  for (const [name, node] of folder.written) {
    if (node.kind === "file") yield [path + name, node];
    else yield* filesBelow(node, `${path}${name}/`);
  }
}

/** Files by name, as bytes that must not be changed. */
export function imageOf(root: FolderNode, isPublished: (content: Content) => boolean): Map<string, Uint8Array> {
  const image = new Map<string, Uint8Array>();
  for (const [name, file] of filesBelow(root)) if (isPublished(file.written)) image.set(name, file.written.view);
  return image;
}

/** A text that two trees share when they hold the same names and bytes, empty folders included. */
export function keyOfTree(folder: FolderNode): string {
  const parts: string[] = [];
  for (const [name, node] of folder.written) {
    parts.push(node.kind === "file" ? `${name}=${node.written.digest}` : `${name}/{${keyOfTree(node)}}`);
  }
  return parts.sort().join("|");
}
