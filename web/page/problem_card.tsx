/**
 * Something that did not work, in the words of whoever refused it.
 *
 * @module
 */
import type { Problem } from "./page_state.ts";
import type { PageStore } from "./page_store.ts";
import { shortId } from "./session_list.tsx";

/** A problem stays until it is dismissed; a loss until somebody has noted it. */
export function ProblemCard({ store, problem, name, onOpened }: {
  readonly store: PageStore;
  readonly problem: Problem;
  /** What the session in the way is called. */
  readonly name: string | null;
  /** A session was opened from here. */
  readonly onOpened: () => void;
}) {
  const { number, code, message, sessionIds = [], inTheWay } = problem;
  if (inTheWay !== undefined) {
    const open = async () => {
      if (!await store.open(inTheWay)) return;
      store.dismiss(number);
      onOpened();
    };
    const remove = async () => {
      if (!confirm(`Delete session ${shortId(inTheWay)} for good? Export it first to keep its log.`)) return;
      if (await store.delete(inTheWay)) store.dismiss(number);
    };
    return (
      <div class="card problem" role="alert">
        <p>
          <strong>{code}</strong> This log is session{" "}
          <code>{inTheWay}</code>, and a session of that id is here already{name !== null && `: “${name}”`}. Nothing was
          changed. Open it, or delete it and import again.
        </p>
        <button type="button" onClick={open}>Open it</button>
        <button type="button" onClick={remove}>Delete it</button>
        <button type="button" class="quiet" aria-label="Dismiss" onClick={() => store.dismiss(number)}>✕</button>
      </div>
    );
  }
  if (code === "NOTHING_TO_COMPACT") {
    // An answer, and nothing that went wrong.
    return (
      <div class="card problem calm" role="status">
        <p>{message}</p>
        <button type="button" class="quiet" aria-label="Dismiss" onClick={() => store.dismiss(number)}>✕</button>
      </div>
    );
  }
  return (
    <div class="card problem" role="alert">
      <p>
        <strong>{code}</strong> {message}
        {sessionIds.map((id) => <code key={id} class="gone">{id}</code>)}
      </p>
      {code === "STORAGE_LOST"
        ? <button type="button" onClick={() => store.noteLoss(number)}>Noted</button>
        : <button type="button" class="quiet" aria-label="Dismiss" onClick={() => store.dismiss(number)}>✕</button>}
    </div>
  );
}
