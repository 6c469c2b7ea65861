/**
 * Reads the bytes of a log without any code of the library: the independent frame walk, the runtime's zlib, and JSON.
 *
 * @module
 */
import { zstdDecompressSync } from "node:zlib";
import { judge } from "../frame/independent_walk.ts";

/** One row as it stands in the file. */
export interface RawRow {
  readonly text: string;
  readonly type: string;
  /** `null` in the header. */
  readonly seq: number | null;
  readonly time: number;
  readonly data: RawData;
  readonly sourceEventSeqs?: readonly unknown[];
}

/** The parts of an event's data that a judge looks at. */
export interface RawData {
  readonly turn?: number;
  readonly step?: number;
  /** Of a question. */
  readonly id?: string;
  readonly outcome?: string;
  readonly callId?: string;
  readonly rootCallId?: string;
  readonly subCallId?: string;
  readonly arguments?: string;
  readonly isError?: boolean;
  readonly callSeq?: number;
  readonly effectKey?: string;
  readonly reason?: { readonly kind: string };
  readonly error?: { readonly code: string };
  /** Of a verdict. */
  readonly verdict?: string;
  readonly note?: string;
  /** Messages that were put into the inbox. */
  readonly inserted?: readonly {
    readonly source: { readonly kind: string; readonly plugin?: string; readonly form?: string };
    readonly content: readonly { readonly type: string; readonly text?: string }[];
  }[];
  readonly writer?: string;
  readonly count?: number;
  readonly message?: {
    readonly source: { readonly callId?: string };
    readonly content: readonly {
      readonly type: string;
      readonly id?: string;
      readonly arguments?: string;
      readonly isError?: boolean;
    }[];
  };
}

/** What a log's bytes hold. */
export interface RawLog {
  /** Header first, then the events: those of complete frames or lines, in order. */
  readonly rows: readonly RawRow[];
  /** What the torn tail still yields. */
  readonly tornRows: readonly RawRow[];
  /** The bytes of the torn tail. */
  readonly tornBytes: number;
}

/**
 * Decodes a whole log, zstd or plain.
 *
 * @throws {Error} at anything but a torn end
 */
export function readRaw(bytes: Uint8Array): RawLog {
  return bytes[0] === 0x7b ? readLines(bytes) : readFrames(bytes);
}

function readFrames(bytes: Uint8Array): RawLog {
  const { frames, tornStart, corruptAt } = judge(bytes);
  if (corruptAt !== null) throw new Error(`The judge finds no frame at offset ${corruptAt}`);
  const rows = frames.flatMap(({ start, end, hasChecksum }) => {
    if (!hasChecksum) throw new Error(`The judge finds a frame without a checksum at offset ${start}`);
    const text = new TextDecoder().decode(zstdDecompressSync(bytes.subarray(start, end)));
    if (!text.endsWith("\n")) throw new Error(`The judge finds a frame that ends inside a line at offset ${start}`);
    return text.split("\n").slice(0, -1).map(parseRow);
  });
  const torn = bytes.subarray(tornStart ?? bytes.length);
  return { rows, tornRows: rowsOfTornFrame(torn), tornBytes: torn.length };
}

/** Deno's zlib gives what the whole blocks of a torn frame decode to, and no error. */
export function rowsOfTornFrame(torn: Uint8Array): RawRow[] {
  if (torn.length === 0) return [];
  let text: string;
  try {
    text = new TextDecoder().decode(zstdDecompressSync(torn));
  } catch {
    return [];
  }
  return text.split("\n").slice(0, -1).map(parseRow);
}

function readLines(bytes: Uint8Array): RawLog {
  const end = bytes.lastIndexOf(0x0a) + 1;
  const rows = new TextDecoder().decode(bytes.subarray(0, end)).split("\n").slice(0, -1).map(parseRow);
  return { rows, tornRows: [], tornBytes: bytes.length - end };
}

function parseRow(text: string): RawRow {
  const row = JSON.parse(text);
  return { ...row, text, seq: row.type === "session" ? null : row.seq, data: row.data ?? {} };
}

/** The events of a log: every row after the header, which must count from 0 without a gap. */
export function eventsOf(rows: readonly RawRow[]): RawRow[] {
  const [header, ...events] = rows;
  if (header?.type !== "session") throw new Error(`The judge finds no header but ${header?.text}`);
  events.forEach(({ seq, text }, index) => {
    if (seq !== index) throw new Error(`The judge finds seq ${seq} where ${index} is due: ${text}`);
  });
  return events;
}
