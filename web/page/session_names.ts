/**
 * What a session is called in the list: the first words a person said in it.
 *
 * The list of the medium knows only ids, so the beginning of a log is read, of few logs and small ones.
 *
 * @module
 */
import type { SessionEvent, SessionRow } from "../../mod.ts";
import { itemsOf } from "./conversation_items.ts";

/** How many sessions are read for a name, those with the newest events first. */
export const NAMED_SESSIONS_MAX = 40;
/** A larger log is not opened only for its name, in bytes. */
export const NAMED_LOG_BYTES_MAX = 1024 * 1024;
/** How many events at the beginning are looked at. */
const NAME_EVENTS = 20;
/** How long a name is, in UTF-16 units. */
const NAME_LENGTH_MAX = 80;

/** One log to be read from its beginning. */
export interface NameTask {
  readonly id: string;
  readonly limit: number;
}

/** The newest session first; what has no time last. */
export function newestFirst(a: SessionRow, b: SessionRow): number {
  return (b.lastEventTime ?? 0) - (a.lastEventTime ?? 0) || (a.id < b.id ? 1 : -1);
}

/** The next log to read for a name; `null` when all that will be read were. */
export function nextToName(rows: readonly SessionRow[], named: ReadonlySet<string>): NameTask | null {
  const row = [...rows].sort(newestFirst).slice(0, NAMED_SESSIONS_MAX).find(({ id, sizeBytes, state }) =>
    !named.has(id) && sizeBytes <= NAMED_LOG_BYTES_MAX && state !== "unsupported"
  );
  return row === undefined ? null : { id: row.id, limit: NAME_EVENTS };
}

/** The first line a person said; `null` when nobody said anything. */
export function nameIn(events: readonly SessionEvent[]): string | null {
  for (const item of itemsOf(events)) {
    if (item.kind !== "person" && item.kind !== "waiting" && item.kind !== "unheard") continue;
    const line = item.text.trim().split("\n")[0]!;
    if (line !== "") return line.length > NAME_LENGTH_MAX ? `${line.slice(0, NAME_LENGTH_MAX - 1)}…` : line;
  }
  return null;
}
