/**
 * Those who are told about every event, and what happens when they fail.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";

/** How many observers one session may have. */
export const OBSERVERS_MAX = 1024;

/** What went wrong where no caller waits: a background write, or an observer. The session goes on. */
export interface SessionProblem {
  /** `write`: a write in the background failed. `observer`: an observer threw or rejected. */
  readonly kind: "write" | "observer";
  /** What was thrown, as it is; not always an Error. */
  readonly error: unknown;
}

/**
 * The observers of one session. Each is contained: what it throws, or rejects with, is reported and harms nobody.
 *
 * @example
 * ```ts
 * import { Observers } from "./observers.ts";
 *
 * const seen: number[] = [];
 * const observers = new Observers("s", () => {});
 * observers.add((event) => seen.push(event.seq));
 * observers.tell([{ type: "turn/start", seq: 0, time: 0, data: { turn: 1 } }]);
 * if (seen.join() !== "0") throw new Error("unreachable");
 * ```
 */
export class Observers {
  readonly #sessionId: string;
  readonly #report: (problem: SessionProblem) => void;
  readonly #observers = new Set<(event: SessionEvent) => unknown>();

  constructor(sessionId: string, report: (problem: SessionProblem) => void) {
    this.#sessionId = sessionId;
    this.#report = report;
  }

  /**
   * @returns what ends the subscription
   * @throws {RangeError} when there are OBSERVERS_MAX already
   */
  add(observer: (event: SessionEvent) => unknown): () => void {
    if (this.#observers.size >= OBSERVERS_MAX) {
      throw new RangeError(`Cannot subscribe to session "${this.#sessionId}": it has ${OBSERVERS_MAX} observers`);
    }
    // A function of its own for each subscription, so that subscribing twice means being called twice.
    const subscription = (event: SessionEvent) => observer(event);
    this.#observers.add(subscription);
    return () => void this.#observers.delete(subscription);
  }

  /** Tells those who are there now. Who comes or goes meanwhile is not told, or is. */
  tell(events: readonly SessionEvent[]): void {
    const observers = [...this.#observers];
    for (const event of events) {
      for (const observer of observers) this.#tell(observer, event);
    }
  }

  clear(): void {
    this.#observers.clear();
  }

  #tell(observer: (event: SessionEvent) => unknown, event: SessionEvent): void {
    const onError = (error: unknown) => this.#report({ kind: "observer", error });
    try {
      const answer = observer(event);
      if (answer instanceof Promise) answer.catch(onError);
    } catch (error) {
      onError(error);
    }
  }
}

/**
 * A reporter that cannot cause a problem itself.
 *
 * @example
 * ```ts
 * import { contained } from "./observers.ts";
 *
 * contained(() => {
 *   throw new Error("nobody hears this");
 * })({ kind: "write", error: null });
 * ```
 */
export function contained(report: (problem: SessionProblem) => void = () => {}): (problem: SessionProblem) => void {
  return (problem) => {
    try {
      report(problem);
    } catch {
      // There is nobody left to tell.
    }
  };
}
