/**
 * A sign of life for anything that takes over a second.
 *
 * @module
 */
import type { Clock } from "../../mod.ts";
import { printableLine } from "./printable.ts";

/** How long a command works in silence. */
export const PROGRESS_AFTER_MS = 1000;
/** How often the line is drawn anew on a terminal. */
export const PROGRESS_TERMINAL_MS = 200;
/** How often a line is added where nobody can take one back: a file, a pipe. */
export const PROGRESS_FILE_MS = 10_000;

/** A line on standard error while something takes its time. Disposing it takes the line away. */
export interface Progress extends Disposable {
  /** What is going on now. */
  report(text: string): void;
}

/** What a progress line is drawn with. */
export interface ProgressPlace {
  readonly clock: Clock;
  readonly isTerminal: boolean;
  /** Writes to standard error as it is. */
  write(text: string): void;
}

/**
 * Starts a progress line; nothing is drawn during the first second.
 *
 * The line is drawn by the clock, and by `report()` when it is due: a computation that leaves the clock no turn still shows.
 */
export function startProgress(first: string, { clock, isTerminal, write }: ProgressPlace): Progress {
  const startedMs = clock.now();
  const everyMs = isTerminal ? PROGRESS_TERMINAL_MS : PROGRESS_FILE_MS;
  let text = first;
  let dueMs = startedMs + PROGRESS_AFTER_MS;
  let isShown = false;
  let stopTimer = clock.schedule(PROGRESS_AFTER_MS, tick);

  function drawIfDue(): void {
    const nowMs = clock.now();
    if (nowMs < dueMs) return;
    dueMs = nowMs + everyMs;
    isShown = true;
    const line = printableLine(`${text} (${Math.floor((nowMs - startedMs) / 1000)} s)`);
    write(isTerminal ? `\r\u001b[K${line}` : `${line}\n`);
  }

  function tick(): void {
    drawIfDue();
    stopTimer = clock.schedule(Math.max(1, dueMs - clock.now()), tick);
  }

  return {
    report(now) {
      text = now;
      drawIfDue();
    },
    [Symbol.dispose]() {
      stopTimer();
      if (isShown && isTerminal) write("\r\u001b[K");
      isShown = false;
    },
  };
}
