/**
 * The scan of a log of zstd frames.
 *
 * @see session-format §5.1 to §5.3
 * @module
 */
import { type DelimitedFrame, LineScanner } from "../frame/mod.ts";
import { type ByteSource, readFrames } from "./byte_source.ts";
import { frameBehind } from "./frame_behind.ts";
import { type AdvanceOptions, LogScan, type ScanOptions } from "./scan.ts";

/** Reads frames, and the rows in them. */
export class FrameScan extends LogScan {
  /** Keeps a row that spans complete frames, which is odd and allowed. */
  readonly #lines: LineScanner;

  constructor(options: ScanOptions) {
    super(options);
    this.#lines = new LineScanner(0, options.limits.contentSizeBytesMax);
  }

  get mayHaveSalvage(): boolean {
    return this.stop === null && !this.hasUnfinishedRow && !this.isCutShort;
  }

  protected get hasUnfinishedRow(): boolean {
    return this.#lines.restBytes > 0;
  }

  protected async readOn(source: ByteSource, sizeBytes: number, { visit, signal }: AdvanceOptions): Promise<void> {
    const { frameSizeBytesMax } = this.options.limits;
    for await (const piece of readFrames(source, this.endBytes, sizeBytes, frameSizeBytesMax, signal)) {
      // A small chunk of the file may hold very much text: it is asked for each frame, and not only for each chunk.
      signal?.throwIfAborted();
      switch (piece.kind) {
        case "torn":
          this.tailBytes = piece.bytes.length;
          this.tornFrame = piece.bytes;
          this.#checkTorn(piece.bytes);
          return;
        case "corrupt": {
          const { offsetBytes, message } = piece;
          this.tailBytes = sizeBytes - offsetBytes;
          this.stopAt({ code: "CORRUPT_FRAME", offsetBytes, seq: this.seq, message });
          return;
        }
        case "skippable": {
          const message = "a skippable frame, which a session log never holds";
          this.objection ??= { code: "CORRUPT_FRAME", offsetBytes: piece.offsetBytes, seq: this.seq, message };
          this.endBytes = this.readableBytes = piece.endOffset;
          break;
        }
        case "frame":
          if (!await this.#acceptFrame(piece.frame, visit)) {
            this.tailBytes = sizeBytes - this.endBytes;
            return;
          }
          this.endBytes = this.readableBytes = piece.endOffset;
          this.lastStartBytes = piece.frame.offsetBytes;
          if (this.frames === 0) this.headerEndBytes = piece.endOffset;
          this.frames += 1;
      }
    }
  }

  /** Cutting a torn tail that is none would lose acknowledged events. */
  #checkTorn(tail: Uint8Array): void {
    const { codec, limits: { contentSizeBytesMax }, contentBudgetBytes = contentSizeBytesMax } = this.options;
    // A header is followed by seq 0.
    const nextSeq = this.seq ?? -1;
    const { dialect } = this;
    const behind = frameBehind(tail, { codec, nextSeq, contentSizeBytesMax, contentBudgetBytes, dialect });
    if (behind === "none") return;
    if (behind === "too much content" && contentBudgetBytes < contentSizeBytesMax) {
      this.isCutShort = true;
      return;
    }
    const found = typeof behind === "string"
      ? "and more behind it that looks like frames than can be tried"
      : `and a whole frame behind it at ${this.endBytes + behind.offset}`;
    const message = `a frame without an end, ${found}`;
    this.stopAt({ code: "CORRUPT_FRAME", offsetBytes: this.endBytes, seq: this.seq, message });
  }

  /** Reads the rows of one frame. Returns whether all of them could be accepted. */
  async #acceptFrame(frame: DelimitedFrame, visit: AdvanceOptions["visit"]): Promise<boolean> {
    const plain = this.#decode(frame);
    if (plain === null) return false;
    const isFirst = this.header === null;
    if (!this.hasUnfinishedRow) this.index.add(frame.offsetBytes, this.log.nextSeq);
    try {
      for (const { text } of this.#lines.feed(plain)) {
        const isAccepted = this.header === null
          ? this.acceptHeader(text)
          : this.acceptRow(this.dialect.readRow(text, this.log.nextSeq), text.length, frame.offsetBytes, visit);
        if (isAccepted) {
          const relief = this.dialect.relieve?.() ?? null;
          if (relief !== null) await relief;
          continue;
        }
        this.readableBytes = frame.offsetBytes + frame.bytes.length;
        return false;
      }
    } catch (error) {
      return this.stopFor(error, "CORRUPT_LOG", frame.offsetBytes);
    }
    return isFirst ? this.#checkFirstFrame() : true;
  }

  /** The first frame is the header line and nothing else. */
  #checkFirstFrame(): boolean {
    if (this.header === null) {
      const message = "the first frame does not hold a whole header line";
      return this.stopAt({ code: "CORRUPT_LOG", offsetBytes: 0, seq: null, message });
    }
    if (this.log.nextSeq > 0 || this.hasUnfinishedRow) {
      const message = "the header shares its frame with events, as no session log does";
      this.objection = { code: "CORRUPT_LOG", offsetBytes: 0, seq: null, message };
    }
    return true;
  }

  /** The content of a frame, or `null` after having stopped. */
  #decode(frame: DelimitedFrame): Uint8Array | null {
    const { codec, limits: { contentSizeBytesMax }, contentBudgetBytes = Infinity } = this.options;
    const { contentSizeBytes, contentSizeBytesLeast, contentSizeBytesMost } = frame.span;
    const isTooLarge = Math.max(contentSizeBytes ?? 0, contentSizeBytesLeast) > contentSizeBytesMax;
    if (!isTooLarge && contentSizeBytesMost > contentBudgetBytes) {
      this.isCutShort = true;
      return null;
    }
    try {
      return codec.decompress(frame.bytes, contentSizeBytesMax);
    } catch (error) {
      this.stopFor(error, "CORRUPT_FRAME", frame.offsetBytes);
      return null;
    }
  }
}
