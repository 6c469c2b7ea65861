/**
 * What one storage has open: its locks, files and stages, and what they share.
 *
 * @module
 */

import { SessionClosedError } from "../../errors.ts";
import { HandlePool } from "./handle_pool.ts";
import type { OpfsPlatform } from "./platform.ts";
import { SliceReader } from "./read_slices.ts";
import { refusal } from "./refusal.ts";
import { Tree } from "./tree.ts";

/** Something that ends with the storage, at the latest. */
export interface Closable {
  close(): Promise<void>;
}

/** A file that this storage has open, or is publishing. */
export interface Occupant {
  /** Ends it because its name is removed. */
  removed(): Promise<void>;
}

/** The open things of one storage. */
export class OpfsResources {
  readonly platform: OpfsPlatform;
  readonly tree: Tree;
  readonly reader: SliceReader;
  readonly pool: HandlePool;
  /** Set before the name of each lock, so that two roots of one origin have locks of their own. */
  readonly lockPrefix: string;
  /** Names of files that are open or being published here. */
  readonly occupied = new Map<string, Occupant>();
  /** Stages that are ours and alive, by their stored names. */
  readonly stages = new Set<string>();
  readonly #open = new Set<Closable>();
  #isClosed = false;

  constructor(platform: OpfsPlatform, root: readonly string[]) {
    this.platform = platform;
    this.tree = new Tree(platform, root);
    this.reader = new SliceReader(platform, this.tree);
    this.pool = new HandlePool(platform);
    this.lockPrefix = `holdfast:${root.join("/")}/`;
  }

  add(resource: Closable): void {
    this.#open.add(resource);
  }

  delete(resource: Closable): void {
    this.#open.delete(resource);
  }

  checkOpen(what: string): void {
    if (this.#isClosed) throw new SessionClosedError(`Cannot ${what}: the storage is closed`);
  }

  /** Translates what the browser threw; a caller's mistake stays. */
  async refusal(error: unknown, what: string): Promise<Error> {
    if (error instanceof RangeError || error instanceof TypeError) return error;
    return await refusal(this.platform, error, what);
  }

  /**
   * Closes everything, what was opened last first: whoever waits for a lock then finds its files free. Harmless when done twice,
   * and goes on when one of them cannot be closed well.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const failures: unknown[] = [];
    for (const resource of [...this.#open].reverse()) {
      await resource.close().catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw await this.refusal(failures[0], "close the storage");
  }
}
