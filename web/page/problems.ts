/**
 * Which problems need no card of their own: those that stand on the page already.
 *
 * @module
 */
import type { SessionView } from "../protocol.ts";
import type { EventLog } from "./event_log.ts";
import { isEvent } from "./is_event.ts";
import type { Problem } from "./page_state.ts";

/** How many events at the end of a log are searched for the end of a turn. */
const TURN_END_SEARCH_EVENTS = 50;

/**
 * Whether a problem is told by a card that is there, by the line that says why a session is read-only, or by the conversation,
 * which says how a turn failed.
 */
export function isToldElsewhere(
  { code, message, id }: Problem,
  cards: readonly Problem[],
  view: SessionView | null,
  log: Pick<EventLog, "nextSeq" | "tail"> | null,
): boolean {
  if (cards.some((card) => card.code === code && card.message === message && card.id === id)) return true;
  if (view === null || view.id !== id) return false;
  if (view.role.kind === "read-only" && view.role.fault.code === code) return true;
  const events = log?.tail(Math.max(0, log.nextSeq - TURN_END_SEARCH_EVENTS)) ?? [];
  const end = events.findLast((event) => isEvent(event, "turn/end"));
  if (end === undefined || !isEvent(end, "turn/end") || end.data.reason.kind !== "error") return false;
  return message.includes(end.data.reason.error.message);
}

/** The problems to show while this session is open. */
export function problemsOf(problems: readonly Problem[], openId: string | null): readonly Problem[] {
  return problems.filter(({ id }) => id === null || id === openId);
}
