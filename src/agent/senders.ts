/**
 * Those who sent a message and wait to hear what became of it.
 *
 * @module
 */
import type { TurnEndReason } from "../event/mod.ts";
import type { TurnReport } from "./turn.ts";

/** What became of a message that was sent. */
export type TurnOutcome =
  /** Its turn ran. */
  | TurnReport
  /**
   * No turn took it: it was cancelled while it waited, or the turn before it ended with `reason` and the loop stopped. In the
   * second case it still waits, and the next message that wakes the loop runs it first.
   */
  | { readonly turn: null; readonly reason: TurnEndReason; readonly isWaiting: boolean };

/**
 * Waiting senders, by the id of their message. Each hears exactly once.
 *
 * @example
 * ```ts
 * import { Senders } from "./senders.ts";
 *
 * const senders = new Senders();
 * const outcome = senders.outcomeOf("m1");
 * senders.settleAll({ turn: null, reason: { kind: "completed" }, isWaiting: true });
 * if ((await outcome).turn !== null) throw new Error("unreachable");
 * ```
 */
export class Senders {
  /** An entry leaves when its promise settles. */
  readonly #waiting = new Map<string, PromiseWithResolvers<TurnOutcome>>();

  outcomeOf(messageId: string): Promise<TurnOutcome> {
    const settled = Promise.withResolvers<TurnOutcome>();
    this.#waiting.set(messageId, settled);
    return settled.promise;
  }

  /** Tells the sender of a message. One that nobody waits for is passed over. */
  settle(messageId: string, outcome: TurnOutcome): void {
    this.#waiting.get(messageId)?.resolve(outcome);
    this.#waiting.delete(messageId);
  }

  /** Nobody waits for this message any more. */
  forget(messageId: string): void {
    this.#waiting.delete(messageId);
  }

  settleAll(outcome: TurnOutcome): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, outcome);
  }

  rejectAll(reason: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }
}
