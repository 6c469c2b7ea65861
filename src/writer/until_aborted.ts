/**
 * Waiting that a signal can end.
 *
 * @module
 */

/**
 * Settles as `promise` does, or rejects with the signal's reason as soon as it is aborted.
 *
 * What was started goes on; only the waiting ends. A late rejection of `promise` is not reported as unhandled.
 *
 * @example
 * ```ts
 * import { untilAborted } from "./until_aborted.ts";
 *
 * const hung = new Promise<never>(() => {});
 * const outcome = await untilAborted(hung, AbortSignal.abort("stop")).catch((reason) => reason);
 * if (outcome !== "stop") throw new Error("unreachable");
 * ```
 */
export function untilAborted<Value>(promise: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise<Value>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    // The promise is watched in any case: were it left alone, its late rejection would count as unhandled.
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
