/**
 * The panel beside the conversation: the log, what the model sees, the bank's book.
 *
 * @module
 */
import type { BankEntry, SessionView } from "../protocol.ts";
import { Bank } from "./bank.tsx";
import type { EventLog } from "./event_log.ts";
import { JsonText } from "./json_text.tsx";
import { dateTime, isoTime, Seq } from "./marks.tsx";
import type { PageStore } from "./page_store.ts";
import { SurfaceView } from "./surface_view.tsx";
import { Timeline } from "./timeline.tsx";
import { useAnswer, useLog } from "./use_store.ts";

/** The panel's tabs. */
export const SIDE_TABS = ["log", "surface", "bank"] as const;
/** One of them. */
export type SideTab = typeof SIDE_TABS[number];

const NAMES: Readonly<Record<SideTab, string>> = { log: "Log", surface: "What the model sees", bank: "Bank" };

/** Draws the panel. */
export function SidePanel({ store, log, view, bank, tab, onTab, chosen, onChoose }: {
  readonly store: PageStore;
  readonly log: EventLog;
  readonly view: SessionView;
  /** `null`: not known. */
  readonly bank: readonly BankEntry[] | null;
  readonly tab: SideTab;
  readonly onTab: (tab: SideTab) => void;
  readonly chosen: number | null;
  readonly onChoose: (seq: number | null) => void;
}) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = SIDE_TABS[(SIDE_TABS.indexOf(tab) + step + SIDE_TABS.length) % SIDE_TABS.length]!;
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <section class="side" aria-label="Log and views">
      <div class="tabs" role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
        {SIDE_TABS.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === tab}
            aria-controls="side-pane"
            tabIndex={name === tab ? 0 : -1}
            onClick={() => onTab(name)}
          >
            {NAMES[name]}
            {name === "log" && <span class="count">{log.nextSeq.toLocaleString()}</span>}
          </button>
        ))}
      </div>
      <div class="side-pane" id="side-pane" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === "log" && (
          <>
            <Timeline log={log} durableSeq={view.durability.durableSeq} chosen={chosen} onChoose={onChoose} />
            {chosen !== null && (
              <Detail
                log={log}
                seq={chosen}
                durableSeq={view.durability.durableSeq}
                onClose={() => onChoose(null)}
              />
            )}
          </>
        )}
        {tab === "surface" && <Surface store={store} cause={`${view.id} ${log.nextSeq} ${view.status}`} />}
        {tab === "bank" && <Bank entries={bank} />}
      </div>
    </section>
  );
}

function Surface({ store, cause }: { readonly store: PageStore; readonly cause: string }) {
  const messages = useAnswer(() => store.surface(), [store, cause], null);
  return <SurfaceView messages={messages} />;
}

function Detail({ log, seq, durableSeq, onClose }: {
  readonly log: EventLog;
  readonly seq: number;
  readonly durableSeq: number;
  readonly onClose: () => void;
}) {
  useLog(log);
  const event = log.get(seq);
  return (
    <div class="detail">
      <header>
        <Seq seq={seq} durableSeq={durableSeq} />
        <h3>{event?.type ?? "…"}</h3>
        {event !== null && <time title={isoTime(event.time)}>{dateTime(event.time)}</time>}
        <button type="button" class="quiet" aria-label="Close the event" onClick={onClose}>✕</button>
      </header>
      {event !== null && <JsonText text={JSON.stringify(event, null, 2)} label={`Event ${seq}`} />}
    </div>
  );
}
