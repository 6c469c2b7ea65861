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
}

/** Follows `agent/inbox/spliced`. A splice that reaches outside its list is cut to the list. */
export const inboxFold: Fold<Inbox> = {
  name: "inbox",
  version: 1,

  initial: () => ({ nextTurn: [], nextStep: [] }),

  apply(state: Inbox, event: SessionEvent): Inbox {
    if (!isEvent(event, "agent/inbox/spliced")) return state;
    const list = [...listOf(state, event.data.target)];
    list.splice(event.data.start, event.data.removedCount ?? 0, ...event.data.inserted);
    return event.data.target === "next-turn" ? { ...state, nextTurn: list } : { ...state, nextStep: list };
  },
};

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
