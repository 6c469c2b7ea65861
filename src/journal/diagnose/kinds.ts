/**
 * The kinds of damage a log can have, each with its own stable name.
 *
 * @module
 */
import type { LogFault } from "../../store/session_store.ts";

/** How many findings of one log are listed; the others are counted. */
export const FINDINGS_MAX = 100;

/** What a log can suffer from, with what a person should know about it. The names are stable. */
export const DAMAGE_KINDS = {
  "torn-tail": "the last write did not get to its end",
  "zero-filled-tail": "the file ends in zeros that nobody wrote: its size was durable before its content",
  "nul-run": "zeros where text should be",
  "byte-order-mark": "a byte order mark before the first record",
  "crlf": "lines that end with a carriage return",
  "invalid-utf8": "bytes that are no UTF-8",
  "fused-lines": "several records on one line",
  "duplicate-prefix": "the beginning of the record that follows it whole",
  "bad-row": "a line that is no event",
  "unlawful-event": "an event that must not stand at this place",
  "unknown-event": "an event of a newer program",
  "missing-seq": "events that are not there",
  "doubled-seq": "an event that is there twice",
  "wrong-seq": "an event in its place with the number of another place",
  "out-of-order": "events behind others that follow them",
  "forked-sequence": "two writers went on from the same event",
  "header-missing": "no header",
  "header-damaged": "a header that cannot be read",
  "header-in-wrong-frame": "a header that does not stand alone in the first frame",
  "second-header": "another header behind the first one: two logs in one file",
  "unsupported-version": "a version that this build does not read",
  "missing-seed-end": "inherited events without the end that says which they are",
  "checksum": "a frame whose content does not have the checksum that stands behind it",
  "corrupt-block": "a frame with a block that does not decode",
  "truncated-block": "a frame that breaks off, and whole frames behind it",
  "corrupt-frame": "a frame that cannot be delimited",
  "unfinished-row": "a row that its frame begins and no frame ends",
  "skippable-frame": "a skippable frame, which a session log never holds",
  "foreign-bytes": "bytes that belong to no frame",
  "trailing-garbage": "bytes behind the last frame that belong to none",
  "size-bomb": "content larger than anybody should be made to hold",
  "opposite-encodings": "the same session in the other encoding beside it",
  "identity-mismatch": "a header that belongs to another place",
  "stray-file": "a file that belongs to no session",
} as const;

/** One of {@linkcode DAMAGE_KINDS}. */
export type DamageKind = keyof typeof DAMAGE_KINDS;

/** One thing that is wrong with a log. */
export interface Diagnosis {
  readonly kind: DamageKind;
  /**
   * `damage`: a log with it is not written any more. `tail`: what a crash leaves at the end, which the next writer puts in order.
   * `oddity`: strange, and harmless.
   */
  readonly severity: "damage" | "tail" | "oddity";
  readonly code: LogFault["code"];
  /** Where the bytes begin in the file; of a row in a frame, where its frame begins. `null` when it is about no bytes. */
  readonly offsetBytes: number | null;
  /** How many bytes it is about; 0 for something that is missing. */
  readonly sizeBytes: number;
  /** The seq that is affected, as far as it is known. */
  readonly seq: number | null;
  /** One plain sentence without a full stop. */
  readonly message: string;
}

/** Kinds that forbid nothing. */
const ODDITIES: ReadonlySet<DamageKind> = new Set(["crlf", "invalid-utf8", "stray-file"]);
const TAILS: ReadonlySet<DamageKind> = new Set(["torn-tail"]);
const FRAME_KINDS: ReadonlySet<DamageKind> = new Set<DamageKind>([
  ...["zero-filled-tail", "checksum", "corrupt-block", "truncated-block", "corrupt-frame"] as const,
  ...["skippable-frame", "foreign-bytes", "trailing-garbage", "size-bomb"] as const,
]);
const UNSUPPORTED_KINDS: ReadonlySet<DamageKind> = new Set(["unsupported-version", "unknown-event"]);

/** A diagnosis with the severity and the code that its kind has by nature. */
export function diagnosis(
  kind: DamageKind,
  place: { readonly offsetBytes: number | null; readonly sizeBytes?: number },
  seq: number | null,
  message: string,
): Diagnosis {
  const severity = ODDITIES.has(kind) ? "oddity" : TAILS.has(kind) ? "tail" : "damage";
  const code = FRAME_KINDS.has(kind)
    ? "CORRUPT_FRAME"
    : UNSUPPORTED_KINDS.has(kind)
    ? "UNSUPPORTED_FORMAT"
    : "CORRUPT_LOG";
  return { kind, severity, code, offsetBytes: place.offsetBytes, sizeBytes: place.sizeBytes ?? 0, seq, message };
}
