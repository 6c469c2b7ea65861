/**
 * The inbox of a loop: what people said and no turn has taken yet. Every change is an event first.
 *
 * @see execution §1.1
 * @module
 */
import type { Block, Message } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";
import { newMessageId } from "../tool/ids.ts";

/** How many messages may wait for a turn. */
export const INBOX_MESSAGES_MAX = 1000;

/**
 * Puts a message at the end of the list for the next turn.
 *
 * @throws {RangeError} when INBOX_MESSAGES_MAX wait already
 * @throws whatever refused the append; nothing was taken then
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { enqueue } from "./inbox.ts";
 *
 * function say(session: Session, text: string): string {
 *   return enqueue(session, [{ type: "text", text }]).id;
 * }
 * ```
 */
export function enqueue(session: Session, content: readonly Block[]): Message {
  const message: Message = { content, source: { kind: "user" }, role: "user", id: newMessageId(session.random) };
  const start = session.folds.inbox.nextTurn.length;
  if (start >= INBOX_MESSAGES_MAX) {
    throw new RangeError(`Cannot send to session "${session.id}": ${start} messages wait already`);
  }
  session.append({ type: "agent/inbox/spliced", data: { target: "next-turn", start, inserted: [message] } });
  return message;
}

/**
 * Takes what the next step may see: everything for the next step, and in a turn's first step one message for the turn.
 *
 * @throws whatever refused an append
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { claim } from "./inbox.ts";
 *
 * function first(session: Session): string | undefined {
 *   return claim(session, true)[0]?.id;
 * }
 * ```
 */
export function claim(session: Session, isFirstStep: boolean): Message[] {
  const { nextStep, nextTurn } = session.folds.inbox;
  const forTurn = isFirstStep ? nextTurn.slice(0, 1) : [];
  if (nextStep.length > 0) remove(session, "next-step", 0, nextStep.length);
  if (forTurn.length > 0) remove(session, "next-turn", 0, 1);
  return [...nextStep, ...forTurn];
}

/**
 * Takes back messages that people sent and no turn has taken. Ids that do not wait are passed over.
 *
 * @returns the messages that were taken back
 * @throws whatever refused an append
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { discard } from "./inbox.ts";
 *
 * function isTakenBack(session: Session, id: string): boolean {
 *   return discard(session, [id]).length === 1;
 * }
 * ```
 */
export function discard(session: Session, ids: readonly string[]): Message[] {
  const taken: Message[] = [];
  for (const id of ids) {
    const index = session.folds.inbox.nextTurn.findIndex((message) => message.id === id);
    if (index === -1) continue;
    taken.push(session.folds.inbox.nextTurn[index]!);
    remove(session, "next-turn", index, 1, "canceled");
  }
  return taken;
}

function remove(
  session: Session,
  target: "next-turn" | "next-step",
  start: number,
  removedCount: number,
  outcome?: "canceled",
): void {
  const data = { target, start, removedCount, inserted: [], ...(outcome === undefined ? {} : { outcome }) };
  session.append({ type: "agent/inbox/spliced", data });
}
