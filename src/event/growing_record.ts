/**
 * Deltas of a model stream that share one record while they belong together.
 *
 * @see session-format §3.5
 * @module
 */
import { isCount, isInt, type JsonRecord, strangeKey } from "./checks.ts";
import type { StreamRecord } from "./message.ts";

/** A packed record that may still grow. */
export interface GrowingRecord {
  readonly type: "text-chunks" | "reasoning-chunks" | "tool-call-chunks";
  readonly time0: number;
  readonly index: number;
  readonly dt: number[];
  /** Present on tool calls only. */
  readonly id?: string;
  readonly name?: string;
  /** `texts` or `args`. */
  readonly parts: string[];
  lastTime: number;
}

/** A record as the log holds it. */
export type PackedStreamRecord = Exclude<StreamRecord, { readonly type: "chunk" }>;

const DELTA_KEYS: ReadonlySet<string> = new Set(["type", "index", "text"]);
const CALL_DELTA_KEYS: ReadonlySet<string> = new Set(["type", "index", "id", "name", "argumentsDelta"]);

/**
 * A record of its own for a delta, or `null` for a chunk that is kept whole: a member that the packed form has no place for would
 * be lost.
 *
 * @param time milliseconds since the epoch
 *
 * @example
 * ```ts
 * import { growingRecord } from "./growing_record.ts";
 *
 * const record = growingRecord({ type: "text-delta", index: 0, text: "a" }, 10);
 * if (record?.parts[0] !== "a" || growingRecord({ type: "finish" }, 10) !== null) throw new Error("unreachable");
 * ```
 */
export function growingRecord(chunk: JsonRecord, time: number): GrowingRecord | null {
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

/**
 * Appends a record to one that it belongs to: same kind, same call, and a gap that gives back exactly the time it came from.
 *
 * @returns whether it did
 *
 * @example
 * ```ts
 * import { growingRecord, joinRecord } from "./growing_record.ts";
 *
 * const record = growingRecord({ type: "text-delta", index: 0, text: "a" }, 10)!;
 * const isJoined = joinRecord(record, growingRecord({ type: "text-delta", index: 0, text: "b" }, 13)!);
 * if (!isJoined || record.parts.join("") !== "ab" || record.dt[0] !== 3) throw new Error("unreachable");
 * ```
 */
export function joinRecord(record: GrowingRecord, next: GrowingRecord): boolean {
  const belongs = record.type === next.type && record.index === next.index && record.id === next.id &&
    record.name === next.name;
  if (!belongs || !isInt(next.time0 - record.lastTime)) return false;
  record.dt.push(next.time0 - record.lastTime);
  // No spread: a record may hold more parts than a call takes arguments.
  for (const gap of next.dt) record.dt.push(gap);
  for (const part of next.parts) record.parts.push(part);
  record.lastTime = next.lastTime;
  return true;
}

/**
 * The record as the log holds it, members in the order in which the format lists them. A copy: what grows later is not in it.
 *
 * @example
 * ```ts
 * import { growingRecord, packRecord } from "./growing_record.ts";
 *
 * const record = packRecord(growingRecord({ type: "text-delta", index: 0, text: "a" }, 10)!);
 * if (JSON.stringify(record) !== '{"type":"text-chunks","time0":10,"index":0,"dt":[],"texts":["a"]}') throw new Error("unreachable");
 * ```
 */
export function packRecord(record: GrowingRecord): PackedStreamRecord {
  const { type, time0, index, id, name } = record;
  const dt = [...record.dt];
  const parts = [...record.parts];
  if (type !== "tool-call-chunks") return { type, time0, index, dt, texts: parts };
  return { type, time0, index, dt, id: id as string, ...(name === undefined ? {} : { name }), args: parts };
}
