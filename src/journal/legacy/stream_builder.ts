/**
 * The stream of one answer, put together from the chunk events and packed rows that older versions keep it in.
 *
 * @see session-format §3.5, §10.3
 * @module
 */
import { jsonText, type JsonValue } from "../../event/mod.ts";
import { isCount, isInt, isRecord, type JsonRecord, strangeKey } from "../../event/checks.ts";
import { partsOf } from "./packed_row.ts";
import type { PackedRecord } from "./types.ts";

/** A packed record that may still grow. */
interface OpenRecord {
  readonly type: PackedRecord["type"];
  readonly time0: number;
  readonly index: number;
  readonly dt: number[];
  readonly id?: string;
  readonly name?: string;
  readonly parts: string[];
  lastTime: number;
}

const DELTA_KEYS: ReadonlySet<string> = new Set(["type", "index", "text"]);
const CALL_DELTA_KEYS: ReadonlySet<string> = new Set(["type", "index", "id", "name", "argumentsDelta"]);

/** Collects the records of one embedded stream. Everything of it is held, so the caller bounds `sizeUnits`. */
export class StreamBuilder {
  readonly #closed: JsonValue[] = [];
  #open: OpenRecord | null = null;
  /** About how many characters the records hold. */
  sizeUnits = 0;

  /** Adds one chunk. One that no packed record has a place for is kept whole. */
  addChunk(chunk: JsonRecord, time: number): void {
    const next = packable(chunk, time);
    if (next !== null) return this.#add(next);
    this.#close();
    const record = { type: "chunk", time, chunk } as unknown as JsonValue;
    this.sizeUnits += jsonText(chunk).length;
    this.#closed.push(record);
  }

  /** Adds what a packed row holds, whatever its id is. */
  addRun(record: PackedRecord): void {
    const { type, time0, index, dt } = record;
    const named = record.type === "tool-call-chunks" ? { id: record.id, name: record.name } : {};
    const lastTime = dt.reduce((time, gap) => time + gap, time0);
    this.#add({ type, time0, index, dt: [...dt], ...named, parts: [...partsOf(record)], lastTime });
  }

  /** The records. Nothing is added afterwards. */
  finish(): readonly JsonValue[] {
    this.#close();
    return this.#closed;
  }

  #add(next: OpenRecord): void {
    for (const part of next.parts) this.sizeUnits += part.length + UNITS_PER_PART;
    const open = this.#open;
    if (open === null || !joins(open, next)) {
      this.#close();
      this.#open = next;
      return;
    }
    open.dt.push(next.time0 - open.lastTime);
    // No spread: a row may hold more parts than a call takes arguments.
    for (const gap of next.dt) open.dt.push(gap);
    for (const part of next.parts) open.parts.push(part);
    open.lastTime = next.lastTime;
  }

  #close(): void {
    if (this.#open !== null) this.#closed.push(recordOf(this.#open));
    this.#open = null;
  }
}

/** What a part costs beside its text: quotes, a comma, its gap. */
const UNITS_PER_PART = 8;

function packable(chunk: JsonRecord, time: number): OpenRecord | null {
  const { type, index, text, id, name, argumentsDelta } = chunk;
  if (!isCount(index)) return null;
  switch (type) {
    case "text-delta":
    case "reasoning-delta": {
      if (typeof text !== "string" || strangeKey(chunk, DELTA_KEYS) !== null) return null;
      const packed = type === "text-delta" ? "text-chunks" as const : "reasoning-chunks" as const;
      return { type: packed, time0: time, index, dt: [], parts: [text], lastTime: time };
    }
    case "tool-call-delta": {
      if (typeof id !== "string" || id === "" || name === "" || typeof argumentsDelta !== "string") return null;
      if (name !== undefined && typeof name !== "string") return null;
      if (strangeKey(chunk, CALL_DELTA_KEYS) !== null) return null;
      const parts = [argumentsDelta];
      return { type: "tool-call-chunks", time0: time, index, dt: [], id, name, parts, lastTime: time };
    }
    default:
      return null;
  }
}

function joins(open: OpenRecord, next: OpenRecord): boolean {
  return open.type === next.type && open.index === next.index && open.id === next.id && open.name === next.name &&
    isInt(next.time0 - open.lastTime);
}

/** Members in the order in which the format lists them. */
function recordOf({ type, time0, index, dt, id, name, parts }: OpenRecord): JsonValue {
  if (type !== "tool-call-chunks") return { type, time0, index, dt, texts: parts };
  return { type, time0, index, dt, id, ...(name === undefined ? {} : { name }), args: parts };
}

/** The chunk of an `assistant/chunk` event and the step it belongs to, or null. */
export function chunkOf(data: JsonValue): { turn: number; step: number; chunk: JsonRecord } | null {
  if (!isRecord(data) || !isRecord(data.chunk)) return null;
  const { turn, step, chunk } = data;
  return typeof turn === "number" && typeof step === "number" ? { turn, step, chunk } : null;
}
