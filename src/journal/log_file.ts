/**
 * The writing end of a log: bytes go behind what was acknowledged, or not at all.
 *
 * @see architecture, below the table of "The storage port"
 * @module
 */
import { type ErrorCode, hasCode, LockLostError, SyncFailedError } from "../errors.ts";
import type { StorageFile } from "../storage/storage_port.ts";

/** What ends this log for good, told as the medium told it. */
const FINAL_CODES: readonly ErrorCode[] = ["LOCK_LOST", "SYNC_FAILED", "STORAGE_LOST"];

/** An open log that is appended to. */
export class LogFile {
  readonly #name: string;
  readonly #reopen: () => Promise<StorageFile>;
  #file: StorageFile;
  /** Everything before it is durable, as far as the medium promises, and believed. What stands behind it is neither. */
  #acknowledgedBytes: number;
  /** How many bytes of ours may stand behind them. Whatever is more is somebody else's and is never cut. */
  #unacknowledgedBytes: number;
  /** The descriptor can not be trusted to stand at `#acknowledgedBytes`: it is replaced before the next append. */
  #isSuspect = false;
  #failure: Error | null = null;

  /**
   * @param acknowledgedBytes how much of the file is believed; the rest, if any, must be cut by `cutBack()` before an append
   * @param reopen a new descriptor of the same file
   */
  constructor(file: StorageFile, acknowledgedBytes: number, reopen: () => Promise<StorageFile>) {
    this.#name = file.name;
    this.#file = file;
    this.#acknowledgedBytes = acknowledgedBytes;
    this.#unacknowledgedBytes = file.sizeBytes - acknowledgedBytes;
    this.#reopen = reopen;
  }

  get acknowledgedBytes(): number {
    return this.#acknowledgedBytes;
  }

  /** Why nothing can be appended any more; `null` while something can. */
  get failure(): Error | null {
    return this.#failure;
  }

  /**
   * Appends bytes and makes them durable: one append, one sync.
   *
   * After a failed write the file is at its old length and the same bytes may be tried again. After a failed sync a new
   * descriptor cuts back to the acknowledged length and appends anew, because the cache may have dropped what it showed.
   *
   * @throws {SyncFailedError} when the medium refused twice; this file takes nothing more
   * @throws {LockLostError} when the file or its lock is not ours any more; this file takes nothing more
   */
  async append(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#isSuspect) await this.#startOver();
    this.#unacknowledgedBytes = bytes.length;
    await this.#write(bytes);
    try {
      await this.#file.sync();
    } catch (error) {
      await this.#giveUpIfFailing(error, () => this.#startOver());
      await this.#write(bytes);
      await this.#giveUpIfFailing(error, () => this.#file.sync());
    }
    this.#acknowledgedBytes += bytes.length;
    this.#unacknowledgedBytes = 0;
  }

  /** Cuts off what stands behind the acknowledged bytes, durably. */
  async cutBack(): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#isSuspect) return await this.#startOver();
    try {
      await this.#file.truncate(this.#acknowledgedBytes);
      await this.#file.sync();
    } catch (error) {
      if (hasCode(error, "LOCK_LOST")) throw this.#fail(error);
      if (!hasCode(error, "SYNC_FAILED")) {
        this.#isSuspect = true; // Nobody can say whether it was cut.
        throw error;
      }
      await this.#giveUpIfFailing(error, () => this.#startOver());
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      await this.#file.append(bytes);
    } catch (error) {
      await this.#checkAfterFailedWrite(error);
      throw error;
    }
  }

  /** The port promises the old length after a failed append. A disk that fails may not have kept the promise, so it is asked. */
  async #checkAfterFailedWrite(error: unknown): Promise<void> {
    if (hasCode(error, "LOCK_LOST")) throw this.#fail(error);
    try {
      await this.#file.truncate(this.#acknowledgedBytes);
    } catch (probeError) {
      if (hasCode(probeError, "LOCK_LOST")) throw this.#fail(probeError);
      this.#isSuspect = true;
    }
  }

  /** A new descriptor that ends at the acknowledged length, durably. */
  async #startOver(): Promise<void> {
    this.#isSuspect = true;
    await this.#file.close().catch(() => {}); // It is spent; what closing it says changes nothing.
    try {
      this.#file = await this.#reopen();
      const behindBytes = this.#file.sizeBytes - this.#acknowledgedBytes;
      if (behindBytes < 0 || behindBytes > this.#unacknowledgedBytes) {
        const found = `found ${this.#file.sizeBytes} bytes where ${this.#acknowledgedBytes} were acknowledged`;
        throw new LockLostError(`Cannot append to "${this.#name}": ${found}, so somebody else writes it`);
      }
      await this.#file.truncate(this.#acknowledgedBytes);
      await this.#file.sync();
    } catch (error) {
      if (hasCode(error, "LOCK_LOST") || hasCode(error, "NOT_FOUND")) throw this.#fail(error);
      throw error;
    }
    this.#isSuspect = false;
  }

  /** Runs the second try after a failed sync. There is no third. */
  async #giveUpIfFailing(firstError: unknown, retry: () => Promise<void>): Promise<void> {
    try {
      await retry();
    } catch (error) {
      if (this.#failure !== null) throw this.#failure;
      // Twice the medium said that the file is gone, not that it could not be synced.
      if (hasCode(firstError, "STORAGE_LOST") && hasCode(error, "STORAGE_LOST")) throw this.#fail(error);
      const cause = new AggregateError([firstError, error]);
      const message = `Cannot append to "${this.#name}": the medium refused to make it durable, twice`;
      throw this.#fail(new SyncFailedError(message, { cause }));
    }
  }

  #fail(error: unknown): Error {
    const isRefusal = FINAL_CODES.some((code) => hasCode(error, code));
    this.#failure = isRefusal
      ? error as Error
      : new LockLostError(`Cannot append to "${this.#name}": the file is not there any more`, { cause: error });
    return this.#failure;
  }
}
