/**
 * Model streams as the log embeds them: deltas that belong together share one record.
 *
 * @see session-format §3.5
 * @module
 */
import { isInt, type JsonRecord, show } from "./checks.ts";
import { type GrowingRecord, growingRecord, joinRecord, packRecord } from "./growing_record.ts";
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
  #open: GrowingRecord | null = null;

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
    const next = growingRecord(chunk as unknown as JsonRecord, timeMs);
    if (next !== null && this.#open !== null && joinRecord(this.#open, next)) return;
    this.#close();
    this.#open = next;
    if (next === null) this.#closed.push(snapshotOf<StreamRecord>({ type: "chunk", time: timeMs, chunk }, "chunk"));
  }

  /** What was recorded so far: a frozen copy that later chunks do not change. */
  get records(): readonly StreamRecord[] {
    return Object.freeze(
      this.#open === null ? [...this.#closed] : [...this.#closed, freezeJson<StreamRecord>(packRecord(this.#open))],
    );
  }

  #close(): void {
    if (this.#open !== null) this.#closed.push(freezeJson<StreamRecord>(packRecord(this.#open)));
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

function toChunk(record: Exclude<StreamRecord, { type: "chunk" }>, part: string): StreamChunk {
  const { index } = record;
  if (record.type === "tool-call-chunks") {
    const { id, name } = record;
    return { type: "tool-call-delta", index, id, ...(name === undefined ? {} : { name }), argumentsDelta: part };
  }
  return { type: record.type === "text-chunks" ? "text-delta" : "reasoning-delta", index, text: part };
}
