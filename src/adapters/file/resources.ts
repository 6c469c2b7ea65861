/**
 * What one storage has open: its locks, files and stages, and the one tree they lie in.
 *
 * @module
 */

import { SessionClosedError } from "../../errors.ts";
import { refusal } from "./errno.ts";
import type { FileSystem } from "./file_system.ts";
import type { KernelLock } from "./guard.ts";
import type { Tree } from "./tree.ts";

/** Something that ends with the storage, at the latest. */
export interface Closable {
  close(): unknown;
}

/** The open things of one storage. Each guarded file is here from the moment its guard is taken until it is given back. */
export class FileResources {
  readonly tree: Tree;
  readonly fs: FileSystem;
  readonly kernel: KernelLock;
  /** How a name was published last. */
  publishedBy: "link" | "claim" = "link";
  /**
   * Open files whose appended bytes wait for a sync, or are being synced. When there are others, a sync that blocked the thread
   * would keep them waiting in turn.
   */
  readonly unsynced: Set<Closable> = new Set();
  readonly #open = new Set<Closable>();
  readonly #guarded = new Set<string>();
  #isClosed = false;

  /** Syncs on another thread; `null` when every sync is to block. */
  readonly syncElsewhere: ((descriptor: number) => Promise<void>) | null;

  constructor(
    tree: Tree,
    kernel: KernelLock,
    syncElsewhere: ((descriptor: number) => Promise<void>) | null = null,
  ) {
    this.syncElsewhere = syncElsewhere;
    this.tree = tree;
    this.fs = tree.fs;
    this.kernel = kernel;
  }

  add(resource: Closable, identity: string): void {
    this.#open.add(resource);
    this.#guarded.add(identity);
  }

  delete(resource: Closable, identity: string): void {
    this.#open.delete(resource);
    this.unsynced.delete(resource);
    this.#guarded.delete(identity);
  }

  /** Whether the guard of this file is ours. */
  isGuarded(identity: string): boolean {
    return this.#guarded.has(identity);
  }

  checkOpen(what: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${what}: the storage is closed`);
  }

  /** Closes everything, also when one of them cannot be closed well. Harmless when done twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = await Promise.allSettled([...this.#open].map(async (resource) => await resource.close()));
    const failed = closed.find((result) => result.status === "rejected");
    if (failed !== undefined) throw refusal(failed.reason, "close the storage");
  }
}
