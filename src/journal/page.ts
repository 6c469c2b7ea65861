/**
 * Pages of history, read from where the seek index says, or from where the last page ended.
 *
 * @module
 */
import { CorruptLogError } from "../errors.ts";
import type { SessionEvent } from "../event/mod.ts";
import { LineScanner, type ZstdCodec } from "../frame/mod.ts";
import { type ByteSource, readChunks, readFrames } from "./byte_source.ts";
import { CURRENT_DIALECT, type Dialect, isRow } from "./dialect.ts";
import type { LogEncoding } from "./layout.ts";
import { type JournalLimits, PAGE_BYTES_MAX } from "./limits.ts";
import type { SeekIndex } from "./seek_index.ts";

/** A stretch of a log that was accepted by a scan, and so never changes. */
export interface ReadableLog {
  readonly source: ByteSource;
  readonly encoding: LogEncoding;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  /** Another index means another file. */
  readonly index: SeekIndex;
  /** Where the last of its rows ends. */
  readonly readableBytes: number;
  readonly nextSeq: number;
  /** How its rows are read. Default: as version 3. */
  readonly dialect?: Dialect<SessionEvent>;
}

/** A piece of plain text, and where in the file what follows it begins. */
interface Piece {
  readonly plain: Uint8Array;
  readonly endOffset: number;
}

/** A place inside a piece, at the start of a row. */
interface Bookmark extends Piece {
  readonly index: SeekIndex;
  readonly seq: number;
}

/**
 * Reads pages. Remembers the end of the last one, because a frame may hold many pages and should be decoded once. So it may
 * hold the content of one frame.
 */
export class PageReader {
  #bookmark: Bookmark | null = null;

  /**
   * Events from `from` on: at most `limit`, fewer when they are large, none from the end on.
   *
   * @throws {CorruptLogError} when the file does not hold what the scan found there
   */
  async read(log: ReadableLog, from: number, limit: number): Promise<SessionEvent[]> {
    const start = this.#startFor(log, from);
    const events: SessionEvent[] = [];
    if (start === null || from >= log.nextSeq) return events;
    const lines = new LineScanner(0, log.limits.contentSizeBytesMax);
    let { seq } = start;
    let pageBytes = 0;
    let pieceOffset = 0;
    for await (const { plain, endOffset } of start.pieces) {
      for (const line of lines.feed(plain)) {
        if (seq >= from) {
          events.push(eventOf(line.text, seq, log.dialect ?? CURRENT_DIALECT));
          pageBytes += line.endOffset - line.offsetBytes;
        }
        seq += 1;
        if (seq < log.nextSeq && events.length < limit && pageBytes < PAGE_BYTES_MAX) continue;
        const rest = plain.subarray(line.endOffset - pieceOffset);
        this.#bookmark = rest.length === 0 ? null : { index: log.index, seq, plain: rest, endOffset };
        return events;
      }
      pieceOffset += plain.length;
    }
    const found = `its events end at seq ${seq}, and ${log.nextSeq} were there before`;
    throw new CorruptLogError(`Cannot read "${log.source.name}": ${found}`, { seq });
  }

  /** Where to begin for an event, and what stands there; `null` when the log has none. */
  #startFor(log: ReadableLog, from: number): { readonly seq: number; readonly pieces: AsyncIterable<Piece> } | null {
    const bookmark = this.#bookmark;
    if (bookmark?.index === log.index && bookmark.seq === from) {
      return { seq: from, pieces: piecesBehind(log, bookmark) };
    }
    const entry = log.index.find(from);
    if (entry === null) return null;
    // The header is the first line of the file and has no seq.
    const seq = entry.offsetBytes === 0 ? entry.seq - 1 : entry.seq;
    return { seq, pieces: piecesFrom(log, entry.offsetBytes) };
  }
}

function eventOf(line: string, seq: number, dialect: Dialect<SessionEvent>): SessionEvent {
  const event = dialect.readRow(line, seq);
  if (!isRow(event)) throw event.toError({ seq });
  return event;
}

async function* piecesBehind(log: ReadableLog, bookmark: Bookmark): AsyncGenerator<Piece, void, undefined> {
  yield bookmark;
  yield* piecesFrom(log, bookmark.endOffset);
}

/** The plain text from a place on, in pieces. */
async function* piecesFrom(log: ReadableLog, offsetBytes: number): AsyncGenerator<Piece, void, undefined> {
  const { source, codec, limits, readableBytes } = log;
  if (log.encoding === "none") {
    let endOffset = offsetBytes;
    for await (const plain of readChunks(source, offsetBytes, readableBytes)) {
      endOffset += plain.length;
      yield { plain, endOffset };
    }
    return;
  }
  for await (const piece of readFrames(source, offsetBytes, readableBytes, limits.frameSizeBytesMax)) {
    if (piece.kind !== "frame") continue;
    yield { plain: codec.decompress(piece.frame.bytes, limits.contentSizeBytesMax), endOffset: piece.endOffset };
  }
}
