/**
 * Whoever watches an agent session: a terminal, a page, a test.
 *
 * @module
 */
import type { LiveEvent } from "./loop.ts";

/** How many watchers one agent session may have. */
export const WATCHERS_MAX = 256;

/**
 * Those who watch. None of them can harm the loop: what one throws, or rejects with, is ignored.
 *
 * @example
 * ```ts
 * import { Watchers } from "./watchers.ts";
 *
 * const watchers = new Watchers();
 * let told = 0;
 * const stop = watchers.add(() => told++);
 * watchers.tell({ kind: "status", status: "running" });
 * stop();
 * watchers.tell({ kind: "status", status: "idle" });
 * if (told !== 1) throw new Error("unreachable");
 * ```
 */
export class Watchers {
  readonly #watchers = new Set<(live: LiveEvent) => void>();

  /**
   * Adds one.
   *
   * @returns what takes it away
   * @throws {RangeError} when there are WATCHERS_MAX already
   */
  add(watcher: (live: LiveEvent) => void): () => void {
    if (this.#watchers.size >= WATCHERS_MAX) {
      throw new RangeError(`Cannot subscribe: the agent session has ${WATCHERS_MAX} watchers`);
    }
    const subscription = (live: LiveEvent) => watcher(live);
    this.#watchers.add(subscription);
    return () => void this.#watchers.delete(subscription);
  }

  /** Tells all of them, in the order they came. */
  tell(live: LiveEvent): void {
    for (const watcher of [...this.#watchers]) {
      try {
        const answer: unknown = watcher(live);
        if (answer instanceof Promise) answer.catch(() => {});
      } catch {
        // Its own business.
      }
    }
  }
}
