/**
 * What a log in a database is found to be unfit for, as a value and as an error.
 *
 * @module
 */
import { CorruptLogError, type HoldfastError, UnsupportedFormatError } from "../errors.ts";
import type { RowFault, SessionEvent } from "../event/mod.ts";
import type { LogFault } from "../store/session_store.ts";

/** A fault with what only an error carries. A database has no bytes, so `offsetBytes` is `null`. */
export interface Finding extends LogFault {
  readonly version?: number;
  readonly type?: string;
  readonly cause?: unknown;
}

/** A row that is no event, at its place in the log. */
export function rowFinding({ kind, problem, type, cause }: RowFault, seq: number): Finding {
  const code = kind === "unsupported" ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG";
  return { code, offsetBytes: null, seq, message: `event ${seq}: ${problem}`, type, cause };
}

/** Damage at a place in the log; `null` in the header. */
export function damage(seq: number | null, message: string, cause?: unknown): Finding {
  return { code: "CORRUPT_LOG", offsetBytes: null, seq, message, cause };
}

/** The objection to an event that this build must not skip. */
export function unknownEvent({ seq, type }: SessionEvent): Finding {
  const name = JSON.stringify(type);
  const message = `event ${seq} is of the type ${name}, which a newer program wrote and this build must not skip`;
  return { code: "UNSUPPORTED_FORMAT", offsetBytes: null, seq, message, type };
}

/** The finding as `state()` shows it. */
export function faultOf({ code, offsetBytes, seq, message }: Finding): LogFault {
  return { code, offsetBytes, seq, message };
}

/** The finding as an error. `what` is what could not be done: `open session "a"`. */
export function errorOf({ code, seq, version, type, cause, message }: Finding, what: string): HoldfastError {
  const text = `Cannot ${what}: ${message}`;
  if (code === "UNSUPPORTED_FORMAT") {
    return new UnsupportedFormatError(text, { seq: seq ?? undefined, version, type, cause });
  }
  return new CorruptLogError(text, { seq: seq ?? undefined, cause });
}

/** Text behind the first colon of an error of ours: what was found, without what could not be done. */
export function foundIn(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const colon = message.indexOf(": ");
  return message.startsWith("Cannot ") && colon !== -1 ? message.slice(colon + 2) : message;
}
