/**
 * Drawing again when the store changed.
 *
 * @module
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SessionEvent } from "../../mod.ts";
import type { EventLog } from "./event_log.ts";
import type { PageState } from "./page_state.ts";
import type { PageStore } from "./page_store.ts";

/** The state of the store; the component is drawn again after each change. */
export function usePageState(store: PageStore): PageState {
  const [, redraw] = useState(0);
  // At once, not after the first paint: what changes in between would never be drawn.
  useLayoutEffect(() => store.subscribe(() => redraw((count) => count + 1)), [store]);
  return store.state;
}

/** Asks again whenever one of `causes` changed, one question at a time; the newest answer. */
export function useAnswer<Answer>(ask: () => Promise<Answer>, causes: readonly unknown[], start: Answer): Answer {
  const [answer, setAnswer] = useState(start);
  useEffect(() => {
    let isOver = false;
    ask().then((next) => isOver || setAnswer(next));
    return () => void (isOver = true);
  }, causes);
  return answer;
}

/** Draws the component again when events came or went. */
export function useLog(log: EventLog): void {
  const [, redraw] = useState(0);
  useLayoutEffect(() => log.subscribe(() => redraw((count) => count + 1)), [log]);
}

/** The newest events from `from` on; the same array as before when it holds the same events. */
export function useTail(log: EventLog, from: number): readonly SessionEvent[] {
  useLog(log);
  const last = useRef<readonly SessionEvent[]>([]);
  const events = log.tail(from);
  const isSame = events.length === last.current.length && events.every((event, index) => event === last.current[index]);
  if (!isSame) last.current = events;
  return last.current;
}
