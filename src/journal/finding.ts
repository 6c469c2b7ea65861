/**
 * What a scan found wrong, before it becomes a row in a list or an error in somebody's face.
 *
 * @module
 */
import { CorruptFrameError, CorruptLogError, type HoldfastError, UnsupportedFormatError } from "../errors.ts";
import type { RowFault, SessionEvent } from "../event/mod.ts";
import type { LogFault } from "../store/session_store.ts";

/** A fault with what only an error carries. `message` says what was found, to be read after `Cannot open session "a": `. */
export interface Finding extends LogFault {
  /** The version found, when it is the version that is not supported. */
  readonly version?: number;
  /** The event type found, when it is an event that is not known. */
  readonly type?: string;
  readonly cause?: unknown;
}

/** The finding as `state()` and `list()` show it. */
export function faultOf({ code, offsetBytes, seq, message }: Finding): LogFault {
  return { code, offsetBytes, seq, message };
}

/** The finding as an error. `what` is what could not be done: `open session "a"`. */
export function errorOf(finding: Finding, what: string): HoldfastError {
  const { code, version, type, cause } = finding;
  const seq = finding.seq ?? undefined;
  const offsetBytes = finding.offsetBytes ?? undefined;
  const message = `Cannot ${what}: ${finding.message}`;
  switch (code) {
    case "CORRUPT_FRAME":
      return new CorruptFrameError(message, { offsetBytes, seq, cause });
    case "CORRUPT_LOG":
      return new CorruptLogError(message, { offsetBytes, seq, cause });
    case "UNSUPPORTED_FORMAT":
      return new UnsupportedFormatError(message, { seq, version, type, cause });
  }
}

/** A row that is no event, at its place in the log. */
export function rowFinding(fault: RowFault, offsetBytes: number, seq: number): Finding {
  const { type, cause } = fault;
  const code = fault.kind === "unsupported" ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG";
  return { code, offsetBytes, seq, message: `event ${seq}: ${fault.problem}`, type, cause };
}

/** The objection to an event that this build must not skip. */
export function unknownEvent(event: SessionEvent, offsetBytes: number): Finding {
  const { seq, type } = event;
  const message = `event ${seq} is of the type ${
    JSON.stringify(type)
  }, which a newer program wrote and this build must not skip`;
  return { code: "UNSUPPORTED_FORMAT", offsetBytes, seq, message, type };
}

/** Text behind the first colon of an error of ours: what was found, without what could not be done. */
export function foundIn(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const colon = message.indexOf(": ");
  return message.startsWith("Cannot ") && colon !== -1 ? message.slice(colon + 2) : message;
}
