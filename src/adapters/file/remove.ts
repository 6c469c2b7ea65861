/**
 * Removing a file, or a folder with all that is in it.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { LockHeldError } from "../../errors.ts";
import { attempt, codeOf, isMissing, refusal } from "./errno.ts";
import { identityOf } from "./file_system.ts";
import type { FileResources } from "./resources.ts";

/** Removes a file, unless a live writer has it. What is not there is no error. */
export function removeFile(resources: FileResources, path: string, what: string): void {
  if (resources.tree.statFile(path, what) === null) return;
  checkUnheld(resources, path, what);
  removeName(resources, path, what);
}

/**
 * Removes a folder with everything in it, links themselves and not what they lead to; `lockPath` goes last, so that nobody
 * else starts to write in a folder that is about to go.
 */
export function removeFolder(resources: FileResources, folderPath: string, lockPath: string, what: string): void {
  const paths = everythingIn(resources, folderPath, what);
  for (const { path, isFile } of paths) if (isFile) checkUnheld(resources, path, what);
  for (const { path, isFolder } of paths) {
    if (path === lockPath) continue;
    if (isFolder) removeEmptyFolder(resources, path, what);
    else removeName(resources, path, what);
  }
  if (dirname(lockPath) === folderPath) removeName(resources, lockPath, what);
  removeEmptyFolder(resources, folderPath, what);
}

interface Found {
  readonly path: string;
  readonly isFile: boolean;
  readonly isFolder: boolean;
}

/** All paths below a folder, each folder after what is in it. */
function everythingIn(resources: FileResources, folderPath: string, what: string): Found[] {
  const entries = attempt(what, () => resources.fs.readdirSync(folderPath, { withFileTypes: true }));
  return entries.flatMap((entry) => {
    const path = join(folderPath, entry.name);
    const found = { path, isFile: entry.isFile(), isFolder: entry.isDirectory() };
    return found.isFolder ? [...everythingIn(resources, path, what), found] : [found];
  });
}

function checkUnheld(resources: FileResources, path: string, what: string): void {
  const stat = resources.tree.stat(path, what);
  if (stat === null || resources.isGuarded(identityOf(stat))) return;
  let isHeld: boolean;
  try {
    isHeld = resources.kernel.probe(path);
  } catch (error) {
    if (isMissing(error)) return;
    throw refusal(error, what);
  }
  if (isHeld) throw new LockHeldError(`Cannot ${what}: a live writer holds "${path}"`);
}

function removeName({ fs }: FileResources, path: string, what: string): void {
  try {
    fs.unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw refusal(error, what);
  }
}

/** A folder that is not empty any more has a new owner, who came when the lock file was gone. */
function removeEmptyFolder({ fs }: FileResources, path: string, what: string): void {
  try {
    fs.rmdirSync(path);
  } catch (error) {
    if (!isMissing(error) && codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "EEXIST") throw refusal(error, what);
  }
}
