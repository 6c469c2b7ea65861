/**
 * Reads a log from the bytes of a medium as the session format §5 says, torn ends and their copies included.
 *
 * @module
 */
import { type DecodeFrame, walkFrames, wholeBlocks } from "./frames.ts";
import { parseHeader, type Row, RowPool } from "./rows.ts";
import type { Files } from "./trace.ts";

/** What a log holds. */
export interface LogReading {
  /** `absent`: no such session yet. `damaged`: the format refuses it; `rows` are those before the damage. */
  readonly state: "absent" | "readable" | "damaged";
  /** Why it is damaged, and where. */
  readonly damage: string | null;
  /** Says whether its header can be read. */
  readonly hasHeader: boolean;
  /** All events that can be read, those of the torn end last. */
  readonly rows: readonly Row[];
  /** How many of the rows lie before the torn end. */
  readonly wholeRows: number;
  /** Bytes before the torn end. */
  readonly wholeBytes: number;
  /** Bytes of the torn end. */
  readonly tornBytes: number;
  readonly bytes: Uint8Array;
}

/** What a reader keeps between two logs. */
export interface LogReader {
  /**
   * Reads one log. Equal byte arrays are not read twice, so nobody may change one afterwards.
   *
   * @param files all files of the medium: copies of torn ends lie beside the log
   */
  read(files: Files, log: string, compression: "none" | "zstd"): LogReading;
  /** The bytes that lie in a copy of a torn end; `null` when it is none. */
  copyOfTail(content: Uint8Array): Uint8Array | null;
}

/** Decoded frames kept at most; all are let go when there are more. */
const FRAMES_MAX = 4_096;
const EMPTY = new Uint8Array(0);
const NEWLINE = 0x0a;

interface WholePart {
  readonly rows: readonly Row[];
  readonly hasHeader: boolean;
  readonly wholeBytes: number;
  readonly damage: string | null;
}

interface DecodedFrame {
  readonly bytes: Uint8Array;
  /** What it decodes to; `null` when it is damaged. */
  readonly content: Uint8Array | null;
  readonly text: string | null;
  /** The lines, when the text consists of whole ones. */
  readonly lines: readonly string[] | null;
  /** The rows of the lines, once they were asked for; `null` for a line that is none. */
  rows: readonly (Row | null)[] | null;
}

