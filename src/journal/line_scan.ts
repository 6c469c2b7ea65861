/**
 * The scan of a raw log: lines, and no checksum anywhere.
 *
 * Without frames nothing says where a write ended. A row that does not decode is taken for the beginning of a torn tail, unless
 * a turn ends behind it.
 *
 * @see session-format §5.4
 * @module
 */
import { LineScanner } from "../frame/mod.ts";
import { type ByteSource, readChunks } from "./byte_source.ts";
import { isRow } from "./dialect.ts";
import { type Finding, rowFinding } from "./finding.ts";
import { type AdvanceOptions, LogScan } from "./scan.ts";

/** Reads lines. */
export class LineScan extends LogScan {
  /** The first row behind `endBytes` that does not decode. */
  #issue: Finding | null = null;

  /** A raw tail begins with what is no record. */
  readonly mayHaveSalvage = false;
  protected readonly hasUnfinishedRow = false;

  protected async readOn(source: ByteSource, sizeBytes: number, { visit, signal }: AdvanceOptions): Promise<void> {
    const startBytes = this.endBytes;
    const lines = new LineScanner(startBytes, this.options.limits.contentSizeBytesMax);
    this.#issue = null;
    let readBytes = 0;
    for await (const chunk of readChunks(source, startBytes, sizeBytes, signal)) {
      readBytes += chunk.length;
      try {
        for (const { text, offsetBytes, endOffset } of lines.feed(chunk)) {
          if (!this.#acceptLine(text, offsetBytes, visit)) break;
          if (this.#issue !== null) continue;
          this.endBytes = this.readableBytes = endOffset;
          this.lastStartBytes = offsetBytes;
          if (this.frames === 0) this.headerEndBytes = endOffset;
          this.frames += 1;
          const relief = this.dialect.relieve?.() ?? null;
          if (relief !== null) await relief;
        }
      } catch (error) {
        this.stopFor(error, "CORRUPT_LOG", lines.restOffset);
      }
      if (this.stop !== null) break;
    }
    this.tailBytes = startBytes + readBytes - this.endBytes;
  }

  /** Returns whether the scan goes on. */
  #acceptLine(text: string, offsetBytes: number, visit: AdvanceOptions["visit"]): boolean {
    if (this.header === null) return this.acceptHeader(text);
    if (this.#issue !== null) return this.#acceptAfterIssue(text, offsetBytes, this.#issue);
    const { nextSeq } = this.log;
    this.index.add(offsetBytes, nextSeq);
    const row = this.dialect.readRow(text, nextSeq);
    if (isRow(row) || row.kind !== "issue") return this.acceptRow(row, text.length, offsetBytes, visit);
    this.#issue = rowFinding(row, offsetBytes, nextSeq);
    // A turn that ends at the wrong seq cannot be the beginning of a torn tail.
    const provesDamage = row.isTurnEnd && row.seq !== undefined && row.seq !== nextSeq;
    return provesDamage ? this.stopAt(this.#issue) : true;
  }

  /** A torn tail holds no end of a turn: the rows before it were acknowledged with it. And some rows are refused anywhere. */
  #acceptAfterIssue(text: string, offsetBytes: number, issue: Finding): boolean {
    if (cannotMatter(text)) return true;
    const row = this.dialect.readRow(text);
    if (isRow(row)) return this.dialect.isTurnEnd(row) ? this.stopAt(issue) : true;
    if (row.kind !== "issue") return this.stopAt(rowFinding(row, offsetBytes, this.log.nextSeq));
    return row.isTurnEnd ? this.stopAt(issue) : true;
  }
}

/** The types of the rows that are not ignored behind an issue, as far as they have to be known here: `readRow` decides. */
const NEVER_IGNORED = ["turn/end", "request/header", "system/message", "tool/code-dispatch"] as const;

/** Whether a row is ignored behind an issue whatever it is, seen without decoding it: a tail can be a million of such lines. */
function cannotMatter(text: string): boolean {
  if (!text.trimStart().startsWith("{")) return true;
  // JSON can spell a type with escapes.
  return !text.includes("\\") && !NEVER_IGNORED.some((type) => text.includes(type));
}
