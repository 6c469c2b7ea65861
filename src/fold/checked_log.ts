/**
 * Whether an event may stand next in a log. One function for what the disk gives back and for what is about to be written.
 *
 * @module
 */
import { SequenceGapError, UnknownEventError } from "../errors.ts";
import {
  isEvent,
  isRequiredUnknown,
  readRow,
  RowFault,
  type SessionEvent,
  type SessionHeader,
  shapeProblem,
} from "../event/mod.ts";
import { type Surface, surfaceFold } from "./surface.ts";

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
  return shapeProblem(event) ?? withSurface(log, event, surfaceFold.apply(log.surface, event), header);
}

/** The log with one more event of a good shape, and the surface that comes of it. */
export function withSurface(
  log: CheckedLog,
  event: SessionEvent,
  surface: Surface,
  header: SessionHeader,
): CheckedLog | string {
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

/**
 * The log with a batch of rows, each of which a reader would accept.
 *
 * The rows are read back from what is about to be stored, so that nothing is written that would not open again.
 *
 * @param firstSeq the seq the caller gave the first event; `null` for an empty batch
 * @param what what is being done, for messages: `append to session "a"`
 * @param read reads one row back. Default: as a line of text
 * @throws {SequenceGapError} when the batch does not continue the log
 * @throws {UnknownEventError} a type outside the format without `ignorable: true`
 * @throws {TypeError} anything else that would not open again
 */
export function withBatch<Row = string>(
  log: CheckedLog,
  rows: readonly Row[],
  firstSeq: number | null,
  header: SessionHeader,
  what: string,
  read: (row: Row, expectedSeq: number) => SessionEvent | RowFault = readLine,
): CheckedLog {
  if (firstSeq !== null && firstSeq !== log.nextSeq) throw gap(what, firstSeq, log.nextSeq);
  for (const row of rows) {
    const { nextSeq } = log;
    const event = read(row, nextSeq);
    if (event instanceof RowFault) {
      if (event.seq !== undefined && event.seq !== nextSeq) throw gap(what, event.seq, nextSeq);
      throw new TypeError(`Cannot ${what}: event ${nextSeq} is refused, found ${event.problem}`);
    }
    if (isRequiredUnknown(event)) {
      throw new UnknownEventError(`Cannot ${what}: the type of event ${nextSeq}, "${event.type}", is not known`);
    }
    const next = withEvent(log, event, header);
    if (typeof next === "string") throw new TypeError(`Cannot ${what}: event ${nextSeq} is refused, found ${next}`);
    log = next;
  }
  return log;
}

function readLine(row: unknown, expectedSeq: number): SessionEvent | RowFault {
  return readRow(row as string, expectedSeq);
}

function gap(what: string, found: number, wanted: number): SequenceGapError {
  return new SequenceGapError(`Cannot ${what}: found seq ${found}, wanted ${wanted}`);
}
