/**
 * The records of a log, whatever state it is in: its header, its rows as their version reads them, and what is none of these.
 *
 * @module
 */
import { isRecord, type JsonRecord } from "../../event/checks.ts";
import { FORMAT_VERSION, readRow, RowFault, type SessionEvent } from "../../event/mod.ts";
import type { LogEncoding } from "../layout.ts";
import { isLegacyVersion, type LegacyRow, type LegacyVersion, readLegacyRow } from "../legacy/mod.ts";
import { type DamageKind, type Diagnosis, diagnosis } from "./kinds.ts";
import { type FoundLine, type LineEvidence, readLines } from "./lines.ts";
import { mendLine } from "./mend_line.ts";
import type { BytePlace, LogBytes, LookOptions } from "./source.ts";

/** A row: one event, or in old versions several. */
export type StoredRow = { readonly version: 3; readonly event: SessionEvent } | {
  readonly version: LegacyVersion;
  readonly row: LegacyRow;
};

/** What stands in a log. */
export type RowEvidence =
  | { readonly kind: "header"; readonly record: JsonRecord; readonly text: string; readonly place: BytePlace }
  | FoundRow
  /** `isLost`: the bytes at `place` are in no row, or not all of them are. */
  | { readonly kind: "damage"; readonly finding: Diagnosis; readonly place: BytePlace; readonly isLost: boolean };

/** A row that was found. */
export interface FoundRow {
  readonly kind: "row";
  readonly stored: StoredRow;
  /** Of its first event, as it says itself. */
  readonly seq: number;
  /** How many events it stands for. */
  readonly count: number;
  readonly type: string;
  readonly text: string;
  readonly place: BytePlace;
  /** How many rows before it begin at the same offset. */
  readonly indexInPlace: number;
  /** Why it is believed, when that is not plain. */
  readonly note: string | null;
}

/** How rows are read. */
export interface RowOptions extends LookOptions {
  readonly encoding: LogEncoding;
  /** The version when the bytes do not say it: where reading begins behind the header, or there is none. Default 3. */
  readonly version?: 3 | LegacyVersion;
}

/** The records from `startBytes`, where a frame or a line begins. Only what begins at 0 has a header. */
export async function* readRows(
  source: LogBytes,
  startBytes: number,
  options: RowOptions,
): AsyncGenerator<RowEvidence, void, undefined> {
  const reading = new Reading(options.version ?? FORMAT_VERSION, startBytes > 0, options.encoding);
  for await (const evidence of readLines(source, options.encoding, startBytes, options)) yield* reading.take(evidence);
  yield* reading.end();
}

class Reading {
  readonly #encoding: LogEncoding;
  #version: 3 | LegacyVersion;
  /** Whether a header was seen, or there is none to be seen any more. */
  #isBegun: boolean;
  #hasHeader: boolean;
  #headerPlace: BytePlace | null = null;
  #placeAt = -1;
  #indexInPlace = 0;
  #hasCrlf = false;
  /** Whether anything was damaged before the header. */
  #isDamaged = false;
  /** A line that is no record, until the next one shows whether it is the beginning of that. */
  #held: { readonly line: FoundLine; readonly message: string } | null = null;

  constructor(version: 3 | LegacyVersion, isBehindHeader: boolean, encoding: LogEncoding) {
    this.#version = version;
    this.#isBegun = this.#hasHeader = isBehindHeader;
    this.#encoding = encoding;
  }

  *take(evidence: LineEvidence): Generator<RowEvidence, void, undefined> {
    if (evidence.kind === "damage") {
      yield* this.#release(null);
      this.#isDamaged = true;
      yield evidence;
      return;
    }
    const { line } = evidence;
    yield* this.#release(line);
    if (line.isGarbled) yield remark("invalid-utf8", line, "bytes that are no UTF-8, read as U+FFFD");
    if (line.text.endsWith("\r") && !this.#hasCrlf) {
      this.#hasCrlf = true; // Said once: such a file has one in every line.
      yield remark("crlf", line, "lines that end with a carriage return, from here on");
    }
    const row = this.#row(line.text);
    // What parses is a record. Even without its line end: the beginning of an object is never a whole one.
    if (!(row instanceof RowFault)) {
      yield* this.#found(line, row, line.text, line.isEnded ? null : "its line has no end");
      return;
    }
    if (isHeaderText(line.text)) {
      yield* this.#header(line, line.text);
      return;
    }
    yield* this.#mended(line, row);
  }

  *end(): Generator<RowEvidence, void, undefined> {
    yield* this.#release(null);
    if (!this.#hasHeader && !this.#isBegun) yield noHeader("there is no record in the file");
  }

  /** A line that is not one row. */
  *#mended(line: FoundLine, fault: RowFault): Generator<RowEvidence, void, undefined> {
    const mended = mendLine(line.text);
    if (mended.kind === null || mended.kind === "crlf" || mended.kind === "bad-row") {
      if (!line.isEnded && this.#encoding === "none") {
        yield* this.#missHeader();
        yield damage("torn-tail", line, null, `${line.place.sizeBytes} bytes of a line`, true);
        return;
      }
      // Behind a whole frame that breaks off in a row that row is told as a whole.
      if (!line.isEnded) return;
      if (fault.cause !== undefined) this.#held = { line, message: fault.problem };
      else yield* this.#refused(line, fault);
      return;
    }
    yield damage(mended.kind, line, null, mended.message, mended.hasRest || mended.records.length === 0);
    for (const text of mended.records) {
      const row = this.#row(text);
      if (!(row instanceof RowFault)) yield* this.#found(line, row, text, `its line held ${mended.message}`);
      else if (isHeaderText(text)) yield* this.#header(line, text);
      else yield* this.#refused(line, row);
    }
  }

