/**
 * The bar at the top: what this is, who answers, and how to crash it.
 *
 * @module
 */
import { CrashMenu } from "./crash_menu.tsx";
import type { PageState } from "./page_state.ts";
import type { PageStore } from "./page_store.ts";

/** Draws the bar. */
export function TopBar({ store, state, onModel, onKeys }: {
  readonly store: PageStore;
  readonly state: PageState;
  readonly onModel: () => void;
  readonly onKeys: () => void;
}) {
  return (
    <header class="top">
      <h1>
        <Brand /> Holdfast
      </h1>
      {state.isVolatile && <span class="badge">volatile: nothing here survives</span>}
      <div class="tools">
        <button type="button" class="quiet" onClick={onModel}>
          Model <strong>{state.view?.modelName ?? (state.model.kind === "demo" ? "demo" : state.model.model)}</strong>
        </button>
        <CrashMenu store={store} armed={state.armed} />
        <button type="button" class="quiet keys" onClick={onKeys} aria-label="Keys">
          <span class="word">Keys</span> <kbd>?</kbd>
        </button>
      </div>
    </header>
  );
}

function Brand() {
  return (
    <svg class="brand" viewBox="0 0 32 32" aria-hidden="true">
      <path
        d="M16 3v12M16 15c-6 2-9 6-9 14M16 15c6 2 9 6 9 14M16 15v14"
        fill="none"
        stroke="currentColor"
        stroke-width="3"
        stroke-linecap="round"
      />
    </svg>
  );
}
