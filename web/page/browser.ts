/**
 * The browser as the page's store needs it.
 *
 * @module
 */
import { clockTime } from "./marks.tsx";
import type { Surroundings } from "./page_store.ts";

/** The surroundings of a real page. */
export function browserSurroundings(): Surroundings {
  return {
    persist: async () => await navigator.storage?.persist?.() ?? null,
    // A hidden page draws no frames, and must still take in what happens.
    onFrame: (run) => document.visibilityState === "hidden" ? void setTimeout(run) : void requestAnimationFrame(run),
    later: (run, delayMs) => {
      const timer = setTimeout(run, delayMs);
      return () => clearTimeout(timer);
    },
    newId: () => crypto.randomUUID(),
    tabLabel: `the tab opened at ${clockTime(Date.now())}`,
  };
}
