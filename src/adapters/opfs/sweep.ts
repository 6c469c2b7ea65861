/**
 * Taking away what dead writers left: staging files, up to the size of a blob each.
 *
 * @module
 */

import type { HeldLock } from "./held_lock.ts";
import type { FolderHandle } from "./platform.ts";
import { isInUse, isMissing } from "./refusal.ts";
import type { OpfsResources } from "./resources.ts";
import { isStageName } from "./stored_names.ts";

/** Removes the staging files in a folder, once for each lock. One that is held has a live writer, and ours are known. */
export async function sweepOnce(
  resources: OpfsResources,
  lock: HeldLock,
  parts: readonly string[],
  folder: FolderHandle,
): Promise<void> {
  const key = parts.join("/");
  if (lock.sweptFolders.has(key)) return;
  const stages: string[] = [];
  for await (const [stored] of folder.entries()) {
    if (isStageName(stored) && !resources.stages.has(stored)) stages.push(stored);
  }
  for (const stored of stages) {
    try {
      await folder.removeEntry(stored);
    } catch (error) {
      if (!isInUse(error) && !isMissing(error)) throw error;
    }
  }
  lock.sweptFolders.add(key);
}
