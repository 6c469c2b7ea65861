/**
 * Taking away what dead writers left: staging files, and claims that never got their first byte.
 *
 * @module
 */

import { join } from "node:path";
import { removeDeadClaim } from "./claim.ts";
import { attempt, isMissing, refusal } from "./errno.ts";
import { identityOf } from "./file_system.ts";
import type { Guard } from "./guard.ts";
import type { FileResources } from "./resources.ts";
import { parseStagingName } from "./staging_names.ts";

/**
 * Removes every staging file in a folder whose writer is dead. A living writer, whose lock file was deleted under it, still
 * holds its stage, so that stays.
 */
export function sweepOrphans(resources: FileResources, folderPath: string, what: string): void {
  const { fs } = resources;
  for (const entry of attempt(what, () => fs.readdirSync(folderPath, { withFileTypes: true }))) {
    if (!entry.isFile() || parseStagingName(entry.name) === null) continue;
    sweepOne(resources, join(folderPath, entry.name), what);
  }
}

function sweepOne({ fs, kernel, tree }: FileResources, path: string, what: string): void {
  let guard: Guard | null = null;
  try {
    guard = kernel.acquire(path);
  } catch (error) {
    if (!isMissing(error)) throw refusal(error, what);
  }
  if (guard === null) return;
  try {
    const stat = tree.stat(path, what);
    if (stat === null || identityOf(stat) !== guard.identity) return;
    removeDeadClaim(fs, kernel, path, what);
    attempt(what, () => fs.unlinkSync(path));
  } finally {
    guard.release();
  }
}
