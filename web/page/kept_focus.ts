/**
 * Where the focus goes when what had it is gone: to what has to be decided next, else to the conversation.
 *
 * @module
 */
import { useEffect, useRef } from "preact/hooks";

/** In the order of what a person has to look at. */
const PLACES: readonly string[] = ["dialog[open]", ".unknown", ".repair", ".conversation"];

/** Gives the focus to the first element there is. */
export function focusFirst(...places: readonly string[]): void {
  for (const place of places) {
    const element = document.querySelector<HTMLElement>(place);
    if (element === null) continue;
    element.focus();
    element.scrollIntoView({ block: "nearest" });
    return;
  }
}

/**
 * After each change of `cause`, once the page is ready again: a focus that fell to the body is put where things go on. A focus
 * that stands somewhere is left there, and nothing is moved when another session is drawn for the first time.
 */
export function useKeptFocus(isReady: boolean, session: string | null, cause: string): void {
  const seen = useRef<{ readonly session: string | null; readonly cause: string } | null>(null);
  useEffect(() => {
    if (!isReady) return;
    const isChanged = seen.current?.session === session && seen.current.cause !== cause;
    seen.current = { session, cause };
    if (!isChanged) return;
    const frame = requestAnimationFrame(() => {
      if (document.activeElement === null || document.activeElement === document.body) focusFirst(...PLACES);
    });
    return () => cancelAnimationFrame(frame);
  }, [isReady, session, cause]);
}
