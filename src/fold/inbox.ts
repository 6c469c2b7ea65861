/**
 * The inbox: messages that wait for the next turn or the next step.
 *
 * Every change is an `agent/inbox/spliced`, so the inbox survives a crash like everything else.
 *
 * @see execution §1.1
 * @module
 */
import { type EventData, isEvent, type Message, type SessionEvent } from "../event/mod.ts";
import type { Fold } from "./fold.ts";

/** The waiting messages, in order. */
export interface Inbox {
  /** Those that each begin a turn: its first step takes one of them. */
  readonly nextTurn: readonly Message[];
  /** Those that the next step takes all at once, in whatever turn it comes. */
  readonly nextStep: readonly Message[];
  /**
   * Those that a turn took and that nobody was told yet, in the order they were taken. What stands here when a crash or a shutdown
   * ends the turn was heard and lost: whoever goes on puts it back.
   */
  readonly taken: readonly TakenMessage[];
}

/** A message that left its list for a turn. */
export interface TakenMessage {
  readonly message: Message;
  /** Where it waited. */
  readonly target: EventData["agent/inbox/spliced"]["target"];
}

/** Follows `agent/inbox/spliced`, and what becomes of the messages that were taken. A splice that reaches outside its list is cut to the list. */
export const inboxFold: Fold<Inbox> = {
  name: "inbox",
  version: 2,

  initial: () => ({ nextTurn: [], nextStep: [], taken: [] }),

  apply(state: Inbox, event: SessionEvent): Inbox {
    if (isEvent(event, "agent/inbox/spliced")) return spliced(state, event.data);
    return state.taken.length === 0 ? state : { ...state, taken: stillUntold(state.taken, event) };
  },
};

function spliced(state: Inbox, data: EventData["agent/inbox/spliced"]): Inbox {
  const { target, start, removedCount = 0, inserted, outcome } = data;
  const list = [...listOf(state, target)];
  const removed = list.splice(start, removedCount, ...inserted);
  const waiting = new Set(inserted.map(({ id }) => id));
  const taken = state.taken.filter(({ message }) => !waiting.has(message.id));
  if (outcome === undefined) { for (const message of removed) taken.push({ message, target }); }
  return target === "next-turn" ? { ...state, nextTurn: list, taken } : { ...state, nextStep: list, taken };
}

/**
 * A request is made of what a step decided to tell, so it settles all that was taken, what a listener left out included; and so
 * does every end of a turn but a crash and a shutdown.
 */
function stillUntold(taken: readonly TakenMessage[], event: SessionEvent): readonly TakenMessage[] {
  if (isEvent(event, "user/message")) return taken.filter(({ message }) => message.id !== event.data.id);
  if (isEvent(event, "turn/end")) return isCutOff(event.data.reason) ? taken : [];
  return isEvent(event, "request/header") || isEvent(event, "assistant/message") ? [] : taken;
}

/**
 * Says why an event must not be appended to a log with this inbox: a splice outside the list, or a message id that waits already.
 *
 * @returns what was found, or `null` when the event is fine or does not touch the inbox
 *
 * @example
 * ```ts
 * import { inboxFold, inboxProblem } from "./inbox.ts";
 *
 * const event = { type: "agent/inbox/spliced", seq: 0, time: 1, data: { target: "next-turn", start: 1, inserted: [] } };
 * if (inboxProblem(inboxFold.initial(), event) === null) throw new Error("unreachable");
 * ```
 */
export function inboxProblem(state: Inbox, event: SessionEvent): string | null {
  if (!isEvent(event, "agent/inbox/spliced")) return null;
  const { target, start } = event.data;
  const removedCount = event.data.removedCount ?? 0;
  const length = listOf(state, target).length;
  if (start + removedCount > length) {
    return `it removes ${removedCount} from ${start} on, and ${target} holds ${length}`;
  }
  const after = inboxFold.apply(state, event);
  const ids = new Set<string>();
  for (const message of [...after.nextTurn, ...after.nextStep]) {
    if (ids.has(message.id)) return `message "${message.id}" waits in the inbox already`;
    ids.add(message.id);
  }
  return null;
}

function listOf(state: Inbox, target: EventData["agent/inbox/spliced"]["target"]): readonly Message[] {
  return target === "next-turn" ? state.nextTurn : state.nextStep;
}

/** Whether nobody decided that the turn ends: its process died, or was closed. */
function isCutOff(reason: EventData["turn/end"]["reason"]): boolean {
  return reason.kind === "interrupted" || (reason.kind === "aborted" && reason.reason.kind === "disposed");
}
