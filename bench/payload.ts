/**
 * The events that are written, and the same bytes for those who know no events.
 *
 * @module
 */
import type { EventDraft } from "../mod.ts";

/** The longest row of a batch. A larger batch has more rows, as a session's batches do. */
const ROW_SIZE_BYTES = 512;
const WORDS = "the agent reads a file and says what it found before any effect leaves this machine once more".split(
  " ",
);

/** A batch of events, and what it is in the log before compression. */
export interface Payload {
  readonly drafts: readonly EventDraft[];
  /** The rows as they stand in the log, about `sizeBytes` of them: the sequence number of a late row has more digits. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Makes a batch of this size from words, the same for the same size. It compresses as prose does.
 *
 * @param sizeBytes at least 200
 *
 * @example
 * ```ts
 * import { makePayload } from "./payload.ts";
 *
 * const { drafts, bytes } = makePayload(4096);
 * if (drafts.length !== 8 || bytes.length !== 4096) throw new Error("unreachable");
 * ```
 */
export function makePayload(sizeBytes: number): Payload {
  const count = Math.max(1, Math.floor(sizeBytes / ROW_SIZE_BYTES));
  const drafts: EventDraft[] = [];
  let rows = "";
  for (let index = 0; index < count; index++) {
    const isLast = index === count - 1;
    const rowSizeBytes = isLast ? sizeBytes - rows.length : ROW_SIZE_BYTES;
    const text = prose(rowSizeBytes - rowOf("").length, index + 1);
    drafts.push({ type: "bench/note", data: { text }, ignorable: true });
    rows += rowOf(text);
  }
  return { drafts, bytes: new TextEncoder().encode(rows) };
}

/**
 * A batch of so many events, each a row of this size.
 *
 * @param rowSizeBytes at least 100
 *
 * @example
 * ```ts
 * import { makeBatch } from "./payload.ts";
 *
 * const { drafts, bytes } = makeBatch(6, 120);
 * if (drafts.length !== 6 || bytes.length !== 720) throw new Error("unreachable");
 * ```
 */
export function makeBatch(events: number, rowSizeBytes: number): Payload {
  const texts = Array.from({ length: events }, (_, index) => prose(rowSizeBytes - rowOf("").length, index + 1));
  return {
    drafts: texts.map((text) => ({ type: "bench/note", data: { text }, ignorable: true })),
    bytes: new TextEncoder().encode(texts.map(rowOf).join("")),
  };
}

function rowOf(text: string): string {
  return JSON.stringify({ type: "bench/note", seq: 0, time: 1_700_000_000_000, data: { text }, ignorable: true }) +
    "\n";
}

/** Words in an order that a small linear congruential generator decides. */
function prose(length: number, seed: number): string {
  let state = seed;
  let text = "";
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    text += `${WORDS[state % WORDS.length]} `;
  }
  return text.slice(0, length);
}
