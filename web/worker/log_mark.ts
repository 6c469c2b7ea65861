/**
 * How a log looked when this tab last had it: enough to notice that somebody else wrote it since.
 *
 * @module
 */
import type { LogState, SessionEvent } from "../../mod.ts";

/** The code of the refusal to write a log that is not as it was remembered. */
export const LOG_MOVED = "LOG_MOVED";

/** Size and end of a log. */
export interface LogMark {
  readonly nextSeq: number;
  /** The last event as JSON; `null` for an empty log. */
  readonly lastText: string | null;
  /** Length of the file; `null` when it was not looked at. */
  readonly sizeBytes: number | null;
}

/** Sees the events of a log go by and keeps what a mark is compared with. */
export class TailKeeper {
  nextSeq = 0;
  lastText: string | null = null;
  /** The event that was the last one by `expected`. */
  expectedText: string | null = null;
  readonly #expectedSeq: number;

  constructor(expected: LogMark | null) {
    this.#expectedSeq = (expected?.nextSeq ?? 0) - 1;
  }

  see(event: SessionEvent): void {
    this.nextSeq = event.seq + 1;
    this.#last = event;
    if (event.seq === this.#expectedSeq) this.expectedText = JSON.stringify(event);
  }

  /** The last event, as JSON. Made when it is asked for: a log has many events and one end. */
  text(): string | null {
    if (this.#last !== null) this.lastText = JSON.stringify(this.#last);
    this.#last = null;
    return this.lastText;
  }

  #last: SessionEvent | null = null;
}

/** The mark of a log as it is now. */
export function markOf(tail: TailKeeper, { sizeBytes, nextSeq }: LogState): LogMark {
  return { nextSeq, sizeBytes, lastText: tail.text() };
}

/** What is different from what was remembered, in words; `null` when nothing is. */
export function movedSince(expected: LogMark, tail: TailKeeper, { sizeBytes, nextSeq }: LogState): string | null {
  if (nextSeq !== expected.nextSeq) return `it has ${nextSeq} events, and ${expected.nextSeq} are remembered`;
  if (tail.expectedText !== expected.lastText) return `its event ${nextSeq - 1} is not the one that is remembered`;
  if (expected.sizeBytes === null || expected.sizeBytes === sizeBytes) return null;
  return `its file has ${sizeBytes} bytes, and ${expected.sizeBytes} are remembered`;
}
