/**
 * The sessions of this browser, with state and reason.
 *
 * @module
 */
import type { SessionRow } from "../../mod.ts";
import { withNames } from "./exact_text.tsx";
import { clockTime, isoTime, sizeText } from "./marks.tsx";
import type { PageStore } from "./page_store.ts";
import { newestFirst } from "./session_names.ts";

/** How many rows are drawn at first; the newest. */
const ROWS_SHOWN_MAX = 200;

/** How much of an id stands in a browser's question, in UTF-16 units. */
const ID_LENGTH_MAX = 60;

const STATE_MARKS: Readonly<Record<SessionRow["state"], string>> = {
  ok: "✓",
  open: "◐",
  damaged: "✕",
  unsupported: "≠",
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
  /** What sessions are called, by id. */
  readonly names: ReadonlyMap<string, string>;
  readonly store: PageStore;
  /** Called after a session was chosen. */
  readonly onChosen: () => void;
}) {
  const { rows, openId, asking, names, store, onChosen } = props;
  const sorted = [...rows].sort(newestFirst);
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
            <span class={`state state-${kindOf(row, asking)}`} aria-hidden="true">{markOf(row, asking)}</span>
            <span class={names.has(row.id) ? "name" : "id"} title={row.id}>{names.get(row.id) ?? row.id}</span>
            {asking.includes(row.id)
              ? <span class="live asks">asks you</span>
              : row.live && <span class="live">live</span>}
            <span class="facts">
              {row.reason === null && `${asking.includes(row.id) ? "a question is open" : STATE_WORDS[row.state]} · `}
              {sizeText(row.sizeBytes)}
              {row.lastEventTime !== null && (
                <>
                  {" · "}
                  <time title={isoTime(row.lastEventTime)}>{clockTime(row.lastEventTime)}</time>
                </>
              )}
            </span>
            {names.has(row.id) && <span class="facts id">{row.id}</span>}
            {row.reason !== null && (
              <span class="reason">
                <span class="unseen">{kindOf(row, asking) === "warning" ? "look at it" : STATE_WORDS[row.state]}:</span>
                {" "}
                {row.reason}
              </span>
            )}
          </button>
          <button
            type="button"
            class="quiet delete"
            aria-label={`Delete session ${row.id}`}
            title="Delete"
            onClick={() =>
              confirm(`Delete session ${shortId(row.id)} for good? Export it first to keep its log.`) &&
              store.delete(row.id)}
          >
            ✕
          </button>
        </li>
      ))}
      {sorted.length > ROWS_SHOWN_MAX && <li class="empty">and {sorted.length - ROWS_SHOWN_MAX} older ones</li>}
    </ul>
  );
}

/** What the mark says: a log that is sound may still wait for a person. */
function kindOf(
  { id, state, reason }: SessionRow,
  asking: readonly string[],
): SessionRow["state"] | "asks" | "warning" {
  if (asking.includes(id)) return "asks";
  return state === "ok" && reason !== null ? "warning" : state;
}

function markOf(row: SessionRow, asking: readonly string[]): string {
  const kind = kindOf(row, asking);
  return kind === "asks" ? "?" : kind === "warning" ? "!" : STATE_MARKS[kind];
}

/** A browser's question has only text around the id, so the id must not write text of its own. */
export function shortId(id: string): string {
  const name = withNames(id.replace(/\s/g, " "));
  return name.length > ID_LENGTH_MAX ? `${name.slice(0, ID_LENGTH_MAX)}…` : name;
}