/** Makes a reader with its caches. */
export function logReader(decodeFrame: DecodeFrame): LogReader {
  const pool = new RowPool();
  const frames = new Map<number, DecodedFrame[]>();
  let frameCount = 0;
  const parts = new WeakMap<Uint8Array, WholePart>();
  // A byte order mark is no JSON, so it must not be swallowed.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  function decoded(frame: Uint8Array): DecodedFrame {
    const key = hashOf(frame);
    const bucket = frames.get(key);
    for (const known of bucket ?? []) if (bytesEqual(known.bytes, frame)) return known;
    let content: Uint8Array | null = null;
    try {
      content = decodeFrame(frame);
    } catch {
      // A frame that does not decode is damage, which its reader says.
    }
    const text = content === null ? null : decoder.decode(content);
    const result = { bytes: frame.slice(), content, text, lines: text === null ? null : wholeLines(text), rows: null };
    if (frameCount >= FRAMES_MAX) {
      frames.clear();
      frameCount = 0;
    }
    frameCount++;
    const kept = frames.get(key);
    if (kept === undefined) frames.set(key, [result]);
    else kept.push(result);
    return result;
  }

  function wholeFrames(bytes: Uint8Array): WholePart {
    const { ends, tail } = walkFrames(bytes);
    const rows: Row[] = [];
    let start = 0;
    let open = "";
    for (const end of ends) {
      const frame = decoded(bytes.subarray(start, end));
      const { text, lines } = frame;
      const damaged = (why: string) => ({
        rows,
        hasHeader: start > 0,
        wholeBytes: start,
        damage: `${why} at ${start}`,
      });
      if (text === null) return damaged("a frame does not decode");
      if (start === 0) {
        const header = lines?.length === 1 ? parseHeader(lines[0]!) : "the first frame is not one line";
        if (typeof header === "string") return damaged(header);
      } else {
        let due = frame.rows;
        if (open !== "" || lines === null) {
          const cut = (open + text).lastIndexOf("\n") + 1;
          due = (wholeLines((open + text).slice(0, cut)) ?? []).map((line) => pool.row(line));
          open = (open + text).slice(cut);
        }
        due ??= frame.rows = lines!.map((line) => pool.row(line));
        for (const row of due) {
          if (row === null || row.seq !== rows.length) {
            return damaged(`seq ${rows.length} is not where it is due, in the frame`);
          }
          rows.push(row);
        }
      }
      start = end;
    }
    const hasHeader = ends.length > 0;
    if (open !== "") return { rows, hasHeader, wholeBytes: start, damage: `the last whole frame ends inside a line` };
    const damage = tail === "damage" ? `no frame begins at ${start}` : hasHeader ? null : "the header's frame is torn";
    return { rows, hasHeader, wholeBytes: start, damage };
  }

  function wholeRawLines(bytes: Uint8Array): WholePart {
    const rows: Row[] = [];
    let committed = bytes.indexOf(NEWLINE) + 1;
    const header = committed === 0
      ? "the header's line is torn"
      : parseHeader(decoder.decode(bytes.subarray(0, committed - 1)));
    if (typeof header === "string") return { rows, hasHeader: false, wholeBytes: 0, damage: header };
    // Where all is ASCII, places in the text are places in the bytes.
    const all = decoder.decode(bytes);
    const isAscii = all.length === bytes.length;
    let start = committed;
    let issue: string | null = null;
    while (start < bytes.length) {
      const end = isAscii ? all.indexOf("\n", start) : bytes.indexOf(NEWLINE, start);
      if (end < 0) break;
      const row = pool.row(isAscii ? all.slice(start, end) : decoder.decode(bytes.subarray(start, end)));
      if (row === null || row.seq !== rows.length || issue !== null) {
        issue ??= `seq ${rows.length} is not where it is due, at ${start}`;
        if (row?.type === "turn/end") return { rows, hasHeader: true, wholeBytes: committed, damage: issue };
      } else {
        rows.push(row);
        committed = end + 1;
      }
      start = end + 1;
    }
    return { rows, hasHeader: true, wholeBytes: committed, damage: null };
  }

  /** The rows that continue `from` in the torn end of a zstd log. */
  function rowsOfTail(tail: Uint8Array, from: number): Row[] {
    const frame = wholeBlocks(tail);
    const text = frame === null ? null : decoded(frame).text;
    const rows: Row[] = [];
    for (const line of text === null ? [] : text.slice(0, text.lastIndexOf("\n") + 1).split("\n").slice(0, -1)) {
      const row = pool.row(line);
      if (row === null || row.seq !== from + rows.length) break;
      rows.push(row);
    }
    return rows;
  }

  function copyOfTail(content: Uint8Array): Uint8Array | null {
    const { ends, tail } = walkFrames(content);
    return ends.length === 1 && tail === "none" ? decoded(content).content : null;
  }

  function read(files: Files, log: string, compression: "none" | "zstd"): LogReading {
    const bytes = files.get(log) ?? EMPTY;
    // A log whose first byte is not there yet was never published: session format §6, and the claim of OPFS.
    if (bytes.length === 0 || bytes[0] === 0) {
      const isThere = bytes.length > 0 || files.has(log);
      return {
        ...{ state: "absent", damage: null, hasHeader: false, rows: [], wholeRows: 0, wholeBytes: 0 },
        ...{ tornBytes: isThere ? bytes.length : 0, bytes },
      };
    }
    let part = parts.get(bytes);
    if (part === undefined) {
      part = compression === "zstd" ? wholeFrames(bytes) : wholeRawLines(bytes);
      parts.set(bytes, part);
    }
    const { rows, hasHeader, wholeBytes, damage } = part;
    const tornBytes = bytes.length - wholeBytes;
    const common = { hasHeader, wholeBytes, tornBytes, wholeRows: rows.length, bytes };
    if (damage !== null) return { state: "damaged", damage, rows, ...common };
    if (compression === "none") return { state: "readable", damage: null, rows, ...common };
    let salvaged: Row[] = tornBytes === 0 ? [] : rowsOfTail(bytes.subarray(wholeBytes), rows.length);
    const prefix = `${log}.torn-${wholeBytes}-`;
    for (const [name, content] of files) {
      if (!name.startsWith(prefix)) continue;
      const tail = copyOfTail(content);
      const other = tail === null ? [] : rowsOfTail(tail, rows.length);
      if (other.length > salvaged.length) salvaged = other;
    }
    return { state: "readable", damage: null, rows: salvaged.length === 0 ? rows : [...rows, ...salvaged], ...common };
  }

  return { read, copyOfTail };
}

function wholeLines(text: string): string[] | null {
  if (text === "") return [];
  if (!text.endsWith("\n")) return null;
  return text.slice(0, -1).split("\n");
}

/** Tells frames apart: their length and 32 bytes from all over them, those of the checksum included. */
function hashOf(bytes: Uint8Array): number {
  const size = bytes.length;
  const stride = Math.max(1, size >> 5);
  let hash = size;
  for (let index = size - 1; index >= 0; index -= stride) hash = (Math.imul(hash, 31) + bytes[index]!) | 0;
  for (let index = Math.max(0, size - 4); index < size; index++) hash = (Math.imul(hash, 31) + bytes[index]!) | 0;
  return hash;
}

/** Says whether two byte arrays hold the same. */
export function bytesEqual(left: Uint8Array, right: Uint8Array): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}
