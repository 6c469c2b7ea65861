/**
 * Lets the event loop have its turn: a source that is always ready would otherwise starve timers, sockets and cancels.
 *
 * @module
 */

/**
 * Resolves in a task of its own, behind whatever waits now. It takes no time from a clock, so a simulated run is not changed.
 *
 * @example
 * ```ts
 * import { breathe } from "./breathe.ts";
 *
 * await breathe();
 * ```
 */
export function breathe(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    resolve();
  };
  port2.postMessage(null);
  return promise;
}
