/**
 * The one thing Deno and Node do differently: `flock(2)`.
 *
 * It is the kernel's lock, so it ends with the process, and it is the lock the `flock` command and DeepSeek Harness take.
 *
 * @see man 2 flock
 * @module
 */

import process from "node:process";
import { attempt } from "./errno.ts";
import type { Guard, KernelLock } from "./guard.ts";
import { denoKernelLock } from "./lock_deno.ts";
import { nodeKernelLock } from "./lock_node.ts";

/**
 * Pauses between tries, in ms. Whoever only looks holds a shared lock for an instant, and a program that Deno is just starting
 * holds copies of our descriptors until its `exec`, a few ms after the start was reported. Neither may look like an owner.
 */
const TRY_PAUSES_MS = [0, 2, 8, 20] as const;

/**
 * The kernel lock of this runtime; on Windows one that cannot be used and says so.
 *
 * @example
 * ```ts
 * import { systemKernelLock } from "./kernel_lock.ts";
 *
 * console.log(systemKernelLock().unusable ?? "files can be locked here");
 * ```
 */
export function systemKernelLock(): KernelLock {
  if (process.platform === "win32") return windowsKernelLock;
  return "Deno" in globalThis ? denoKernelLock : nodeKernelLock;
}

/** Takes the lock, or returns `null` when it is held, and not merely looked at. */
export async function acquireGuard(kernel: KernelLock, path: string, what: string): Promise<Guard | null> {
  for (const pauseMs of TRY_PAUSES_MS) {
    const guard = attempt(what, () => kernel.acquire(path));
    if (guard !== null) return guard;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return attempt(what, () => kernel.acquire(path));
}

const windowsKernelLock: KernelLock = {
  unusable: "this adapter only reads on Windows, where it has no lock to write under",
  acquire: () => null,
  probe: () => false,
};
