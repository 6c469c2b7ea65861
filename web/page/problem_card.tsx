/**
 * Something that did not work, in the words of whoever refused it.
 *
 * @module
 */
import type { PageState } from "./page_state.ts";
import type { PageStore } from "./page_store.ts";

/** A problem stays until it is dismissed; a loss until somebody has noted it. */
export function ProblemCard(
  { store, problem }: { readonly store: PageStore; readonly problem: PageState["problems"][number] },
) {
  const { number, code, message, sessionIds = [] } = problem;
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
