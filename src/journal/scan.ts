/**
 * Reads a log from its bytes, once and in order, and remembers only where it got to.
 *
 * A scan can go on when the file has grown: complete frames (raw: accepted lines) never change, so it resumes behind the
 * last of them. What stands there, the tail, is looked at anew each time.
 *
 * How frames and lines are found is in `frame_scan.ts` and `line_scan.ts`; what both make of headers and rows is here.
 *
 * @see session-format §5
 * @module
 */
import { hasCode, UnsupportedFormatError } from "../errors.ts";
import { isRequiredUnknown, type RowFault, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import type { ZstdCodec } from "../frame/mod.ts";
import type { EventPlace } from "../store/session_store.ts";
import type { ByteSource } from "./byte_source.ts";
import { type CheckedLog, emptyLog } from "./checked_log.ts";
import { CURRENT_DIALECT, type Dialect, isRow, type ScannedRow } from "./dialect.ts";
import { type Finding, foundIn, rowFinding, unknownEvent } from "./finding.ts";
import type { LogEncoding } from "./layout.ts";
import type { JournalLimits } from "./limits.ts";
import { type SeekEntry, SeekIndex, type SeekPlaces } from "./seek_index.ts";

/** What a scan needs beside the bytes. */
export interface ScanOptions {
  readonly encoding: LogEncoding;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  /** What the lines mean. Default: version 3. */
  readonly dialect?: Dialect;
  /** A frame that may hold more plain text than this is not decoded: the scan stops with `isCutShort`. Default: no bound. */
  readonly contentBudgetBytes?: number;
}

/** What one `advance()` may do on the way. */
export interface AdvanceOptions {
  /** Called once per accepted event, in order. */
  readonly visit?: (event: SessionEvent, place?: EventPlace) => void;
  readonly signal?: AbortSignal;
}

/** How far a scan got, behind a complete frame (raw: an accepted line). */
export interface ScanPlace {
  readonly log: CheckedLog;
  readonly places: SeekPlaces;
  readonly frames: number;
  readonly endBytes: number;
  readonly lastStartBytes: number;
}

const EMPTY = new Uint8Array(0);

/** A log being read. */
export abstract class LogScan {
  readonly index: SeekIndex = new SeekIndex();
  protected readonly options: ScanOptions;
  protected readonly dialect: Dialect;

  /** `null` until the header was read. */
  header: SessionHeader | null = null;
  log: CheckedLog = emptyLog();
  /** Complete frames; accepted lines when raw. The header counts. */
  frames = 0;
  /** Where the last complete frame (raw: accepted line) ends. A writer continues here. */
  endBytes = 0;
  /** Where the header's frame (raw: line) ends; 0 until it was read. */
  headerEndBytes = 0;
  /** Where the last complete frame begins. Raw: the last accepted line, or the first of the lines that were appended last. */
  lastStartBytes = 0;
  /** How far `log` reaches: as `endBytes`, or to the end of the complete frame in which the scan stopped. */
  readableBytes = 0;
  /** How many bytes stand behind `endBytes`. */
  tailBytes = 0;
  /** Those bytes, when a torn frame was seen there. Raw tails are read again by whoever wants them. */
  tornFrame: Uint8Array<ArrayBuffer> = EMPTY;
  /** Why the scan does not go on. */
  stop: Finding | null = null;
  /** The first thing that forbids writing and not reading. */
  objection: Finding | null = null;
  /** The scan ended before the end to stay inside `contentBudgetBytes`. */
  isCutShort = false;

  constructor(options: ScanOptions) {
    this.options = options;
    this.dialect = options.dialect ?? CURRENT_DIALECT;
  }

  /** Reads from `endBytes` up to `sizeBytes`, as far as possible. */
  protected abstract readOn(source: ByteSource, sizeBytes: number, options: AdvanceOptions): Promise<void>;
  /** A row that the last complete frame began and did not end. */
  protected abstract readonly hasUnfinishedRow: boolean;
  /** Whether the tail may hold records that follow the last complete one. */
  abstract readonly mayHaveSalvage: boolean;

  /** Why the log is not fit for writing, at its present end; `null` when it is. */
  get finding(): Finding | null {
    return this.stop ?? this.#unfinishedRow() ?? this.objection ?? this.#missingSeedEnd();
  }

  /** Reads from where the last call got to, up to `sizeBytes`. Never throws because of what the bytes are. */
  async advance(source: ByteSource, sizeBytes: number, options: AdvanceOptions = {}): Promise<void> {
    if (this.stop !== null || this.isCutShort) return;
    this.tailBytes = 0;
    this.tornFrame = EMPTY;
    await this.readOn(source, sizeBytes, options);
    if (this.header !== null || this.stop !== null || this.isCutShort) return;
    const found = this.tailBytes === 0 ? "no header: the file is empty" : `no whole header in ${this.tailBytes} bytes`;
    this.stopAt({ code: "CORRUPT_LOG", offsetBytes: 0, seq: null, message: found });
  }

  /**
   * Takes note of what this process wrote: the log now ends at `endBytes`, with nothing behind it.
   *
   * @param places where a reader can start, ascending
   * @param frames how many frames (raw: lines) were added
   */
  appended(log: CheckedLog, places: readonly SeekEntry[], frames: number, endBytes: number): void {
    for (const { offsetBytes, seq } of places) this.index.add(offsetBytes, seq);
    this.lastStartBytes = places.at(-1)?.offsetBytes ?? this.lastStartBytes;
    if (this.headerEndBytes === 0) this.headerEndBytes = endBytes;
    this.log = log;
    this.frames += frames;
    this.endBytes = this.readableBytes = endBytes;
    this.tailBytes = 0;
    this.tornFrame = EMPTY;
  }

  /** Goes on where another scan of the same log was, instead of behind the header, which this one has read. */
  resumeAt({ log, places, frames, endBytes, lastStartBytes }: ScanPlace): void {
    this.index.restore(places);
    this.log = log;
    this.frames = frames;
    this.endBytes = this.readableBytes = endBytes;
    this.lastStartBytes = lastStartBytes;
    this.tailBytes = 0;
    this.tornFrame = EMPTY;
  }

  /** Takes a line for the header. Returns whether the scan goes on. */
  protected acceptHeader(text: string): boolean {
    try {
      this.header = this.dialect.parseHeader(text);
      this.objection ??= this.dialect.objectionTo(this.header);
      return true;
    } catch (error) {
      const code = hasCode(error, "UNSUPPORTED_FORMAT") ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG";
      const version = error instanceof UnsupportedFormatError ? error.version : undefined;
      const message = `header: ${foundIn(error)}`;
      return this.stopAt({ code, offsetBytes: 0, seq: null, message, version, cause: error });
    }
  }

  /** Takes a row for the next one. Returns whether the scan goes on. */
  protected acceptRow(
    row: ScannedRow | RowFault,
    length: number,
    offsetBytes: number,
    visit: AdvanceOptions["visit"],
  ): boolean {
    const { nextSeq } = this.log;
    if (!isRow(row)) return this.stopAt(rowFinding(row, offsetBytes, nextSeq));
    const event = this.dialect.eventOf(row);
    const next = this.dialect.accept(this.log, row, this.header!);
    if (typeof next === "string") {
      const name = event === null ? "" : ` (${JSON.stringify(event.type)})`;
      return this.stopAt({
        code: "CORRUPT_LOG",
        offsetBytes,
        seq: nextSeq,
        message: `event ${nextSeq}${name}: ${next}`,
      });
    }
    this.log = next;
    this.dialect.take?.(row, length);
    if (event === null) return true;
    if (isRequiredUnknown(event)) this.objection ??= unknownEvent(event, offsetBytes);
    visit?.(event, { frame: this.frames, offsetBytes });
    return true;
  }

  /** The seq that is expected now; `null` in the header. */
  protected get seq(): number | null {
    return this.header === null ? null : this.log.nextSeq;
  }

  protected stopAt(finding: Finding): false {
    this.stop = finding;
    return false;
  }

  /** Stops for what a decoder threw about the bytes; what is no verdict about them goes on up. */
  protected stopFor(error: unknown, code: Finding["code"], offsetBytes: number): false {
    if (!hasCode(error, "CORRUPT_FRAME") && !hasCode(error, "TOO_LARGE")) throw error;
    return this.stopAt({ code, offsetBytes, seq: this.seq, message: foundIn(error), cause: error });
  }

  /** After the last complete frame no row may be unfinished. Another frame may still finish it, so this is never final. */
  #unfinishedRow(): Finding | null {
    if (!this.hasUnfinishedRow || this.isCutShort) return null;
    const message = "the last complete frame ends inside a row";
    return { code: "CORRUPT_LOG", offsetBytes: this.endBytes, seq: this.seq, message };
  }

  /** A copy of a parent that was not finished: its events are there, and where they end is not. */
  #missingSeedEnd(): Finding | null {
    if (this.header?.isSeeded !== true || this.log.hasInheritedSeed || this.isCutShort) return null;
    const message = "the header says that events were inherited, and no session/end-seed says which";
    return { code: "CORRUPT_LOG", offsetBytes: this.endBytes, seq: this.log.nextSeq, message };
  }
}
