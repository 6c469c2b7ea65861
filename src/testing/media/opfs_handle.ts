/**
 * Exclusive handles on an OPFS-like medium.
 *
 * @module
 */

import { LockHeldError } from "../../../mod.ts";
import type { FileNode, Holder } from "./nodes.ts";
import type { SimulatedStorage } from "./simulated_storage.ts";

/** How often a handle is asked for before it counts as held: 2 seconds with pauses of 4 to 256 ms, each twice the last. */
export const HANDLE_TRIES = 14;

/**
 * Opens the exclusive handle of a file, as patiently as the adapter.
 *
 * @throws {LockHeldError} when somebody has it
 */
export function openHandle({ disk, process }: SimulatedStorage, name: string, file: FileNode, what: string): Holder {
  for (let tries = 1;; tries++) {
    let holder: Holder | null = null;
    try {
      disk.run(process, "open-handle", name, what, () => holder = disk.hold(process, file));
    } catch (error) {
      if (!(error instanceof LockHeldError) || tries >= HANDLE_TRIES) throw error;
      continue;
    }
    if (holder !== null) return holder;
    // A live holder stays: nobody else runs while we wait.
    const isAlive = file.holder !== null && file.holder.process !== null;
    if (isAlive || tries >= HANDLE_TRIES) throw new LockHeldError(`Cannot ${what}: a live writer holds the file`);
  }
}
