/**
 * What the worker takes from the browser, as arguments: locks among tabs, a channel between them, a little memory beside the
 * log, and a line to the page. Tests hand in their own.
 *
 * @module
 */
import type { Runtime } from "../../mod.ts";
import type { WorkerMessage } from "../protocol.ts";

/** A lock that was given, and how it is given back. */
export interface HeldTabLock {
  /** Gives it back. Twice is harmless. */
  release(): void;
}

/** Locks among all tabs of the origin. They end with the worker that holds them, however it ends. */
export interface TabLocks {
  /** The lock at once, or `null` when somebody holds it. */
  tryTake(name: string): Promise<HeldTabLock | null>;
  /** Waits for the lock; a tab that is frozen while it waits does not get it. Rejects with the signal's reason when that aborts first. */
  take(name: string, signal: AbortSignal): Promise<HeldTabLock>;
}

/** A channel to the other tabs of the origin. What is posted is not heard by the one who posts it. */
export interface TabChannel {
  post(message: unknown): void;
  listen(listener: (message: unknown) => void): void;
  close(): void;
}

/** A few values that outlive the worker, apart from the sessions. */
export interface KeyValues {
  get(key: string): Promise<unknown>;
  /** Reads, changes and writes one value, nobody coming in between. */
  update(key: string, change: (old: unknown) => unknown): Promise<void>;
}

/** The line to the page. */
export interface PagePort {
  post(message: WorkerMessage, transfer?: readonly ArrayBuffer[]): void;
  listen(listener: (message: unknown) => void): void;
}

/** Everything together. */
export interface Platform {
  readonly runtime: Runtime;
  readonly locks: TabLocks;
  readonly openChannel: (name: string) => TabChannel;
  readonly values: KeyValues;
  readonly page: PagePort;
}
