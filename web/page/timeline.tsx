/**
 * The raw log, one row per event: only the rows on the screen exist, however long the log is.
 *
 * Rows have one height, so the window is arithmetic. The listbox has the focus and names the active row.
 *
 * @see WAI-ARIA Authoring Practices, Listbox pattern
 * @module
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { eventLine } from "./event_line.ts";
import type { EventLog } from "./event_log.ts";
import { Seq } from "./marks.tsx";
import { useLog } from "./use_store.ts";

/** Height of a row, in pixels; the style sheet says the same. */
export const ROW_PX = 26;
/** The most rows that exist at once. */
export const ROWS_MAX = 60;
/** Rows kept ready above and below what is seen. */
const SPARE_ROWS = 6;
/** Chromium stops at about 33 million pixels; beyond this the scroll bar is a scale of the log, not its length. */
const HEIGHT_PX_MAX = 16_000_000;

/** Draws the log of one session. */
export function Timeline({ log, durableSeq, chosen, onChoose }: {
  readonly log: EventLog;
  readonly durableSeq: number;
  readonly chosen: number | null;
  readonly onChoose: (seq: number | null) => void;
}) {
  useLog(log);
  const box = useRef<HTMLDivElement>(null);
  const [{ top, height }, setPlace] = useState({ top: 0, height: 400 });
  const isFollowing = useRef(true);
  const count = log.nextSeq;
  const fullPx = count * ROW_PX;
  const shownPx = Math.min(fullPx, HEIGHT_PX_MAX);
  /** Pixels of the log per pixel of scrolling. */
  const scale = shownPx <= height ? 1 : (fullPx - height) / (shownPx - height);
  const logTop = top * scale;
  const first = Math.max(0, Math.floor(logTop / ROW_PX) - SPARE_ROWS);
  const end = Math.min(count, first + Math.min(ROWS_MAX, Math.ceil(height / ROW_PX) + 2 * SPARE_ROWS));

  const measure = () => {
    if (box.current === null) return; // A last call on the way out.
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    isFollowing.current = scrollHeight - scrollTop - clientHeight < ROW_PX;
    setPlace((old) =>
      old.top === scrollTop && old.height === clientHeight ? old : { top: scrollTop, height: clientHeight }
    );
  };
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!isFollowing.current || chosen !== null) return;
    box.current!.scrollTop = box.current!.scrollHeight;
  }, [count]);
  useLayoutEffect(() => {
    if (chosen === null) return;
    const rowTop = chosen * ROW_PX;
    const isSeen = rowTop >= logTop && rowTop + ROW_PX <= logTop + height;
    if (!isSeen) box.current!.scrollTop = Math.max(0, rowTop - height / 2) / scale;
  }, [chosen]);

  const onKeyDown = (event: KeyboardEvent) => {
    const current = chosen ?? Math.min(count - 1, Math.floor((logTop + height) / ROW_PX));
    const page = Math.max(1, Math.floor(height / ROW_PX) - 1);
    const moves: Record<string, number> = {
      ArrowUp: chosen === null ? current : current - 1,
      ArrowDown: chosen === null ? current : current + 1,
      PageUp: current - page,
      PageDown: current + page,
      Home: 0,
      End: count - 1,
    };
    if (event.key === "Escape" && chosen !== null) onChoose(null);
    else if (event.key in moves && count > 0) onChoose(Math.max(0, Math.min(count - 1, moves[event.key]!)));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const rows = [];
  for (let seq = first; seq < end; seq++) {
    rows.push(
      <Row
        key={seq % ROWS_MAX}
        log={log}
        seq={seq}
        count={count}
        topPx={top + seq * ROW_PX - logTop}
        durableSeq={durableSeq}
        isChosen={seq === chosen}
        onChoose={onChoose}
      />,
    );
  }
  return (
    <div
      class="timeline"
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label={`Log, ${count} events`}
      aria-activedescendant={chosen !== null && chosen >= first && chosen < end ? `event-${chosen}` : undefined}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div class="rows" role="presentation" style={{ height: `${shownPx}px`, "--digits": String(count).length }}>
        {rows}
      </div>
    </div>
  );
}

function Row({ log, seq, count, topPx, durableSeq, isChosen, onChoose }: {
  readonly log: EventLog;
  readonly seq: number;
  readonly count: number;
  readonly topPx: number;
  readonly durableSeq: number;
  readonly isChosen: boolean;
  readonly onChoose: (seq: number) => void;
}) {
  const event = log.get(seq);
  const isDurable = seq <= durableSeq;
  const classes = ["row", isDurable ? "durable" : "pending"];
  if (seq === durableSeq && seq + 1 < count) classes.push("waterline");
  if (event?.ignorable) classes.push("ours");
  return (
    <div
      id={`event-${seq}`}
      class={classes.join(" ")}
      role="option"
      aria-selected={isChosen}
      aria-posinset={seq + 1}
      aria-setsize={count}
      style={{ transform: `translateY(${topPx}px)` }}
      onClick={() => onChoose(seq)}
    >
      <Seq seq={seq} durableSeq={durableSeq} />
      <span class={`type family-${event === null ? "none" : familyOf(event.type)}`}>{event?.type ?? "…"}</span>
      <span class="line">{event === null ? "" : eventLine(event)}</span>
    </div>
  );
}

/** What kind of thing happened: the part of the type before the slash. */
function familyOf(type: string): string {
  const family = type.split("/")[0]!;
  return ["user", "assistant", "tool", "approval", "effect", "checkpoint"].includes(family) ? family : "other";
}
