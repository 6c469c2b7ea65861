/**
 * The lock of one session among the tabs: taken, waited for, given back.
 *
 * @module
 */
import type { HeldTabLock, TabLocks } from "./platform.ts";

/** One tab's hold on it, or its place in the line. Never both. */
export class TabLock {
  readonly #locks: TabLocks;
  readonly #name: string;
  #held: HeldTabLock | null = null;
  #line: AbortController | null = null;

  constructor(locks: TabLocks, sessionId: string) {
    this.#locks = locks;
    this.#name = `holdfast-tab:${sessionId}`;
  }

  /** Takes it when nobody has it. Returns whether it is held. */
  async tryTake(): Promise<boolean> {
    this.#held ??= await this.#locks.tryTake(this.#name);
    return this.#held !== null;
  }

  /**
   * Stands in line. `granted` is called when the lock is held, unless the line was left before.
   *
   * @param settle is waited for between the grant and the call; who leaves the line meanwhile gives the lock back
   */
  async standInLine(granted: () => void, settle: () => Promise<void>): Promise<void> {
    const line = new AbortController();
    this.#line = line;
    let lock: HeldTabLock;
    try {
      lock = await this.#locks.take(this.#name, line.signal);
    } catch {
      return; // Left the line.
    }
    await settle();
    if (line.signal.aborted) return lock.release();
    this.#line = null;
    this.#held = lock;
    granted();
  }

  leaveLine(): void {
    this.#line?.abort();
    this.#line = null;
  }

  giveBack(): void {
    this.#held?.release();
    this.#held = null;
  }
}
