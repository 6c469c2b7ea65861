/**
 * The platform of a real dedicated worker: Web Locks, `BroadcastChannel`, IndexedDB, `postMessage`.
 *
 * @module
 */
import type { Clock } from "../../mod.ts";
import { systemRuntime } from "../../src/entry/memory.ts";
import { getValue, updateValue } from "../values.ts";
import { pause } from "./pause.ts";
import type { HeldTabLock, PagePort, Platform, TabChannel, TabLocks } from "./platform.ts";

/** What is used of a dedicated worker's global scope. */
export interface WorkerScope {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
}

/**
 * The platform of the worker this runs in.
 *
 * @param scope default: the global scope
 */
export function browserPlatform(scope: WorkerScope = globalThis as unknown as WorkerScope): Platform {
  return {
    runtime: systemRuntime,
    locks: webLocks(navigator.locks, systemRuntime.clock),
    openChannel: broadcastChannel,
    values: { get: getValue, update: updateValue },
    page: pagePort(scope),
  };
}

function pagePort(scope: WorkerScope): PagePort {
  return {
    post: (message, transfer = []) => scope.postMessage(message, [...transfer]),
    listen: (listener) => scope.addEventListener("message", ({ data }) => listener(data)),
  };
}

function broadcastChannel(name: string): TabChannel {
  const channel = new BroadcastChannel(name);
  return {
    post: (message) => channel.postMessage(message),
    listen: (listener) => void (channel.onmessage = ({ data }) => listener(data)),
    close: () => channel.close(),
  };
}

/**
 * How often a tab that waits for a lock looks whether it is free, in milliseconds.
 *
 * It does not queue for it: a queue gives the lock also to a tab that was frozen in it, and nobody could take it away. The timers
 * of a frozen tab stand still, so one that looks by itself is passed over.
 */
export const LOCK_LOOK_MS = 100;

/** A Web Lock is held for as long as the promise that its callback returns is pending. */
function webLocks(locks: LockManager, clock: Clock): TabLocks {
  function tryTake(name: string): Promise<HeldTabLock | null> {
    const { promise, resolve, reject } = Promise.withResolvers<HeldTabLock | null>();
    const hold = (lock: Lock | null): Promise<void> | void => {
      if (lock === null) return resolve(null);
      const held = Promise.withResolvers<void>();
      resolve({ release: held.resolve });
      return held.promise;
    };
    locks.request(name, { ifAvailable: true }, hold).catch(reject);
    return promise;
  }

  async function take(name: string, signal: AbortSignal): Promise<HeldTabLock> {
    for (;;) {
      signal.throwIfAborted();
      const lock = await tryTake(name);
      if (lock !== null && !signal.aborted) return lock;
      lock?.release();
      await pause(clock, LOCK_LOOK_MS, signal);
    }
  }

  return { tryTake, take };
}
