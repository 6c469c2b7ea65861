/**
 * Ways to make a crash happen on purpose, so that a visitor sees the repair.
 *
 * @module
 */
import { useEffect, useRef } from "preact/hooks";
import type { PageState } from "./page_state.ts";
import type { PageStore } from "./page_store.ts";

/** Draws the menu: a disclosure with plain buttons. */
export function CrashMenu({ store, armed }: { readonly store: PageStore; readonly armed: PageState["armed"] }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => {
    menu.current!.open = false;
    menu.current!.querySelector("summary")!.focus();
  };
  useEffect(() => {
    const onPress = (event: Event) => {
      if (menu.current?.open && !menu.current.contains(event.target as Node)) menu.current.open = false;
    };
    document.addEventListener("pointerdown", onPress);
    return () => document.removeEventListener("pointerdown", onPress);
  }, []);
  const run = (action: () => unknown) => () => {
    close();
    action();
  };
  return (
    <details
      class="crash"
      ref={menu}
      onKeyDown={(event) => event.key === "Escape" && menu.current!.open && close()}
    >
      <summary>{armed === null ? "Crash it" : "Crash armed"}</summary>
      <div class="menu">
        <button type="button" onClick={run(() => store.crashNow())}>
          <strong>Kill the worker now</strong>
          <span>What is pending is lost, what is durable stays.</span>
        </button>
        <button type="button" onClick={run(() => location.reload())}>
          <strong>Reload the page</strong>
          <span>As if you had closed the tab in the middle.</span>
        </button>
        <button type="button" onClick={run(() => store.arm("before-effect"))}>
          <strong>Kill between barrier and effect</strong>
          <span>Arms the next effect: it dies after the marker, before it ran.</span>
        </button>
        <button type="button" onClick={run(() => store.arm("after-effect"))}>
          <strong>Kill between effect and result</strong>
          <span>Arms the next effect: it dies after it ran, before the log knows.</span>
        </button>
      </div>
    </details>
  );
}
