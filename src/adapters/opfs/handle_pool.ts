/**
 * Sync handles, never more than a few open at once: what was not used for longest is parked when another one is needed.
 *
 * @module
 */

import { LockHeldError } from "../../errors.ts";
import type { FileHandle, OpfsPlatform, SyncHandle } from "./platform.ts";
import { isInUse, isMissing, refusal, syncRefusal } from "./refusal.ts";

/** How many sync handles one storage has open at once, however many files are written. Reading takes none. */
export const SYNC_HANDLES_MAX = 8;

/** The first pause before another try for a handle. Each is twice the last, up to {@linkcode HANDLE_PAUSE_MS_MAX}. */
export const HANDLE_PAUSE_MS_MIN = 4;

/** The longest pause. */
export const HANDLE_PAUSE_MS_MAX = 256;

/**
 * How long a handle is tried for in all. A browser may need a moment to free what a worker that died had; opening a session
 * takes one such handle, so it ends within 3 s.
 */
export const HANDLE_WAIT_MS_MAX = 2000;

/** The handles of one storage. */
export class HandlePool {
  readonly #platform: OpfsPlatform;
  /** Handles that are open or about to be. At most `SYNC_HANDLES_MAX`. */
  #openCount = 0;
  /** Those that may be parked, the one that was used last at the end. */
  readonly #parkable = new Set<PooledHandle>();
  #waiting: (() => void)[] = [];

  constructor(platform: OpfsPlatform) {
    this.#platform = platform;
  }

  /** How many are open now. */
  get openCount(): number {
    return this.#openCount;
  }

  /** What a pooled handle says of its browser. */
  get platform(): OpfsPlatform {
    return this.#platform;
  }

  /**
   * Opens a handle. It cannot be parked before it was used once.
   *
   * @throws {LockHeldError} when somebody has the file, after trying for `HANDLE_WAIT_MS_MAX`
   * @throws {DOMException} `NotFoundError` as it is
   */
  async open(file: FileHandle, what: string): Promise<PooledHandle> {
    return new PooledHandle(this, file, await this.openRaw(file, what));
  }

  /** Opens a handle for a pooled one that was parked. */
  async openRaw(file: FileHandle, what: string): Promise<SyncHandle> {
    await this.#takePlace();
    try {
      return await this.#openPatiently(file, what);
    } catch (error) {
      this.free(null);
      throw error;
    }
  }

  /** A handle was used just now, and may be parked. */
  touch(handle: PooledHandle): void {
    this.#parkable.delete(handle);
    this.#parkable.add(handle);
    this.#wake();
  }

  /** A place is free again. */
  free(handle: PooledHandle | null): void {
    if (handle !== null) this.#parkable.delete(handle);
    this.#openCount--;
    this.#wake();
  }

  async #takePlace(): Promise<void> {
    while (this.#openCount >= SYNC_HANDLES_MAX) {
      const [oldest] = this.#parkable;
      if (oldest === undefined) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      } else {
        this.#parkable.delete(oldest);
        await oldest.park();
      }
    }
    this.#openCount++;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  async #openPatiently(file: FileHandle, what: string): Promise<SyncHandle> {
    let leftMs = HANDLE_WAIT_MS_MAX;
    for (let pauseMs = HANDLE_PAUSE_MS_MIN;; pauseMs = Math.min(HANDLE_PAUSE_MS_MAX, 2 * pauseMs)) {
      try {
        return await file.createSyncAccessHandle();
      } catch (error) {
        if (isMissing(error)) throw error;
        if (!isInUse(error)) throw await refusal(this.#platform, error, what);
        if (leftMs <= 0) throw new LockHeldError(`Cannot ${what}: a live writer holds the file`, { cause: error });
      }
      const delayMs = Math.min(pauseMs, leftMs);
      await this.#platform.delay(delayMs);
      leftMs -= delayMs; // Counted, not measured: the clock may jump.
    }
  }
}

/** A handle of a pool: open, or parked until its next use. */
export class PooledHandle {
  readonly file: FileHandle;
  readonly #pool: HandlePool;
  /** `null` while it is parked. */
  #current: SyncHandle | null;
  #opening: Promise<void> | null = null;
  #isClosed = false;
  /** Whether something was written that no flush has taken to the device yet. */
  isDirty = false;
  /** Whether it must stay open between two uses: while it is a claim, nobody else may find the file free. */
  isPinned = false;
  /** Why parking could not make it durable. */
  #failure: Error | null = null;

  constructor(pool: HandlePool, file: FileHandle, handle: SyncHandle) {
    this.#pool = pool;
    this.file = file;
    this.#current = handle;
  }

  /** The handle, unless it is parked: for a look that is not worth opening it again. */
  get current(): SyncHandle | null {
    return this.#current;
  }

  /**
   * Runs `act` with the handle open. When it is open already, `act` has run before this returns its promise.
   *
   * @throws {SyncFailedError} when it was parked and what was written could not be made durable then
   */
  async use<Result>(what: string, act: (handle: SyncHandle) => Result): Promise<Result> {
    while (this.#current === null && !this.#isClosed) await (this.#opening ??= this.#open(what));
    if (this.#failure !== null) throw this.#failure;
    if (this.#current === null) throw new DOMException("the handle is closed", "InvalidStateError");
    try {
      return act(this.#current);
    } finally {
      if (!this.isPinned && this.#current !== null) this.#pool.touch(this);
    }
  }

  /**
   * Makes what was written durable. A parked handle has nothing left to do.
   *
   * @throws {SyncFailedError} when that failed as it was parked, or what the browser throws now
   */
  async flush(what: string): Promise<void> {
    if (this.#current === null && this.#failure === null && !this.isDirty) return;
    await this.use(what, (handle) => handle.flush());
    this.isDirty = false;
  }

  /** Whether the file is still under its name: the browser can be told to forget everything, and a handle does not notice. */
  async isThere(): Promise<boolean> {
    try {
      await this.file.getFile();
      return true;
    } catch (error) {
      return !isMissing(error);
    }
  }

  /** Closes the handle until its next use, with everything durable. Never rejects. */
  async park(): Promise<void> {
    const isThere = await this.isThere();
    const handle = this.#current;
    if (handle === null) return;
    try {
      if (this.isDirty) handle.flush();
      this.isDirty = false;
    } catch (error) {
      this.#failure = await syncRefusal(this.#pool.platform, error, "park a file");
    }
    this.#end(handle, isThere);
  }

  /** Closes the handle for good. Does not flush. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    if (this.#current === null) return;
    const isThere = await this.isThere();
    if (this.#current !== null) this.#end(this.#current, isThere);
  }

  async #open(what: string): Promise<void> {
    try {
      this.#current = await this.#pool.openRaw(this.file, what);
    } finally {
      this.#opening = null;
    }
  }

  /** In Chromium `close()` never returns when the site's data was cleared under the handle: such a one is left to its worker. */
  #end(handle: SyncHandle, isThere: boolean): void {
    this.#current = null;
    this.#pool.free(this);
    if (!isThere) return;
    try {
      handle.close();
    } catch {
      return; // A handle that cannot be closed was closed by the browser.
    }
  }
}
