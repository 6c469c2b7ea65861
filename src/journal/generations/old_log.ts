/**
 * Reads a log of version 0, 1 or 2 once, from its start to its end or to its damage.
 *
 * Frames, lines and torn tails are found as in every version; what the rows mean is {@linkcode OldDialect}'s matter. Bounded in
 * memory: what comes out is given away in batches.
 *
 * @see session-format §5, §10
 * @module
 */
import type { SessionHeader } from "../../event/mod.ts";
import { LineScanner, type ZstdCodec } from "../../frame/mod.ts";
import type { TornTail } from "../../store/session_store.ts";
import type { ByteSource } from "../byte_source.ts";
import { isRow } from "../dialect.ts";
import type { Finding } from "../finding.ts";
import type { LogEncoding } from "../layout.ts";
import type { LegacyVersion } from "../legacy/mod.ts";
import type { JournalLimits } from "../limits.ts";
import type { LogScan } from "../scan.ts";
import { startScan } from "../start_scan.ts";
import { OldDialect, type OldSink, type OldView } from "./old_dialect.ts";

/** What is read, and how. */
export interface OldLogOptions {
  readonly source: ByteSource;
  readonly sizeBytes: number;
  readonly encoding: LogEncoding;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  readonly version: LegacyVersion;
  readonly view: OldView;
  readonly sink: OldSink;
  readonly onHeader?: (header: SessionHeader) => void;
  readonly signal?: AbortSignal;
  readonly contentBudgetBytes?: number;
}

/** What an old log is. */
export interface OldLog {
  /** Where the reading got to, in the file. Its `header` is the stored one. */
  readonly scan: LogScan;
  /** The header of what came out; `null` when none did. */
  readonly header: SessionHeader | null;
  readonly torn: TornTail | null;
  /** How many events came out. */
  readonly nextSeq: number;
  readonly inheritedEventCount: number;
  /** Why it has no place in version 3, or what is wrong with what its rows say; `null` when nothing is. */
  readonly refusal: Finding | null;
}

/** Reads an old log. Never throws because of what the bytes are. */
export async function readOldLog(options: OldLogOptions): Promise<OldLog> {
  const { source, sizeBytes, encoding, codec, limits, version, view, sink, onHeader, signal } = options;
  const dialect = new OldDialect(version, view, sink, limits.batchBytesMax, onHeader);
  const scan = startScan({ encoding, codec, limits, dialect, contentBudgetBytes: options.contentBudgetBytes });
  // A log without events lacks no end of its seed: in an old one the header says where that is.
  scan.log = { ...scan.log, hasInheritedSeed: true };
  await scan.advance(source, sizeBytes, { signal });
  const salvagedEvents = salvageRows(scan, dialect, options);
  // What a cut short reading left open is not the end of the log.
  if (!scan.isCutShort) dialect.end();
  await dialect.flush();
  const isTorn = scan.stop === null && scan.header !== null && scan.tailBytes > 0;
  return {
    scan,
    header: dialect.header,
    torn: isTorn ? { offsetBytes: scan.endBytes, bytes: scan.tailBytes, salvagedEvents } : null,
    nextSeq: dialect.nextSeq,
    inheritedEventCount: dialect.inheritedEventCount,
    refusal: dialect.refusal,
  };
}

/** Takes the whole, contiguous rows at the start of a torn frame. Returns how many events they are. */
function salvageRows(scan: LogScan, dialect: OldDialect, { codec, limits }: OldLogOptions): number {
  if (!scan.mayHaveSalvage || scan.header === null || scan.tornFrame.length === 0) return 0;
  const plain = codec.salvage(scan.tornFrame, limits.contentSizeBytesMax);
  const start = scan.log.nextSeq;
  let nextSeq = start;
  for (const { text } of new LineScanner(0, limits.contentSizeBytesMax).feed(plain)) {
    const row = dialect.readRow(text, nextSeq);
    if (!isRow(row)) break;
    dialect.take(row, text.length);
    nextSeq += row.count;
  }
  return nextSeq - start;
}
