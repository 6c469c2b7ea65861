/**
 * Which effects run now, in this process.
 *
 * The log cannot say it of a nested call: one whose outcome is unknown is never logged as settled, so that it looks as if it
 * still ran until its turn ends. But a call that repeats it must be recognised before that.
 *
 * @module
 */
import type { Session } from "../session/mod.ts";

/** seqs of the calls that are dispatched and not answered. An entry leaves when its call ends. */
const runningCalls = new WeakMap<Session, Set<number>>();

/**
 * Notes that a call is dispatched.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { isRunning, startRunning, stopRunning } from "./running.ts";
 *
 * function check(session: Session): void {
 *   startRunning(session, 7);
 *   if (!isRunning(session, 7)) throw new Error("unreachable");
 *   stopRunning(session, 7);
 * }
 * ```
 */
export function startRunning(session: Session, callSeq: number): void {
  runningCalls.set(session, (runningCalls.get(session) ?? new Set()).add(callSeq));
}

/**
 * Notes that a call is answered; harmless for one that never ran.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { stopRunning } from "./running.ts";
 *
 * function end(session: Session): void {
 *   stopRunning(session, 7);
 * }
 * ```
 */
export function stopRunning(session: Session, callSeq: number): void {
  runningCalls.get(session)?.delete(callSeq);
}

/**
 * Whether a call runs now, or waits for its answer to be logged.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { isRunning } from "./running.ts";
 *
 * function isSecondEffect(session: Session, callSeq: number): boolean {
 *   return isRunning(session, callSeq);
 * }
 * ```
 */
export function isRunning(session: Session, callSeq: number): boolean {
  return runningCalls.get(session)?.has(callSeq) ?? false;
}
