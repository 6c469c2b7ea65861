/**
 * Events and headers as columns, and back: one column for each key of the envelope, named alike.
 *
 * @see session-format §2, §3.1
 * @module
 */
import { CorruptLogError } from "../errors.ts";
import {
  encodeSourceEventSeqs,
  isSurfaceType,
  jsonText,
  parseHeader,
  RowFault,
  type SessionEvent,
  type SessionHeader,
} from "../event/mod.ts";
import { readRecord } from "../event/row.ts";
import type { SqlRow, SqlValue } from "./sql_port.ts";
import { packText, unpackText } from "./text_column.ts";

/** The columns of an event behind its session, in the order in which {@linkcode EventColumns.values} has them. */
export const EVENT_COLUMNS: readonly string[] = [
  ...["seq", "type", "time", "data", "source_event_seqs", "surface_op", "ignorable", "more"],
];

/** An event as its columns hold it. */
export interface EventColumns {
  /** What the caller said its place is. */
  readonly seq: number;
  /** In the order of {@linkcode EVENT_COLUMNS}. */
  readonly values: readonly SqlValue[];
  /** How much text it is, in bytes. */
  readonly sizeBytes: number;
}

const ENVELOPE: ReadonlySet<string> = new Set([
  ...["type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp", "ignorable"],
]);

const encoder = new TextEncoder();

/**
 * An event as columns. Every value stays what it is, also what only an unknown event may carry: that is in `more`.
 *
 * @example
 * ```ts
 * import { columnsOf, EVENT_COLUMNS, eventOf } from "./columns.ts";
 *
 * const { values } = columnsOf({ type: "turn/start", seq: 0, time: 5, data: { turn: 1 } });
 * const row = Object.fromEntries(EVENT_COLUMNS.map((name, index) => [name, values[index]!]));
 * const event = eventOf(row, 0);
 * if (!("data" in event) || JSON.stringify(event.data) !== '{"turn":1}') throw new Error("unreachable");
 * ```
 */
export function columnsOf(event: SessionEvent): EventColumns {
  // What was appended here is lossless and frozen. What another program wrote may hold what JSON.stringify changes.
  const text = Object.isFrozen(event) ? (value: unknown) => JSON.stringify(value) : (value: unknown) => jsonText(value);
  const column = (value: unknown) => value === undefined ? null : text(value);
  const { type, seq, time, data, sourceEventSeqs, surfaceOp, ignorable } = event;
  const sources = sourceEventSeqs !== undefined && isSurfaceType(type)
    ? encodeSourceEventSeqs(sourceEventSeqs)
    : sourceEventSeqs;
  const strange = Object.entries(event).filter(([key, value]) => !ENVELOPE.has(key) && value !== undefined);
  const more = strange.length === 0 ? null : jsonText(Object.fromEntries(strange));
  const values: SqlValue[] = [
    ...[seq, typeof type === "string" ? packText(type) : type, time, column(data) ?? ""],
    ...[column(sources), column(surfaceOp), ignorable === undefined ? null : Number(ignorable), more],
  ];
  const sizeBytes = values.reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? encoder.encode(value).length : 8),
    0,
  );
  return { seq, values, sizeBytes };
}

/** Columns as a row would give them back. */
export function rowOfColumns({ values }: EventColumns): SqlRow {
  return Object.fromEntries(EVENT_COLUMNS.map((name, index) => [name, values[index]!]));
}

/**
 * The event that a row holds, or why it is none.
 *
 * @param expectedSeq the place in the log; another seq is a fault
 */
export function eventOf(row: SqlRow, expectedSeq: number): SessionEvent | RowFault {
  const { seq, time, data, source_event_seqs, surface_op, ignorable, more } = row;
  const type = typeof row.type === "string" ? unpackText(row.type) : row.type;
  const parsed = { data, source_event_seqs, surface_op, more } as Record<string, unknown>;
  for (const [name, value] of Object.entries(parsed)) {
    if (value === null && name !== "data") continue;
    try {
      parsed[name] = JSON.parse(value as string);
    } catch (error) {
      const isTurnEnd = type === "turn/end";
      const at = typeof seq === "number" ? seq : undefined;
      const problem = `${name} that is not valid JSON`;
      return new RowFault("issue", problem, isTurnEnd, at, typeof type === "string" ? type : undefined, error);
    }
  }
  const event: Record<string, unknown> = { type, seq, time, data: parsed.data };
  if (parsed.surface_op !== null) event.surfaceOp = parsed.surface_op;
  if (parsed.source_event_seqs !== null) event.sourceEventSeqs = parsed.source_event_seqs;
  if (ignorable !== null) event.ignorable = ignorable === 1 ? true : ignorable;
  return readRecord(parsed.more === null ? event : { ...parsed.more as object, ...event }, expectedSeq);
}

/** The columns of a header, in the order in which {@linkcode headerValues} has them. */
export const HEADER_COLUMNS: readonly string[] = [
  ...[
    "id",
    "version",
    "created_at",
    "cwd",
    "parent_session",
    "is_seeded",
    "origin",
    "delegation_depth",
    "agent_preset",
  ],
];

/** A header as columns. */
export function headerValues(header: SessionHeader): SqlValue[] {
  const { id, version, createdAt, cwd, parentSession, isSeeded, origin, delegationDepth, agentPreset } = header;
  const text = (value: string | undefined) => value === undefined ? null : packText(value);
  return [
    ...[packText(id), version, createdAt, text(cwd), text(parentSession)],
    ...[Number(isSeeded), text(origin), delegationDepth, text(agentPreset)],
  ];
}

/**
 * The header that a session's row holds.
 *
 * @throws {UnsupportedFormatError} when it is of another version
 * @throws {CorruptLogError} when it is no header
 */
export function headerOf(row: SqlRow): SessionHeader {
  const text = (value: SqlValue | undefined) => typeof value === "string" ? unpackText(value) : value ?? undefined;
  const flag = row.is_seeded;
  if (flag !== 0 && flag !== 1) throw new CorruptLogError(`Cannot read header: found is_seeded ${flag}, wanted 0 or 1`);
  return parseHeader(JSON.stringify({
    type: "session",
    version: row.version,
    id: text(row.id),
    createdAt: row.created_at,
    cwd: text(row.cwd),
    parentSession: text(row.parent_session),
    isSeeded: flag === 1,
    origin: text(row.origin),
    delegationDepth: row.delegation_depth,
    agentPreset: text(row.agent_preset),
  }));
}
