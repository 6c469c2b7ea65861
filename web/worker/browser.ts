/**
 * The platform of a real dedicated worker: Web Locks, `BroadcastChannel`, `idb-keyval`, `postMessage`.
 *
 * @module
 */
import { get, update } from "idb-keyval";
import { systemRuntime } from "../../src/entry/memory.ts";
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
    locks: webLocks(navigator.locks),
    openChannel: broadcastChannel,
    values: { get: (key) => get(key), update: (key, change) => update(key, change) },
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

/** A Web Lock is held for as long as the promise that its callback returns is pending. */
function webLocks(locks: LockManager): TabLocks {
  function request(name: string, options: LockOptions): Promise<HeldTabLock | null> {
    const { promise, resolve, reject } = Promise.withResolvers<HeldTabLock | null>();
    const hold = (lock: Lock | null): Promise<void> | void => {
      if (lock === null) return resolve(null);
      const held = Promise.withResolvers<void>();
      resolve({ release: held.resolve });
      return held.promise;
    };
    locks.request(name, options, hold).catch(reject);
    return promise;
  }
  return {
    tryTake: (name) => request(name, { ifAvailable: true }),
    // Without `ifAvailable` the callback always gets a lock.
    take: async (name, signal) => (await request(name, { signal }))!,
  };
}
