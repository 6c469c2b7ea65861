/**
 * The conversation: what is in the log, and under it the answer that is being streamed.
 *
 * @module
 */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CallCard } from "./call_card.tsx";
import { CompactionCard } from "./compaction_card.tsx";
import { type Item, itemsOf } from "./conversation_items.ts";
import type { EventLog } from "./event_log.ts";
import type { LiveAnswer } from "./live_answer.ts";
import { LongText } from "./long_text.tsx";
import { Markdown } from "./markdown.tsx";
import { Seq } from "./marks.tsx";
import { useTail } from "./use_store.ts";

/** How many events the conversation reaches back at first, and how many more each time it is asked to. */
const REACH_EVENTS = 400;
/** The furthest; what is older is in the timeline. */
const REACH_EVENTS_MAX = 4000;
/** Above this length, in UTF-16 units, an answer that is still coming is shown plainly: it is drawn anew with every piece. */
const LIVE_MARKDOWN_LENGTH_MAX = 20_000;
/** How much of a piece that is still coming is drawn, in UTF-16 units: its end. */
const LIVE_LENGTH_MAX = 20_000;
/** How close to its end, in pixels, the conversation must be to follow what is new. */
const FOLLOW_PX = 60;

const ASIDES: Readonly<Record<string, string>> = {
  waiting: "waits for its turn",
  unheard: "the turn was cut off before the model was shown it",
};

/** Draws the conversation of one session. */
export function Conversation({ log, live, durableSeq, isRunning, onSeq, onStop, children }: {
  readonly log: EventLog;
  readonly live: LiveAnswer | null;
  readonly durableSeq: number;
  readonly isRunning: boolean;
  readonly onSeq: (seq: number) => void;
  /** Ends what runs. */
  readonly onStop: () => void;
  /** What stands at the end: notices that ask for a decision. */
  readonly children?: ComponentChildren;
}) {
  const [reach, setReach] = useState(REACH_EVENTS);
  const from = Math.max(0, log.nextSeq - reach);
  const events = useTail(log, from);
  // The same vnodes as before are not looked at again: what scrolls the log or streams an answer leaves them alone.
  const entries = useMemo(
    () =>
      itemsOf(events).map((item) => (
        <Entry key={keyOf(item)} item={item} durableSeq={durableSeq} onSeq={onSeq} onStop={onStop} />
      )),
    [events, durableSeq],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box !== null && isFollowing.current) box.scrollTop = box.scrollHeight;
  });
  const onScroll = () => {
    const box = scroller.current;
    if (box === null) return;
    isFollowing.current = box.scrollHeight - box.scrollTop - box.clientHeight < FOLLOW_PX;
  };
  return (
    <div class="conversation" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label="Conversation">
      {from > 0 && (
        <p class="earlier">
          {reach < REACH_EVENTS_MAX
            ? (
              <button
                type="button"
                class="quiet"
                onClick={() => setReach(reach + REACH_EVENTS)}
              >
                Show earlier events
              </button>
            )
            : "What is older is in the log."}
        </p>
      )}
      {entries}
      {live !== null && <Live live={live} />}
      {live === null && isRunning && (
        <div class="entry working">
          <span class="gutter" />
          <p class="work">
            <span class="pulse" aria-hidden="true" /> working
          </p>
        </div>
      )}
      {children}
    </div>
  );
}

interface EntryProps {
  readonly item: Item;
  readonly durableSeq: number;
  readonly onSeq: (seq: number) => void;
  readonly onStop: () => void;
}

function Entry(props: EntryProps) {
  const { item, durableSeq, onSeq } = props;
  return (
    <div class={`entry entry-${item.kind}`}>
      <button type="button" class="gutter" onClick={() => onSeq(item.seq)} title="Show in the log">
        <Seq seq={item.seq} durableSeq={durableSeq} />
      </button>
      <div class="body">{bodyOf(props)}</div>
    </div>
  );
}

function bodyOf({ item, durableSeq, onSeq, onStop }: EntryProps) {
  switch (item.kind) {
    case "person":
    case "notice":
    case "waiting":
    case "unheard":
      return (
        <>
          <h3>{item.from}{item.kind in ASIDES && <span class="aside">{ASIDES[item.kind]}</span>}</h3>
          <LongText class="said" text={item.text} />
        </>
      );
    case "answer":
      return (
        <>
          <h3>Agent{item.isInterrupted && <span class="aside">cut off</span>}</h3>
          {item.reasoning !== "" && (
            <details class="reasoning">
              <summary>Reasoning</summary>
              <Markdown text={item.reasoning} />
            </details>
          )}
          <Markdown text={item.text} />
        </>
      );
    case "call":
      return <CallCard call={item} durableSeq={durableSeq} onSeq={onSeq} />;
    case "compaction":
      return <CompactionCard item={item} onSeq={onSeq} onStop={onStop} />;
    case "ended":
      return <LongText class="ended" text={item.text} />;
    case "opened":
      return (
        <p class="opened" title="What stands above was in the log when this session was opened for writing once more">
          the session was opened again
        </p>
      );
  }
}

function Live({ live }: { readonly live: LiveAnswer }) {
  return (
    <div class="entry entry-live">
      <span class="gutter" title="streamed, not in the log yet">
        <span class="seq pending">
          <span class="mark" />
          <span class="number">live</span>
        </span>
      </span>
      <div class="body">
        <h3>
          Agent<span class="aside">streaming</span>
        </h3>
        {live.reasoning !== "" && (
          <details class="reasoning" open={live.text === ""}>
            <summary>Reasoning</summary>
            <p class="said">{endOf(live.reasoning)}</p>
          </details>
        )}
        {live.text.length > LIVE_MARKDOWN_LENGTH_MAX
          ? <p class="said">{endOf(live.text)}</p>
          : <Markdown text={live.text} />}
        {live.calls.map(({ index, name, argumentsText }) => (
          <p key={index} class="said coming">→ {endOf(name)} {endOf(argumentsText)}</p>
        ))}
      </div>
    </div>
  );
}

function endOf(text: string): string {
  return text.length > LIVE_LENGTH_MAX ? `…${text.slice(-LIVE_LENGTH_MAX)}` : text;
}

function keyOf(item: Item): string {
  return item.kind === "call" ? `call-${item.seq}-${item.callId}` : `${item.kind}-${item.seq}`;
}
