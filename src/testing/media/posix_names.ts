/**
 * Making names durable on a POSIX-like medium.
 *
 * @module
 */

import { StorageLostError } from "../../../mod.ts";
import type { SimulatedStorage } from "./simulated_storage.ts";
import { findFolder } from "./tree.ts";

/** Syncs the names in a folder, and those of the folders that lead to it, unless this process did that before. */
export function syncNames(storage: SimulatedStorage, parts: readonly string[], what: string): void {
  const { disk, process: { syncedFolders } } = storage;
  syncFolder(storage, parts, what);
  for (let depth = parts.length; depth > 0; depth--) {
    const folder = findFolder(disk.root, parts.slice(0, depth), what);
    if (folder === null || syncedFolders.has(folder.id)) continue;
    syncFolder(storage, parts.slice(0, depth - 1), what);
    syncedFolders.add(folder.id);
  }
}

function syncFolder({ disk, process }: SimulatedStorage, parts: readonly string[], what: string): void {
  const folder = findFolder(disk.root, parts, what);
  if (folder === null) throw new StorageLostError(`Cannot ${what}: its folder is not there any more`);
  const name = parts.map((part) => `${part}/`).join("");
  disk.run(process, "sync-folder", name, what, () => folder.settle());
}
