/**
 * What the killed writer writes, so that whoever looks afterwards knows what must be there.
 *
 * @module
 */
import type { SessionEvent } from "../../../mod.ts";

/** The id of the session. */
export const SESSION = "killed";

/** How many events the batch has that begins at a seq. */
export function batchSizeAt(seq: number): number {
  return 1 + seq * 7 % 5;
}

/** The event at a seq, as a run writes it. Some are larger than a page of the database. */
export function eventAt(seq: number, run: number): SessionEvent {
  const text = seq % 11 === 0 ? "x".repeat(9000) : `event ${seq}`;
  return { type: "feedback/record", seq, time: 1000 + seq, data: { text, run } } as SessionEvent;
}
