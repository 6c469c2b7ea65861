/**
 * Packed rows of versions 0 and 1: the deltas of one block share one row.
 *
 * @see session-format §3.3
 * @module
 */
import type { StreamChunk } from "../../event/mod.ts";
import { isCount, isInt, isRecord, type JsonRecord, strangeKey, wrong } from "../../event/checks.ts";
import type { LegacyEvent, LegacyRunRow, PackedRecord } from "./types.ts";

const ROW_KEYS: ReadonlySet<string> = new Set(["type", "seq0", "time0", "data"]);
const TEXT_KEYS: ReadonlySet<string> = new Set(["turn", "step", "index", "dt", "texts"]);
const CALL_KEYS: ReadonlySet<string> = new Set(["turn", "step", "index", "dt", "id", "name", "args"]);

/**
 * How many deltas one packed row may stand for. Writers pack what came within one batch, a fifth of a second; and an event takes
 * a hundred times the memory of the three bytes that may stand for it.
 */
export const PACKED_DELTAS_MAX: number = 1 << 18;

/** Whether a row says of itself that it is a packed one. */
export function isPackedType(type: unknown): type is PackedRecord["type"] {
  return type === "text-chunks" || type === "reasoning-chunks" || type === "tool-call-chunks";
}

/** A packed row, or what is wrong with it, to be read after "found ". */
export function unpackRow(row: JsonRecord): LegacyRunRow | string {
  const { seq0, time0, data } = row;
  const strange = strangeKey(row, ROW_KEYS);
  if (strange !== null) return `the unknown field "${strange}"`;
  if (!isCount(seq0)) return wrong("seq0", seq0, "a count");
  if (!isInt(time0)) return wrong("time0", time0, "an integer");
  if (!isRecord(data)) return wrong("data", data, "an object");
  const isCall = row.type === "tool-call-chunks";
  const strangeInData = strangeKey(data, isCall ? CALL_KEYS : TEXT_KEYS);
  if (strangeInData !== null) return `the unknown field "${strangeInData}" in data`;
  const { turn, step, index, dt, id, name } = data;
  for (const [key, value] of [["turn", turn], ["step", step], ["index", index]] as const) {
    if (typeof value !== "number") return wrong(`data.${key}`, value, "a number");
  }
  if (isCall && typeof id !== "string") return wrong("data.id", id, "a string");
  if (name !== undefined && typeof name !== "string") return wrong("data.name", name, "a string");
  const parts = isCall ? data.args : data.texts;
  const problem = partsProblem(parts, isCall ? "data.args" : "data.texts") ?? gapsProblem(dt, parts, time0);
  if (problem !== null) return problem;
  const named = name === undefined ? {} : { name };
  const record = isCall
    ? { type: row.type, time0, index, dt, id, ...named, args: parts }
    : { type: row.type, time0, index, dt, texts: parts };
  return {
    kind: "run",
    firstSeq: seq0,
    count: (parts as readonly string[]).length,
    turn: turn as number,
    step: step as number,
    record: record as unknown as PackedRecord,
  };
}

/** A run as the row it came from. */
export function packRow({ firstSeq, turn, step, record }: LegacyRunRow): object {
  const { type, time0, ...data } = record;
  return { type, seq0: firstSeq, time0, data: { turn, step, ...data } };
}

/** The events a run stands for. */
export function* eventsOfRun(run: LegacyRunRow): Generator<LegacyEvent, void, undefined> {
  const { firstSeq, turn, step, record } = run;
  const parts = partsOf(record);
  let time = record.time0;
  for (let index = 0; index < parts.length; index++) {
    if (index > 0) time += record.dt[index - 1] as number;
    const chunk = chunkOf(record, parts[index] as string);
    const data = { turn, step, chunk } as unknown as LegacyEvent["data"];
    yield { type: "assistant/chunk", seq: firstSeq + index, time, data };
  }
}

/** The texts or arguments of a record. */
export function partsOf(record: PackedRecord): readonly string[] {
  return record.type === "tool-call-chunks" ? record.args : record.texts;
}

function chunkOf(record: PackedRecord, part: string): StreamChunk {
  const { index } = record;
  if (record.type === "tool-call-chunks") {
    const { id, name } = record;
    return { type: "tool-call-delta", index, id, ...(name === undefined ? {} : { name }), argumentsDelta: part };
  }
  return { type: record.type === "text-chunks" ? "text-delta" : "reasoning-delta", index, text: part };
}

function partsProblem(parts: unknown, path: string): string | null {
  if (!Array.isArray(parts) || parts.length === 0) return wrong(path, parts, "a non-empty list");
  for (let index = 0; index < parts.length; index++) {
    if (typeof parts[index] !== "string") return wrong(`${path}[${index}]`, parts[index], "a string");
  }
  return null;
}

function gapsProblem(dt: unknown, parts: unknown, time0: number): string | null {
  const gaps = (parts as readonly string[]).length - 1;
  if (!Array.isArray(dt) || dt.length !== gaps) return wrong("data.dt", dt, `a list of ${gaps}`);
  let time = time0;
  for (let index = 0; index < gaps; index++) {
    if (!Number.isSafeInteger(dt[index])) return wrong(`data.dt[${index}]`, dt[index], "an integer");
    time += dt[index];
    if (!Number.isSafeInteger(time)) return wrong(`data.dt[${index}]`, dt[index], "a gap to a safe time");
  }
  return null;
}
