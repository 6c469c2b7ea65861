/**
 * Following a log as it grows.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { EventPage } from "./session_store.ts";
import type { Bell } from "./bells.ts";

/** What is watched. */
export interface Watched {
  readonly bell: Bell;
  readonly clock: Clock;
  /** The durable events from `from` on. Throws when the log is damaged there. */
  readonly page: (from: number) => Promise<EventPage>;
  readonly isClosed: () => boolean;
  /** How long to wait for a ring before looking again, in milliseconds. */
  readonly pollMs: number;
}

/**
 * Every event from `from` on, each once and in order. What this store appends arrives at once, what other processes append
 * within `pollMs`. Holds one page at a time.
 */
export async function* watchLog(
  { bell, clock, page, isClosed, pollMs }: Watched,
  from: number,
  signal?: AbortSignal,
): AsyncGenerator<SessionEvent, void, undefined> {
  const isOver = () => isClosed() || signal?.aborted === true;
  for (let next = from; !isOver();) {
    const { rings } = bell;
    const { events } = await page(next);
    for (const event of events) {
      if (isOver()) return;
      // Before the consumer sees it: whatever the consumer does, the event is never given twice.
      next = event.seq + 1;
      yield event;
    }
    if (events.length === 0 && !isOver()) await bell.wait(rings, pollMs, clock, signal);
  }
}
