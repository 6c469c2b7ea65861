/**
 * One page of history, read from where the seek index says.
 *
 * @module
 */
import { CorruptLogError } from "../errors.ts";
import { readRow, RowFault, type SessionEvent } from "../event/mod.ts";
import { LineScanner } from "../frame/mod.ts";
import type { ZstdCodec } from "../frame/mod.ts";
import { type ByteSource, readChunks, readFrames } from "./byte_source.ts";
import type { LogEncoding } from "./layout.ts";
import { type JournalLimits, PAGE_BYTES_MAX } from "./limits.ts";
import type { SeekIndex } from "./seek_index.ts";

/** A stretch of a log that was accepted by a scan, and so never changes. */
export interface ReadableLog {
  readonly source: ByteSource;
  readonly encoding: LogEncoding;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  readonly index: SeekIndex;
  /** Where the last of its rows ends. */
  readonly readableBytes: number;
  readonly nextSeq: number;
}

/**
 * Events from `from` on: at most `limit`, fewer when they are large, none from the end on.
 *
 * @throws {CorruptLogError} when the file does not hold what the scan found there
 */
export async function readPage(log: ReadableLog, from: number, limit: number): Promise<SessionEvent[]> {
  const start = log.index.find(from);
  const events: SessionEvent[] = [];
  if (start === null || from >= log.nextSeq) return events;
  const lines = new LineScanner(start.offsetBytes, log.limits.contentSizeBytesMax);
  // The header is the first line of the file and has no seq.
  let seq = start.offsetBytes === 0 ? start.seq - 1 : start.seq;
  let pageBytes = 0;
  for await (const plain of plainFrom(log, start.offsetBytes)) {
    for (const line of lines.feed(plain)) {
      if (seq >= from) {
        const event = readRow(line.text, seq);
        if (event instanceof RowFault) throw event.toError({ offsetBytes: start.offsetBytes, seq });
        events.push(event);
        pageBytes += line.endOffset - line.offsetBytes;
      }
      seq += 1;
      if (seq === log.nextSeq || events.length === limit || pageBytes >= PAGE_BYTES_MAX) return events;
    }
  }
  const found = `its events end at seq ${seq}, and ${log.nextSeq} were there before`;
  throw new CorruptLogError(`Cannot read "${log.source.name}": ${found}`, { seq });
}

/** The plain text from a place on, in pieces. */
async function* plainFrom(log: ReadableLog, offsetBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  const { source, codec, limits, readableBytes } = log;
  if (log.encoding === "none") return yield* readChunks(source, offsetBytes, readableBytes);
  for await (const piece of readFrames(source, offsetBytes, readableBytes, limits.frameSizeBytesMax)) {
    if (piece.kind === "frame") yield codec.decompress(piece.frame.bytes, limits.contentSizeBytesMax);
  }
}
