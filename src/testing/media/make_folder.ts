/**
 * Making folders on a simulated medium.
 *
 * @module
 */

import { StorageLostError } from "../../../mod.ts";
import { FolderNode } from "./nodes.ts";
import type { SimulatedStorage } from "./simulated_storage.ts";

/** Walks down to a folder and makes what is missing, each an operation of its own. Nothing of it is durable yet. */
export function makeFolder({ disk, process }: SimulatedStorage, parts: readonly string[], what: string): FolderNode {
  let folder = disk.root;
  let path = "";
  for (const part of parts) {
    path += `${part}/`;
    let next = folder.written.get(part);
    if (next === undefined) {
      const [parent, made] = [folder, new FolderNode(disk.nextId())];
      disk.run(process, "mkdir", path, what, () => parent.set(part, made));
      next = made;
    }
    if (next.kind === "file") throw new StorageLostError(`Cannot ${what}: "${path}" is a file, not a folder`);
    folder = next;
  }
  return folder;
}
