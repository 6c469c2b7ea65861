/**
 * Rows as the judge reads them: parsed from their line, checked by the session format §2 and §3.1, and kept, so that an equal
 * line is an identical row.
 *
 * @module
 */

/** What of an event's data the judge looks at. Nothing of it is certain but that the data is there. */
export interface RowData {
  readonly turn?: number;
  readonly step?: number;
  readonly id?: string;
  readonly role?: string;
  readonly outcome?: string;
  readonly callId?: string;
  readonly rootCallId?: string;
  readonly parentCallId?: string;
  readonly subCallId?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly callSeq?: number;
  readonly effectKey?: string;
  readonly effect?: string;
  readonly retryOf?: number;
  readonly verdict?: string;
  readonly by?: string;
  readonly barriers?: readonly string[];
  readonly marker?: boolean;
  readonly reason?: { readonly kind?: string };
  readonly error?: { readonly name?: string; readonly code?: string };
  readonly message?: MessageOfRow;
  readonly content?: readonly BlockOfRow[];
  readonly source?: SourceOfRow;
  readonly inserted?: readonly MessageOfRow[];
  readonly removedCount?: number;
  readonly isError?: boolean;
}

/** A message, or what stands in its place. */
export interface MessageOfRow {
  readonly id?: string;
  readonly role?: string;
  readonly source?: SourceOfRow;
  readonly content?: readonly BlockOfRow[];
}

/** Where a message is from. */
export interface SourceOfRow {
  readonly kind?: string;
  readonly callId?: string;
  readonly plugin?: string;
  readonly form?: string;
}

/** A content block. */
export interface BlockOfRow {
  readonly type?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly toolCallId?: string;
  readonly isError?: boolean;
  readonly text?: string;
  readonly content?: readonly BlockOfRow[];
}

/** One row of a log. */
export interface Row {
  readonly type: string;
  readonly seq: number;
  readonly time: number;
  readonly data: RowData;
  readonly ignorable: boolean;
  readonly surfaceOp?: unknown;
  readonly sourceEventSeqs?: readonly unknown[];
  /** The object of the line, as it was parsed. */
  readonly value: unknown;
}

/** Lines kept at most; all are let go when there are more. */
const LINES_MAX = 20_000;
const KEYS = new Set(["type", "seq", "time", "data", "ignorable", "surfaceOp", "sourceEventSeqs"]);
const SURFACE = new Set(["system/message", "user/message", "assistant/message", "tool/result"]);

/** A log's first line. */
export interface HeaderRow {
  readonly version: number;
  readonly id: string;
}

/** Keeps rows by their line. */
export class RowPool {
  readonly #rows = new Map<string, Row | null>();

  /** The row of a line without its `\n`; `null` when no event of version 3 can be read from it. */
  row(line: string): Row | null {
    let row = this.#rows.get(line);
    if (row !== undefined) return row;
    row = parseRow(line);
    if (this.#rows.size >= LINES_MAX) this.#rows.clear();
    this.#rows.set(line, row);
    return row;
  }
}

/** The header of a line, or why there is none. */
export function parseHeader(line: string): HeaderRow | string {
  const value = parse(line);
  if (!isRecord(value)) return "the first line is no JSON object";
  if (value.type !== "session") return `the first line is a ${show(value.type)}`;
  if (value.version !== 3) return `the header has the version ${show(value.version)}`;
  const { id, createdAt, delegationDepth, isSeeded } = value;
  if (typeof id !== "string" || !isCount(createdAt) || !isCount(delegationDepth) || typeof isSeeded !== "boolean") {
    return "the header lacks a field of version 3";
  }
  return { version: 3, id };
}

function parseRow(line: string): Row | null {
  const value = parse(line);
  if (!isRecord(value)) return null;
  for (const key in value) if (!KEYS.has(key)) return null;
  const { type, seq, time, data, ignorable, surfaceOp, sourceEventSeqs } = value;
  if (typeof type !== "string" || type === "" || !isCount(seq) || !Number.isSafeInteger(time) || data === undefined) {
    return null;
  }
  if (ignorable !== undefined && ignorable !== true) return null;
  if (SURFACE.has(type) !== (surfaceOp !== undefined) && ignorable === undefined) return null;
  if (sourceEventSeqs !== undefined && !Array.isArray(sourceEventSeqs)) return null;
  return {
    type,
    seq,
    time: time as number,
    data: isRecord(data) ? data as RowData : {},
    ignorable: ignorable === true,
    surfaceOp,
    sourceEventSeqs: sourceEventSeqs as readonly unknown[] | undefined,
    value,
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Says whether a value is an object that is no array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && !Object.is(value, -0) && (value as number) >= 0;
}

/** A value in a message, cut to what a line can bear. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
