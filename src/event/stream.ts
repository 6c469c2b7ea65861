/**
 * Model streams as the log embeds them: deltas that belong together share one record.
 *
 * @see session-format §3.5
 * @module
 */
import { isInt, show, strangeKey } from "./checks.ts";
import { freezeJson, snapshotOf } from "./lossless.ts";
import type { StreamChunk, StreamRecord } from "./message.ts";
import { chunkProblem } from "./stream_shape.ts";

/** One chunk and when it came. */
export interface TimedChunk {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The chunk, as the provider's adapter yielded it. */
  readonly chunk: StreamChunk;
}

/** A packed record that may still grow. */
interface OpenRecord {
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

const DELTA_KEYS: ReadonlySet<string> = new Set(["type", "index", "text"]);
const CALL_DELTA_KEYS: ReadonlySet<string> = new Set(["type", "index", "id", "name", "argumentsDelta"]);

/**
 * Collects the chunks of one model stream as the records of `data.stream`.
 *
 * Nothing is lost: {@linkcode replayStream} gives back every chunk with its time. The caller bounds how many it adds.
 *
 * @example
 * ```ts
 * import { StreamRecorder } from "./stream.ts";
 *
 * const recorder = new StreamRecorder();
 * recorder.add({ type: "text-delta", index: 0, text: "a" }, 10);
 * recorder.add({ type: "text-delta", index: 0, text: "b" }, 13);
 * if (JSON.stringify(recorder.records) !== '[{"type":"text-chunks","time0":10,"index":0,"dt":[3],"texts":["a","b"]}]') {
 *   throw new Error("unreachable");
 * }
 * ```
 */
export class StreamRecorder {
  readonly #closed: StreamRecord[] = [];
  /** The last record while it may grow. It is in `#closed` only after that. */
  #open: OpenRecord | null = null;

  /**
   * Adds one chunk.
   *
   * @param timeMs milliseconds since the epoch; may go backwards
   * @throws {TypeError} a chunk that the log could not hold, or a time that is no integer
   */
  add(chunk: StreamChunk, timeMs: number): void {
    if (!isInt(timeMs)) {
      throw new TypeError(`Cannot record a chunk: found time ${show(timeMs)}, expected an integer`);
    }
    const problem = chunkProblem(chunk);
    if (problem !== null) throw new TypeError(`Cannot record a chunk: found ${problem}`);
    const next = packable(chunk, timeMs);
    if (next === null) {
      this.#close();
      this.#closed.push(snapshotOf<StreamRecord>({ type: "chunk", time: timeMs, chunk }, "chunk"));
    } else if (this.#open !== null && joins(this.#open, next)) {
      this.#open.dt.push(timeMs - this.#open.lastTime);
      this.#open.parts.push(...next.parts);
      this.#open.lastTime = timeMs;
    } else {
      this.#close();
      this.#open = next;
    }
  }

  /** What was recorded so far: a frozen copy that later chunks do not change. */
  get records(): readonly StreamRecord[] {
    return Object.freeze(this.#open === null ? [...this.#closed] : [...this.#closed, toRecord(this.#open)]);
  }

  #close(): void {
    if (this.#open !== null) this.#closed.push(toRecord(this.#open));
    this.#open = null;
  }
}

/**
 * The chunks an embedded stream was made of, in order.
 *
 * @example
 * ```ts
 * import { replayStream } from "./stream.ts";
 *
 * const [first, second] = replayStream([{ type: "text-chunks", time0: 10, index: 0, dt: [3], texts: ["a", "b"] }]);
 * if (first?.time !== 10 || second?.time !== 13) throw new Error("unreachable");
 * ```
 */
export function replayStream(records: readonly StreamRecord[]): TimedChunk[] {
  const chunks: TimedChunk[] = [];
  for (const record of records) {
    if (record.type === "chunk") {
      chunks.push({ time: record.time, chunk: record.chunk });
      continue;
    }
    let time = record.time0;
    const parts = record.type === "tool-call-chunks" ? record.args : record.texts;
    parts.forEach((part, index) => {
      if (index > 0) time += record.dt[index - 1] as number;
      chunks.push({ time, chunk: toChunk(record, part) });
    });
  }
  return chunks;
}

/** A record of its own for a delta, or null for a chunk that is kept whole. */
function packable(chunk: StreamChunk, timeMs: number): OpenRecord | null {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      if (hasOtherKeys(chunk, DELTA_KEYS)) return null;
      return {
        type: chunk.type === "text-delta" ? "text-chunks" : "reasoning-chunks",
        time0: timeMs,
        index: chunk.index,
        dt: [],
        parts: [chunk.text],
        lastTime: timeMs,
      };
    case "tool-call-delta":
      if (chunk.id === "" || chunk.name === "" || hasOtherKeys(chunk, CALL_DELTA_KEYS)) return null;
      return {
        type: "tool-call-chunks",
        time0: timeMs,
        index: chunk.index,
        dt: [],
        id: chunk.id,
        ...(chunk.name === undefined ? {} : { name: chunk.name }),
        parts: [chunk.argumentsDelta],
        lastTime: timeMs,
      };
    default:
      return null;
  }
}

/** A member the packed form has no place for would be lost. */
function hasOtherKeys(chunk: StreamChunk, keys: ReadonlySet<string>): boolean {
  return strangeKey(chunk as unknown as Record<string, unknown>, keys) !== null;
}

function joins(open: OpenRecord, next: OpenRecord): boolean {
  return open.type === next.type && open.index === next.index && open.id === next.id && open.name === next.name &&
    isExactGap(open.lastTime, next.time0);
}

/** Whether adding the gap back gives exactly the time it came from. */
function isExactGap(from: number, to: number): boolean {
  return isInt(to - from);
}

/** Keys in the order the format lists them. */
function toRecord(open: OpenRecord): StreamRecord {
  const { type, time0, index, id, name } = open;
  const dt = [...open.dt];
  const parts = [...open.parts];
  if (type !== "tool-call-chunks") return freezeJson({ type, time0, index, dt, texts: parts });
  return freezeJson({ type, time0, index, dt, id: id as string, ...(name === undefined ? {} : { name }), args: parts });
}

function toChunk(record: Exclude<StreamRecord, { type: "chunk" }>, part: string): StreamChunk {
  const { index } = record;
  if (record.type === "tool-call-chunks") {
    const { id, name } = record;
    return { type: "tool-call-delta", index, id, ...(name === undefined ? {} : { name }), argumentsDelta: part };
  }
  return { type: record.type === "text-chunks" ? "text-delta" : "reasoning-delta", index, text: part };
}
