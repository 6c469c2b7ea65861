/**
 * Reads a log from its bytes, once and in order, and remembers only where it got to.
 *
 * A scan can go on when the file has grown: complete frames (raw: accepted lines) never change, so it resumes behind the
 * last of them. What stands there, the tail, is looked at anew each time.
 *
 * @see session-format §5
 * @module
 */
import { hasCode, UnsupportedFormatError } from "../errors.ts";
import {
  isRequiredUnknown,
  parseHeader,
  readRow,
  RowFault,
  type SessionEvent,
  type SessionHeader,
} from "../event/mod.ts";
import { type DelimitedFrame, FRAME_MAGIC, lastFrames, LineScanner, type ZstdCodec } from "../frame/mod.ts";
import { type ByteSource, readChunks, readFrames } from "./byte_source.ts";
import { type CheckedLog, emptyLog, withEvent } from "./checked_log.ts";
import { type Finding, foundIn, rowFinding } from "./finding.ts";
import type { LogEncoding } from "./layout.ts";
import type { JournalLimits } from "./limits.ts";
import { type SeekEntry, SeekIndex } from "./seek_index.ts";

/** What a scan needs beside the bytes. */
export interface ScanOptions {
  readonly encoding: LogEncoding;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  /** A frame that may hold more plain text than this is not decoded: the scan stops with `isCutShort`. Default: no bound. */
  readonly contentBudgetBytes?: number;
}

/** What one `advance()` may do on the way. */
export interface AdvanceOptions {
  /** Called once per accepted event, in order. */
  readonly visit?: (event: SessionEvent) => void;
  readonly signal?: AbortSignal;
}

const EMPTY = new Uint8Array(0);

/** A log being read. */
export class LogScan {
  readonly encoding: LogEncoding;
  readonly index: SeekIndex = new SeekIndex();
  readonly #options: ScanOptions;
  /** Keeps a row that spans complete frames. Only used for zstd. */
  readonly #lines: LineScanner;
  /** The first row issue of a raw log behind `endBytes`: a torn tail, unless a turn ends behind it. */
  #issue: Finding | null = null;

