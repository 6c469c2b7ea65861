/**
 * The sessions of this browser, with state and reason.
 *
 * @module
 */
import type { SessionRow } from "../../mod.ts";
import { clockTime, sizeText } from "./marks.tsx";
import type { PageStore } from "./page_store.ts";

/** How many rows are drawn at first; the newest. */
const ROWS_SHOWN_MAX = 200;

const STATE_MARKS: Readonly<Record<SessionRow["state"], string>> = {
  ok: "✓",
  open: "◐",
  damaged: "✕",
  unsupported: "?",
  unchecked: "·",
};

const STATE_WORDS: Readonly<Record<SessionRow["state"], string>> = {
  ok: "ok",
  open: "a turn is open",
  damaged: "damaged",
  unsupported: "another version",
  unchecked: "not wholly checked",
};

/** Lists the sessions, newest first. */
export function SessionList(props: {
  readonly rows: readonly SessionRow[];
  readonly openId: string | null;
  /** Sessions with a question that waits. */
  readonly asking: readonly string[];
  readonly store: PageStore;
  /** Called after a session was chosen. */
  readonly onChosen: () => void;
}) {
  const { rows, openId, asking, store, onChosen } = props;
  const sorted = [...rows].sort((a, b) => (b.lastEventTime ?? 0) - (a.lastEventTime ?? 0) || (a.id < b.id ? 1 : -1));
  if (rows.length === 0) return <p class="empty">No sessions yet. The first message makes one.</p>;
  return (
    <ul class="sessions">
      {sorted.slice(0, ROWS_SHOWN_MAX).map((row) => (
        <li key={row.id} class={row.id === openId ? "session chosen" : "session"}>
          <button
            type="button"
            class="session-name"
            aria-current={row.id === openId ? "true" : undefined}
            onClick={() =>
              store.open(row.id).then(onChosen)}
          >
            <span class={`state state-${row.state}`} aria-hidden="true">{STATE_MARKS[row.state]}</span>
            <span class="id">{row.id}</span>
            {asking.includes(row.id)
              ? <span class="live asks">asks you</span>
              : row.live && <span class="live">live</span>}
            <span class="facts">
              {row.reason === null && `${STATE_WORDS[row.state]} · `}
              {sizeText(row.sizeBytes)}
              {row.lastEventTime !== null && ` · ${clockTime(row.lastEventTime)}`}
            </span>
            {row.reason !== null && (
              <span class="reason">
                <span class="unseen">{STATE_WORDS[row.state]}:</span> {row.reason}
              </span>
            )}
          </button>
          <button
            type="button"
            class="quiet delete"
            aria-label={`Delete session ${row.id}`}
            title="Delete"
            onClick={() =>
              confirm(`Delete session ${row.id} for good? Export it first to keep its log.`) && store.delete(row.id)}
          >
            ✕
          </button>
        </li>
      ))}
      {sorted.length > ROWS_SHOWN_MAX && <li class="empty">and {sorted.length - ROWS_SHOWN_MAX} older ones</li>}
    </ul>
  );
}
