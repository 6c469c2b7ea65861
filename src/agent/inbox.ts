/**
 * The inbox of a loop: what was said and no turn has taken yet. Every change is an event first.
 *
 * @see execution §1.1
 * @module
 */
import type { EventData, Message } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";

/** How many messages may wait in each of the two lists. */
export const INBOX_MESSAGES_MAX = 1000;

/** What the messages wait for. */
export type InboxTarget = EventData["agent/inbox/spliced"]["target"];

/** Told after a change, message by message. The change is in the log by then. */
export interface InboxListener {
  inserted(message: Message, target: InboxTarget): void;
  claimed(message: Message, turn: number): void;
  discarded(message: Message): void;
}

/**
 * The two lists of waiting messages. What is in them is a fold of the log: this only changes them.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { Inbox } from "./inbox.ts";
 *
 * function waiting(session: Session): number {
 *   const inbox = new Inbox(session, { inserted() {}, claimed() {}, discarded() {} });
 *   return inbox.length("next-turn") + inbox.length("next-step");
 * }
 * ```
 */
export class Inbox {
  readonly #session: Session;
  readonly #listener: InboxListener;

  constructor(session: Session, listener: InboxListener) {
    this.#session = session;
    this.#listener = listener;
  }

  length(target: InboxTarget): number {
    return this.#list(target).length;
  }

  /** The ids of everything that waits. */
  get ids(): ReadonlySet<string> {
    return new Set(TARGETS.flatMap((target) => this.#list(target)).map(({ id }) => id));
  }

  /**
   * Puts messages at the end of a list.
   *
   * @throws {RangeError} when there is no room for all of them; nothing was taken then
   * @throws whatever refused the append
   */
  insert(target: InboxTarget, inserted: readonly Message[]): void {
    const start = this.length(target);
    if (start + inserted.length > INBOX_MESSAGES_MAX) {
      throw new RangeError(`Cannot send to session "${this.#session.id}": ${start} messages wait already`);
    }
    this.#session.append({ type: "agent/inbox/spliced", data: { target, start, inserted } });
    for (const message of inserted) this.#listener.inserted(message, target);
  }

  /**
   * Takes what the next step may see: everything for the next step, and in a turn's first step one message for the turn.
   *
   * @throws whatever refused an append; what was taken before stays taken
   */
  claim(turn: number, isFirstStep: boolean): Message[] {
    const nextStep = this.#claim("next-step", this.length("next-step"), turn);
    const nextTurn = this.#claim("next-turn", isFirstStep ? Math.min(1, this.length("next-turn")) : 0, turn);
    return [...nextStep, ...nextTurn];
  }

  /**
   * Takes back messages, those that still wait.
   *
   * @throws whatever refused an append; what was taken back before stays so
   */
  discard(ids: ReadonlySet<string>): void {
    for (const target of TARGETS) {
      for (let start = this.#firstOf(target, ids); start !== -1; start = this.#firstOf(target, ids)) {
        const rest = this.#list(target).slice(start);
        const end = rest.findIndex(({ id }) => !ids.has(id));
        const discarded = this.#remove(target, start, end === -1 ? rest.length : end, "canceled");
        for (const message of discarded) this.#listener.discarded(message);
      }
    }
  }

  /**
   * Puts back, at the front, what a turn took before a crash or a shutdown ended it and nobody was told. Does nothing while a
   * turn is open: what it took is on its way.
   *
   * @throws whatever refused an append; what was put back before stays so
   */
  putBackUntold(): void {
    const { inbox: { taken }, brackets } = this.#session.folds;
    if (brackets.turn !== null) return;
    for (const target of TARGETS) {
      const inserted = taken.filter((entry) => entry.target === target).map(({ message }) => message);
      if (inserted.length === 0) continue;
      this.#session.append({ type: "agent/inbox/spliced", data: { target, start: 0, inserted } });
      for (const message of inserted) this.#listener.inserted(message, target);
    }
  }

  #claim(target: InboxTarget, count: number, turn: number): readonly Message[] {
    const claimed = this.#remove(target, 0, count);
    for (const message of claimed) this.#listener.claimed(message, turn);
    return claimed;
  }

  #firstOf(target: InboxTarget, ids: ReadonlySet<string>): number {
    return this.#list(target).findIndex(({ id }) => ids.has(id));
  }

  #remove(target: InboxTarget, start: number, removedCount: number, outcome?: "canceled"): readonly Message[] {
    if (removedCount === 0) return [];
    const removed = this.#list(target).slice(start, start + removedCount);
    const data = { target, start, removedCount, inserted: [], ...(outcome === undefined ? {} : { outcome }) };
    this.#session.append({ type: "agent/inbox/spliced", data });
    return removed;
  }

  #list(target: InboxTarget): readonly Message[] {
    const { inbox } = this.#session.folds;
    return target === "next-turn" ? inbox.nextTurn : inbox.nextStep;
  }
}

const TARGETS: readonly InboxTarget[] = ["next-step", "next-turn"];