  /** `null` until the header was read. */
  header: SessionHeader | null = null;
  log: CheckedLog = emptyLog();
  /** Complete frames; accepted lines when raw. The header counts. */
  frames = 0;
  /** Where the last complete frame (raw: accepted line) ends. A writer continues here. */
  endBytes = 0;
  /** How far `nextSeq` events reach: as `endBytes`, or to the end of the complete frame in which the scan stopped. */
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
    this.#options = options;
    this.encoding = options.encoding;
    this.#lines = new LineScanner(0, options.limits.contentSizeBytesMax);
  }

  /** Why the log is not fit for writing, at its present end; `null` when it is. */
  get finding(): Finding | null {
    return this.stop ?? this.#unfinishedRow() ?? this.objection ?? this.#missingSeedEnd();
  }

  /** Whether the tail may hold records that follow the last complete one. */
  get mayHaveSalvage(): boolean {
    return this.encoding === "zstd" && this.stop === null && this.#lines.restBytes === 0 && !this.isCutShort;
  }

  /** Reads from where the last call got to, up to `sizeBytes`. Never throws because of what the bytes are. */
  async advance(source: ByteSource, sizeBytes: number, options: AdvanceOptions = {}): Promise<void> {
    if (this.stop !== null || this.isCutShort) return;
    this.tailBytes = 0;
    this.tornFrame = EMPTY;
    this.#issue = null;
    if (this.encoding === "zstd") await this.#advanceFrames(source, sizeBytes, options);
    else await this.#advanceLines(source, sizeBytes, options);
    if (this.header !== null || this.stop !== null || this.isCutShort) return;
    const found = this.tailBytes === 0 ? "no header: the file is empty" : `no whole header in ${this.tailBytes} bytes`;
    this.#stopAt({ code: "CORRUPT_LOG", offsetBytes: 0, seq: null, message: found });
  }

  /**
   * Takes note of what this process wrote: the log now ends at `endBytes`, with nothing behind it.
   *
   * @param places where a reader can start, ascending
   * @param frames how many frames (raw: lines) were added
   */
  appended(log: CheckedLog, places: readonly SeekEntry[], frames: number, endBytes: number): void {
    for (const { offsetBytes, seq } of places) this.index.add(offsetBytes, seq);
    this.log = log;
    this.frames += frames;
    this.endBytes = this.readableBytes = endBytes;
    this.tailBytes = 0;
    this.tornFrame = EMPTY;
    this.#issue = null;
  }

  async #advanceFrames(source: ByteSource, sizeBytes: number, options: AdvanceOptions): Promise<void> {
    const { frameSizeBytesMax } = this.#options.limits;
    for await (const piece of readFrames(source, this.endBytes, sizeBytes, frameSizeBytesMax, options.signal)) {
      switch (piece.kind) {
        case "torn":
          this.tailBytes = piece.bytes.length;
          this.tornFrame = piece.bytes;
          this.#checkTorn(piece.bytes);
          return;
        case "corrupt":
          this.tailBytes = sizeBytes - piece.offsetBytes;
          this.#stopAt({
            code: "CORRUPT_FRAME",
            offsetBytes: piece.offsetBytes,
            seq: this.#seq,
            message: piece.message,
          });
          return;
        case "skippable":
          this.#object(
            "CORRUPT_FRAME",
            piece.offsetBytes,
            this.#seq,
            "a skippable frame, which a session log never holds",
          );
          this.endBytes = this.readableBytes = piece.endOffset;
          break;
        case "frame": {
          const isWhole = this.#acceptFrame(piece.frame, options.visit);
          if (!isWhole) this.tailBytes = sizeBytes - this.endBytes;
          if (!isWhole) return;
          this.endBytes = this.readableBytes = piece.endOffset;
          this.frames += 1;
        }
      }
    }
  }

  /**
   * A torn tail is the last thing in a file. Whole frames behind it were acknowledged: then a bit of the frame before them has
   * changed its length, and cutting there would lose them.
   */
  #checkTorn(tail: Uint8Array): void {
    const { length } = FRAME_MAGIC;
    const [behind] = lastFrames(tail.subarray(length), this.endBytes + length, this.#options.codec);
    if (behind === undefined) return;
    const message = `a frame without an end, and a whole frame behind it at ${behind.offsetBytes}`;
    this.#stopAt({ code: "CORRUPT_FRAME", offsetBytes: this.endBytes, seq: this.#seq, message });
  }

  /** Reads the rows of one frame. Returns whether all of them could be accepted. */
  #acceptFrame(frame: DelimitedFrame, visit: AdvanceOptions["visit"]): boolean {
    const plain = this.#decode(frame);
    if (plain === null) return false;
    const isFirst = this.header === null;
    if (this.#lines.restBytes === 0) this.index.add(frame.offsetBytes, this.log.nextSeq);
    try {
      for (const line of this.#lines.feed(plain)) {
        const isAccepted = this.header === null
          ? this.#acceptHeader(line.text)
          : this.#acceptRow(readRow(line.text, this.log.nextSeq), frame.offsetBytes, visit);
        if (isAccepted) continue;
        this.readableBytes = frame.offsetBytes + frame.bytes.length;
        return false;
      }
    } catch (error) {
      return this.#refuse(error, "CORRUPT_LOG", frame.offsetBytes);
    }
    if (!isFirst) return true;
    if (this.header === null) {
      const message = "the first frame does not hold a whole header line";
      return this.#stopAt({ code: "CORRUPT_LOG", offsetBytes: 0, seq: null, message });
    }
    if (this.log.nextSeq > 0 || this.#lines.restBytes > 0) {
      this.#object("CORRUPT_LOG", 0, null, "the header shares its frame with events, as no session log does");
    }
    return true;
  }

  /** The content of a frame, or `null` after having stopped. */
  #decode(frame: DelimitedFrame): Uint8Array | null {
    const { codec, limits, contentBudgetBytes } = this.#options;
    const { contentSizeBytes, contentSizeBytesLeast, contentSizeBytesMost } = frame.span;
    const isTooLarge = Math.max(contentSizeBytes ?? 0, contentSizeBytesLeast) > limits.contentSizeBytesMax;
    if (!isTooLarge && contentBudgetBytes !== undefined && contentSizeBytesMost > contentBudgetBytes) {
      this.isCutShort = true;
      return null;
    }
    try {
      return codec.decompress(frame.bytes, limits.contentSizeBytesMax);
    } catch (error) {
      this.#refuse(error, "CORRUPT_FRAME", frame.offsetBytes);
      return null;
    }
  }

  async #advanceLines(source: ByteSource, sizeBytes: number, options: AdvanceOptions): Promise<void> {
    const lines = new LineScanner(this.endBytes, this.#options.limits.contentSizeBytesMax);
    const startBytes = this.endBytes;
    let readBytes = 0;
    for await (const chunk of readChunks(source, startBytes, sizeBytes, options.signal)) {
      readBytes += chunk.length;
      try {
        for (const { text, offsetBytes, endOffset } of lines.feed(chunk)) {
          if (!this.#acceptLine(text, offsetBytes, options.visit)) break;
          if (this.#issue !== null) continue;
          this.endBytes = this.readableBytes = endOffset;
          this.frames += 1;
        }
      } catch (error) {
        this.#refuse(error, "CORRUPT_LOG", lines.restOffset);
      }
      if (this.stop !== null) break;
    }
    this.tailBytes = startBytes + readBytes - this.endBytes;
  }

  /** One line of a raw log. Returns whether the scan goes on. */
  #acceptLine(text: string, offsetBytes: number, visit: AdvanceOptions["visit"]): boolean {
    if (this.header === null) return this.#acceptHeader(text);
    const { nextSeq } = this.log;
    if (this.#issue !== null) return this.#acceptLineAfterIssue(text, offsetBytes, this.#issue);
    this.index.add(offsetBytes, nextSeq);
    const row = readRow(text, nextSeq);
    if (!(row instanceof RowFault) || row.kind !== "issue") return this.#acceptRow(row, offsetBytes, visit);
    this.#issue = rowFinding(row, offsetBytes, nextSeq);
    // A turn that ends at the wrong seq cannot be the beginning of a torn tail.
    const provesDamage = row.isTurnEnd && row.seq !== undefined && row.seq !== nextSeq;
    return provesDamage ? this.#stopAt(this.#issue) : true;
  }

  /** A torn tail holds no end of a turn: the rows before it were acknowledged with it. And some rows are refused anywhere. */
  #acceptLineAfterIssue(text: string, offsetBytes: number, issue: Finding): boolean {
    const row = readRow(text);
    if (!(row instanceof RowFault)) return row.type === "turn/end" ? this.#stopAt(issue) : true;
    if (row.kind !== "issue") return this.#stopAt(rowFinding(row, offsetBytes, this.log.nextSeq));
    return row.isTurnEnd ? this.#stopAt(issue) : true;
  }

  #acceptHeader(text: string): boolean {
    try {
      this.header = parseHeader(text);
      return true;
    } catch (error) {
      const code = hasCode(error, "UNSUPPORTED_FORMAT") ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG";
      const version = error instanceof UnsupportedFormatError ? error.version : undefined;
      return this.#stopAt({
        code,
        offsetBytes: 0,
        seq: null,
        message: `header: ${foundIn(error)}`,
        version,
        cause: error,
      });
    }
  }

  #acceptRow(row: SessionEvent | RowFault, offsetBytes: number, visit: AdvanceOptions["visit"]): boolean {
    const { nextSeq } = this.log;
    if (row instanceof RowFault) return this.#stopAt(rowFinding(row, offsetBytes, nextSeq));
    const next = withEvent(this.log, row, this.header!);
    if (typeof next === "string") {
      const message = `event ${nextSeq} (${JSON.stringify(row.type)}): ${next}`;
      return this.#stopAt({ code: "CORRUPT_LOG", offsetBytes, seq: nextSeq, message });
    }
    this.log = next;
    if (isRequiredUnknown(row)) this.objection ??= unknownEvent(row, offsetBytes);
    visit?.(row);
    return true;
  }

  /** The seq that is expected now; `null` in the header. */
  get #seq(): number | null {
    return this.header === null ? null : this.log.nextSeq;
  }

  #stopAt(finding: Finding): false {
    this.stop = finding;
    return false;
  }

  /** Stops for what a decoder threw about the bytes; what is no verdict about them goes on up. */
  #refuse(error: unknown, code: Finding["code"], offsetBytes: number): false {
    if (!hasCode(error, "CORRUPT_FRAME") && !hasCode(error, "TOO_LARGE")) throw error;
    return this.#stopAt({ code, offsetBytes, seq: this.#seq, message: foundIn(error), cause: error });
  }

  #object(code: Finding["code"], offsetBytes: number, seq: number | null, message: string): void {
    this.objection ??= { code, offsetBytes, seq, message };
  }

  /** After the last complete frame no row may be unfinished. Another frame may still finish it, so this is never final. */
  #unfinishedRow(): Finding | null {
    if (this.#lines.restBytes === 0 || this.isCutShort) return null;
    const message = "the last complete frame ends inside a row";
    return { code: "CORRUPT_LOG", offsetBytes: this.endBytes, seq: this.#seq, message };
  }

  /** A copy of a parent that was not finished: its events are there, and where they end is not. */
  #missingSeedEnd(): Finding | null {
    if (this.header?.isSeeded !== true || this.log.hasInheritedSeed || this.isCutShort) return null;
    const message = "the header says that events were inherited, and no session/end-seed says which";
    return { code: "CORRUPT_LOG", offsetBytes: this.endBytes, seq: this.log.nextSeq, message };
  }
}

/** The objection to an event that this build must not skip. */
export function unknownEvent(event: SessionEvent, offsetBytes: number): Finding {
  const message =
    `event ${event.seq} is of the type ${JSON.stringify(event.type)}, which a newer program wrote and this ` +
    "build must not skip";
  return { code: "UNSUPPORTED_FORMAT", offsetBytes, seq: event.seq, message, type: event.type };
}
