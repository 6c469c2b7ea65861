/**
 * Whether an event may stand next in a log. One function for what the disk gives back and for what is about to be written.
 *
 * @module
 */
import { isEvent, readRow, RowFault, type SessionEvent, type SessionHeader, shapeProblem } from "../event/mod.ts";
import { type Surface, surfaceFold } from "../fold/mod.ts";

/** A log up to some event, as far as the next event depends on it. Never changed, only replaced. */
export interface CheckedLog {
  readonly nextSeq: number;
  readonly surface: Surface;
  /** One more than the seq of the last inherited event; 0 when there is no `session/end-seed` that says so. */
  readonly inheritedEventCount: number;
  /** Whether the header's `isSeeded` has its `session/end-seed`. */
  readonly hasInheritedSeed: boolean;
}

/** A log without events. */
export function emptyLog(): CheckedLog {
  return { nextSeq: 0, surface: surfaceFold.initial(), inheritedEventCount: 0, hasInheritedSeed: false };
}

/**
 * The log with one more event, or what is wrong with the event, to be read after "event 4: ".
 *
 * An event of an unknown type is accepted as it is: whether it may be skipped is another question.
 *
 * @see session-format §2 (isSeeded), §5.5
 */
export function withEvent(log: CheckedLog, event: SessionEvent, header: SessionHeader): CheckedLog | string {
  const problem = shapeProblem(event);
  if (problem !== null) return problem;
  const surface = surfaceFold.apply(log.surface, event);
  if (surface.fault !== null) return surface.fault.message;
  const isInheritedSeed = isEvent(event, "session/end-seed") && event.data.inherited === true;
  if (isInheritedSeed && !header.isSeeded) return "it ends an inherited seed, and the header names none";
  return {
    nextSeq: log.nextSeq + 1,
    surface,
    inheritedEventCount: isInheritedSeed ? event.seq : log.inheritedEventCount,
    hasInheritedSeed: log.hasInheritedSeed || isInheritedSeed,
  };
}

/** What accepted lines amount to. */
export interface AcceptedRows {
  readonly log: CheckedLog;
  readonly events: readonly SessionEvent[];
  /** The first line that was not accepted, and why; `null` when all were. */
  readonly refused: { readonly index: number; readonly fault: RowFault | string } | null;
}

/** Reads lines as the next rows of a log, up to the first that is none. */
export function acceptRows(log: CheckedLog, lines: Iterable<string>, header: SessionHeader): AcceptedRows {
  const events: SessionEvent[] = [];
  for (const line of lines) {
    const event = readRow(line, log.nextSeq);
    if (event instanceof RowFault) return { log, events, refused: { index: events.length, fault: event } };
    const next = withEvent(log, event, header);
    if (typeof next === "string") return { log, events, refused: { index: events.length, fault: next } };
    log = next;
    events.push(event);
  }
  return { log, events, refused: null };
}
