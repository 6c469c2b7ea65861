/**
 * The events that commands in hand lead to: what joins an append to the commands it settles.
 *
 * @module
 */
import type { SessionEvent } from "../../event/mod.ts";

/** How many commands of one session are remembered after their event. */
export const IN_HAND_MAX = 2000;

/** In place of a seq: there is no event to come. Before every event, so that it is passed over. */
const SETTLED = -1;

interface Expected {
  readonly isResult: (event: SessionEvent) => boolean;
  /** Of the event that was found; `null` while none was. A repeated batch finds the same one again. */
  seq: number | null;
}

/**
 * What is expected, by session and by the key of the command.
 *
 * @example
 * ```ts
 * import { ExpectedEvents } from "./expected_events.ts";
 *
 * const expected = new ExpectedEvents();
 * expected.add("s", "k", (event) => event.seq === 7);
 * const event = { type: "turn/start", seq: 7, time: 0, data: { turn: 1 } };
 * if (expected.resultsIn("s", [event])[0]?.key !== "k") throw new Error("unreachable");
 * ```
 */
export class ExpectedEvents {
  readonly #sessions = new Map<string, Map<string, Expected>>();

  /** Expects the event of a command. */
  add(sessionId: string, key: string, isResult: (event: SessionEvent) => boolean): void {
    const commands = this.#sessions.get(sessionId) ?? new Map<string, Expected>();
    this.#sessions.set(sessionId, commands.set(key, { isResult, seq: null }));
    if (commands.size <= IN_HAND_MAX) return;
    // Oldest first, and only those that are settled for sure: an append after theirs has begun.
    for (const [oldest, { seq }] of commands) {
      if (seq !== null) {
        commands.delete(oldest);
        return;
      }
    }
  }

  /** Whether this command is in hand, or was settled here. */
  has(sessionId: string, key: string): boolean {
    return this.#sessions.get(sessionId)?.has(key) ?? false;
  }

  /** Expects no event of this command any more. It stays in hand. */
  settle(sessionId: string, key: string): void {
    const commands = this.#sessions.get(sessionId);
    if (commands?.has(key)) commands.set(key, { isResult: () => false, seq: SETTLED });
  }

  /** Forgets a session. */
  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** The commands whose event is among these, each with the seq of its first. The same events give the same answer. */
  resultsIn(sessionId: string, events: readonly SessionEvent[]): { readonly key: string; readonly seq: number }[] {
    const found: { readonly key: string; readonly seq: number }[] = [];
    const firstSeq = events[0]?.seq ?? 0;
    for (const [key, expected] of this.#sessions.get(sessionId) ?? []) {
      if (expected.seq !== null && expected.seq < firstSeq) continue;
      const event = events.find((event) =>
        expected.seq === null ? expected.isResult(event) : event.seq === expected.seq
      );
      if (event === undefined) continue;
      expected.seq = event.seq;
      found.push({ key, seq: event.seq });
    }
    return found;
  }
}
