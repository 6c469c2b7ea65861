/**
 * The stream of one answer, put together from the chunk events and packed rows that older versions keep it in.
 *
 * @see session-format §3.5, §10.3
 * @module
 */
import { jsonText, type JsonValue } from "../../event/mod.ts";
import { isRecord, type JsonRecord } from "../../event/checks.ts";
import { type GrowingRecord, growingRecord, joinRecord, packRecord } from "../../event/growing_record.ts";
import { partsOf } from "./packed_row.ts";
import type { PackedRecord } from "./types.ts";

/** Collects the records of one embedded stream. Everything of it is held, so the caller bounds `sizeUnits`. */
export class StreamBuilder {
  readonly #closed: JsonValue[] = [];
  #open: GrowingRecord | null = null;
  /** About how many characters the records hold. */
  sizeUnits = 0;

  /** Adds one chunk. One that no packed record has a place for is kept whole. */
  addChunk(chunk: JsonRecord, time: number): void {
    const next = growingRecord(chunk, time);
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

  #add(next: GrowingRecord): void {
    for (const part of next.parts) this.sizeUnits += part.length + UNITS_PER_PART;
    if (this.#open !== null && joinRecord(this.#open, next)) return;
    this.#close();
    this.#open = next;
  }

  #close(): void {
    if (this.#open !== null) this.#closed.push(packRecord(this.#open) as unknown as JsonValue);
    this.#open = null;
  }
}

/** What a part costs beside its text: quotes, a comma, its gap. */
const UNITS_PER_PART = 8;

/** The chunk of an `assistant/chunk` event and the step it belongs to, or null. */
export function chunkOf(data: JsonValue): { turn: number; step: number; chunk: JsonRecord } | null {
  if (!isRecord(data) || !isRecord(data.chunk)) return null;
  const { turn, step, chunk } = data;
  return typeof turn === "number" && typeof step === "number" ? { turn, step, chunk } : null;
}
