/**
 * Removing a file, or a folder with all that is in it.
 *
 * @module
 */

import { LockHeldError, StorageLostError } from "../../errors.ts";
import { HANDLE_PAUSE_MS_MAX, HANDLE_PAUSE_MS_MIN, HANDLE_WAIT_MS_MAX } from "./handle_pool.ts";
import type { HeldLock } from "./held_lock.ts";
import type { FolderHandle } from "./platform.ts";
import { isInUse, isMissing, isOtherKind } from "./refusal.ts";
import type { OpfsResources } from "./resources.ts";
import { storedPart } from "./stored_names.ts";

/** Removes a file, unless a live writer has it. What is not there is no error. */
export async function removeFile(
  resources: OpfsResources,
  lock: HeldLock,
  name: string,
  parts: readonly string[],
  what: string,
): Promise<void> {
  const found = await resources.tree.findFile(parts, what);
  if (found === null) return;
  await resources.occupied.get(name)?.removed();
  await removeEntry(resources, found.folder, storedPart(parts.at(-1) ?? ""), false, what);
  lock.seen.delete(name);
  if (name === lock.name) lock.removed();
}

/**
 * Removes a folder with everything in it, at once. That its lock file goes with the rest in any order does no harm: it is the
 * Web Lock that keeps others out.
 */
export async function removeFolder(
  resources: OpfsResources,
  lock: HeldLock,
  name: string,
  parts: readonly string[],
  what: string,
): Promise<void> {
  const parent = await resources.tree.findFolder(parts.slice(0, -1), what);
  if (parent === null || !await isFolder(resources, parent, storedPart(parts.at(-1) ?? ""), what)) return;
  for (const [occupied, occupant] of [...resources.occupied]) {
    if (occupied.startsWith(name)) await occupant.removed();
  }
  await removeEntry(resources, parent, storedPart(parts.at(-1) ?? ""), true, what);
  resources.tree.forget();
  for (const seen of [...lock.seen]) if (seen.startsWith(name)) lock.seen.delete(seen);
  if (lock.name.startsWith(name)) lock.removed();
}

async function isFolder(resources: OpfsResources, parent: FolderHandle, stored: string, what: string) {
  try {
    await parent.getDirectoryHandle(stored);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    if (!isOtherKind(error)) throw await resources.refusal(error, what);
    throw new StorageLostError(`Cannot ${what}: it is not a folder`, { cause: error });
  }
}

/** A browser may need a moment to free what a worker that died had. */
async function removeEntry(
  resources: OpfsResources,
  folder: FolderHandle,
  stored: string,
  recursive: boolean,
  what: string,
): Promise<void> {
  let leftMs = HANDLE_WAIT_MS_MAX;
  for (let pauseMs = HANDLE_PAUSE_MS_MIN;; pauseMs = Math.min(HANDLE_PAUSE_MS_MAX, 2 * pauseMs)) {
    try {
      return await folder.removeEntry(stored, { recursive });
    } catch (error) {
      if (isMissing(error)) return;
      if (!isInUse(error)) throw await resources.refusal(error, what);
      if (leftMs <= 0) throw new LockHeldError(`Cannot ${what}: a live writer holds it`, { cause: error });
    }
    const delayMs = Math.min(pauseMs, leftMs);
    await resources.platform.delay(delayMs);
    leftMs -= delayMs;
  }
}
