/**
 * Old logs for tests: a file read whole, as its own version reads it or migrated, and what a program of that version adds to it.
 *
 * @module
 */
import { hasCode } from "../../../src/errors.ts";
import { RowFault, type SessionEvent, type SessionHeader } from "../../../src/event/mod.ts";
import { foldEvents, logFold } from "../../../src/fold/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { LineScanner } from "../../../src/frame/mod.ts";
import { bytesSource } from "../../../src/journal/byte_source.ts";
import type { CheckedLog } from "../../../src/journal/checked_log.ts";
import type { Dialect } from "../../../src/journal/dialect.ts";
import {
  encodeLegacyRow,
  foldedEvent,
  LegacyDecoder,
  type LegacyEvent,
  type LegacyHeader,
  type LegacyRow,
  type LegacyVersion,
  migrateLegacy,
  parseLegacyHeader,
  readLegacyRow,
  viewedEvent,
} from "../../../src/journal/legacy/mod.ts";
import { JOURNAL_LIMITS } from "../../../src/journal/limits.ts";
import { startScan } from "../../../src/journal/start_scan.ts";
import { closers } from "../../../src/session/repair.ts";

/** How a reading ended: the class of what forbids it, as the recorded answers have it. */
export type Outcome = "ok" | "unsupported" | "corrupt";

export interface Reading {
  readonly outcome: Outcome;
  readonly why: string | null;
  readonly header: LegacyHeader | null;
  readonly events: readonly LegacyEvent[];
  /** Where the accepted part of the file ends. */
  readonly endBytes: number;
}

/** Reads a file through the scan of every version, and its rows as `options` say. */
export async function readOld(
  bytes: Uint8Array<ArrayBuffer>,
  encoding: "zstd" | "none",
  options: { readonly checks: boolean },
): Promise<Reading> {
  const events: LegacyEvent[] = [];
  let refusal: string | null = null;
  let header: LegacyHeader | null = null;
  let decoder: LegacyDecoder | null = null;
  const take = (row: LegacyRow) => {
    if (refusal !== null) return;
    try {
      events.push(...decoder!.push(row));
    } catch (error) {
      if (!hasCode(error, "CORRUPT_LOG")) throw error;
      refusal = (error as Error).message;
    }
  };
  const dialect: Dialect<LegacyRow> = {
    parseHeader(text: string): SessionHeader {
      header = parseLegacyHeader(text);
      decoder = new LegacyDecoder(header, options);
      return header as unknown as SessionHeader;
    },
    objectionTo: () => null,
    readRow: (text, expectedSeq) => readLegacyRow(text, header!.version, expectedSeq),
    spanOf: (row) => row,
    isTurnEnd: (row) => row.kind === "event" && row.event.type === "turn/end",
    accept: (log: CheckedLog, row) => ({ ...log, nextSeq: log.nextSeq + row.count, hasInheritedSeed: true }),
    eventOf: () => null,
    take,
  };
  const scan = startScan({ encoding, codec: nodeZstd(), limits: JOURNAL_LIMITS, dialect });
  await scan.advance(bytesSource("file", bytes), bytes.length);
  if (scan.mayHaveSalvage && scan.header !== null && scan.tornFrame.length > 0) {
    const plain = nodeZstd().salvage(scan.tornFrame, JOURNAL_LIMITS.contentSizeBytesMax);
    let nextSeq = scan.log.nextSeq;
    for (const { text } of new LineScanner().feed(plain)) {
      const row = readLegacyRow(text, header!.version, nextSeq);
      if (row instanceof RowFault) break;
      take(row);
      nextSeq += row.count;
    }
  }
  // In an old log the header says where the seed ends.
  const finding = scan.stop ?? scan.objection ??
    (scan.finding?.message.includes("inside a row") === true ? scan.finding : null);
  const code = finding?.code === "UNSUPPORTED_FORMAT" ? "unsupported" : "corrupt";
  const outcome = finding !== null ? code : refusal !== null ? "corrupt" : "ok";
  return { outcome, why: finding?.message ?? refusal, header, events, endBytes: scan.endBytes };
}

/** What a program of our day would add to an old log before it goes on with it. */
export function closersOf(events: readonly LegacyEvent[]): readonly SessionEvent[] {
  return closers(foldEvents(logFold, events.map(viewedEvent).map(foldedEvent)));
}

/** A migration of lines, from end to end. */
export function migrateLines(
  lines: readonly string[],
): { readonly header: SessionHeader; readonly events: readonly SessionEvent[]; readonly inheritedEventCount: number } {
  const [first = "", ...rows] = lines;
  const header = parseLegacyHeader(first);
  const migration = migrateLegacy(header);
  const events: SessionEvent[] = [];
  for (const row of rowsOf(rows, header.version)) events.push(...migration.push(row));
  events.push(...migration.end());
  return { header: migration.header, events, inheritedEventCount: migration.inheritedEventCount };
}

/** Lines as rows. Throws for a line that is none. */
export function rowsOf(lines: readonly string[], version: LegacyVersion): LegacyRow[] {
  let seq = 0;
  return lines.map((line) => {
    const row = readLegacyRow(line, version, seq);
    if (row instanceof RowFault) throw row.toError();
    seq += row.count;
    return row;
  });
}

/** Events as lines of a file of that version. */
export function linesOf(events: readonly LegacyEvent[], version: LegacyVersion): string[] {
  return events.map((event) => encodeLegacyRow({ kind: "event", firstSeq: event.seq, count: 1, event }, version));
}

/** What a call throws, as `[code, message]`; fails when it throws nothing or something without a code. */
export function refusalOf(act: () => unknown): readonly [code: string, message: string] {
  try {
    act();
  } catch (error) {
    if (error instanceof Error && "code" in error) return [String(error.code), error.message];
    throw error;
  }
  throw new Error("nothing was refused");
}