  /** A record that its version refuses. */
  *#refused(line: FoundLine, fault: RowFault): Generator<RowEvidence, void, undefined> {
    yield* this.#missHeader();
    const kind = fault.kind === "unsupported" ? "unknown-event" : "bad-row";
    yield damage(kind, line, fault.seq ?? null, `a row with ${fault.problem}`, true);
  }

  /** Says what a held line was. */
  *#release(next: FoundLine | null): Generator<RowEvidence, void, undefined> {
    if (this.#held === null) return;
    const { line, message } = this.#held;
    this.#held = null;
    yield* this.#missHeader();
    const isPrefix = next !== null && line.text.length > 0 && next.text.startsWith(line.text.trimEnd());
    yield isPrefix && line.text.trim() !== ""
      ? damage("duplicate-prefix", line, null, "the beginning of the record that follows it whole", true)
      : damage("bad-row", line, null, message, true);
  }

  *#header(line: FoundLine, text: string): Generator<RowEvidence, void, undefined> {
    const { place } = line;
    if (this.#hasHeader) {
      yield damage("second-header", line, null, "another header: a second log begins here", true);
      return;
    }
    const record = JSON.parse(text) as JsonRecord;
    if (this.#isBegun) {
      yield damage("header-in-wrong-frame", line, null, "the header stands behind other records", false);
    } else if (line.isSplit) {
      yield damage("header-in-wrong-frame", line, null, "the header goes over several frames", false);
    } else if (place.offsetBytes > 0 && !this.#isDamaged && this.#encoding === "zstd") {
      // Not even in a frame of its own behind one without content.
      yield damage("header-in-wrong-frame", line, null, "the header does not stand in the first frame", false);
    }
    this.#isBegun = this.#hasHeader = true;
    this.#headerPlace = place;
    // No reader believes it.
    if (line.isUnverified || !line.isEnded) {
      const message = line.isUnverified ? "the header stands in a damaged frame" : "the line of the header has no end";
      yield damage("header-damaged", line, null, message, false);
    }
    const { version } = record;
    if (isLegacyVersion(version) || version === FORMAT_VERSION) this.#version = version;
    yield { kind: "header", record, text, place };
  }

  *#found(
    line: FoundLine,
    stored: StoredRow,
    text: string,
    note: string | null,
  ): Generator<RowEvidence, void, undefined> {
    yield* this.#missHeader();
    const { place, isUnverified } = line;
    if (
      this.#headerPlace !== null && place.offsetBytes === this.#headerPlace.offsetBytes && this.#encoding === "zstd"
    ) {
      this.#headerPlace = null;
      yield damage("header-in-wrong-frame", line, null, "the header shares its frame with events", false);
    }
    if (place.offsetBytes !== this.#placeAt) this.#indexInPlace = 0;
    this.#placeAt = place.offsetBytes;
    const { seq, count, type } = whatOf(stored);
    const unverified = isUnverified ? "it stands in a damaged frame and nobody has verified its text" : null;
    const why = [note, unverified].filter((part) => part !== null).join("; ");
    const known = { stored, seq, count, type, text, place };
    yield { kind: "row", ...known, indexInPlace: this.#indexInPlace++, note: why === "" ? null : why };
  }

  /** Whatever comes before a header shows that there is none where it should be. */
  *#missHeader(): Generator<RowEvidence, void, undefined> {
    if (this.#isBegun) return;
    this.#isBegun = true;
    yield noHeader("the first record of the file is no header");
  }

  #row(text: string): StoredRow | RowFault {
    // Parsing what is no JSON costs a hundred times as much as seeing it, and a small frame can hold millions of such lines.
    if (!JSON_START.test(text)) return text.trim() === "" ? BLANK_LINE : NO_JSON;
    if (this.#version === FORMAT_VERSION) {
      const event = readRow(text);
      return event instanceof RowFault ? event : { version: FORMAT_VERSION, event };
    }
    const row = readLegacyRow(text, this.#version);
    return row instanceof RowFault ? row : { version: this.#version, row };
  }
}

/** What a JSON text begins with. */
const JSON_START = /^[ \t\r\n]*[[{"\-0-9tfn]/;

const BLANK_LINE = new RowFault("issue", "a blank line", false, undefined, undefined, "a blank line");
const NO_JSON = new RowFault("issue", "text that is not valid JSON", false, undefined, undefined, "no JSON");

function whatOf(stored: StoredRow): { readonly seq: number; readonly count: number; readonly type: string } {
  if (stored.version === FORMAT_VERSION) {
    const { event } = stored as { readonly event: SessionEvent };
    return { seq: event.seq, count: 1, type: event.type };
  }
  const { row } = stored as { readonly row: LegacyRow };
  return { seq: row.firstSeq, count: row.count, type: row.kind === "event" ? row.event.type : row.record.type };
}

function noHeader(message: string): RowEvidence {
  const place = { offsetBytes: 0, sizeBytes: 0 };
  return { kind: "damage", finding: diagnosis("header-missing", place, null, message), place, isLost: false };
}

function remark(kind: DamageKind, { place }: FoundLine, message: string): RowEvidence {
  return { kind: "damage", finding: diagnosis(kind, place, null, message), place, isLost: false };
}

function damage(
  kind: DamageKind,
  { place }: FoundLine,
  seq: number | null,
  message: string,
  isLost: boolean,
): RowEvidence {
  return { kind: "damage", finding: diagnosis(kind, place, seq, message), place, isLost };
}

/** Whether a record is meant as a header, whatever is wrong with it. */
function isHeaderText(text: string): boolean {
  if (!text.includes('"session"')) return false;
  try {
    const record: unknown = JSON.parse(text);
    return isRecord(record) && record.type === "session" && record.seq === undefined;
  } catch {
    return false;
  }
}
