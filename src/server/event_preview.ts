/**
 * An event that is too large to be shown whole: the same event with its chunk runs folded and its long texts cut.
 *
 * Nothing is lost: the preview says how large the event is and where it can be read whole.
 *
 * @module
 */
import { encodeRow, type JsonValue, type SessionEvent } from "../../mod.ts";
import { PREVIEW_SIZE_BYTES_MAX } from "./limits.ts";

/** What is kept of a text and of a list or record at first; then a quarter of it, until the whole fits. */
const FIRST_CUT = { length: 16 * 1024, items: 1024 };
/** Each try keeps so many times less. */
const CUT_FACTOR = 4;
/** What a cut text ends with. */
const ELLIPSIS = "…";

const encoder = new TextEncoder();

/**
 * The row of an event as a preview of at most PREVIEW_SIZE_BYTES_MAX bytes. Its additional field `preview` is
 * `{sizeBytes, href}`: how large the row in the log is, and where it can be read whole.
 *
 * @param href where the whole row is
 *
 * @example
 * ```ts
 * import { previewRow } from "./event_preview.ts";
 *
 * const event = { type: "user/message", seq: 4, time: 1, data: { text: "a".repeat(1_000_000) } } as const;
 * const row = JSON.parse(previewRow(event as never, "/v1/sessions/a/events/4"));
 * if (row.seq !== 4 || row.data.text.length > 20_000 || row.preview.sizeBytes < 1_000_000) throw new Error("unreachable");
 * ```
 */
export function previewRow(event: SessionEvent, href: string): string {
  const sizeBytes = encoder.encode(encodeRow(event)).length;
  const { type, seq, time } = event;
  const folded = foldRuns(event as unknown as JsonValue) as Record<string, JsonValue>;
  for (let { length, items } = FIRST_CUT; items >= 1; length /= CUT_FACTOR, items /= CUT_FACTOR) {
    const cut = cutValue(folded, Math.floor(length), Math.floor(items)) as Record<string, JsonValue>;
    const row = JSON.stringify({ ...cut, type, seq, time, preview: { sizeBytes, href } });
    if (encoder.encode(row).length <= PREVIEW_SIZE_BYTES_MAX) return row;
  }
  return JSON.stringify({ type: cutText(type, FIRST_CUT.items), seq, time, preview: { sizeBytes, href } });
}

/** Each run of chunks in the embedded stream as one chunk: the same text, begun at the same time. */
function foldRuns(event: JsonValue): JsonValue {
  const { data } = event as { data?: JsonValue };
  if (!isRecord(data) || !Array.isArray(data.stream)) return event;
  return { ...event as Record<string, JsonValue>, data: { ...data, stream: data.stream.map(foldRun) } };
}

function foldRun(record: JsonValue): JsonValue {
  if (!isRecord(record) || !Array.isArray(record.dt)) return record;
  const key = Array.isArray(record.texts) ? "texts" : "args";
  const parts = record[key];
  return Array.isArray(parts) ? { ...record, dt: [], [key]: [parts.join("")] } : record;
}

function cutValue(value: JsonValue, length: number, items: number): JsonValue {
  if (typeof value === "string") return cutText(value, length);
  if (Array.isArray(value)) return value.slice(0, items).map((item) => cutValue(item, length, items));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).slice(0, items);
  return Object.fromEntries(entries.map(([key, item]) => [cutText(key, length), cutValue(item, length, items)]));
}

/** Never between the two halves of a character. */
function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const isBetween = length > 0 && /[\uD800-\uDBFF]/.test(text[length - 1]!);
  return text.slice(0, isBetween ? length - 1 : length) + ELLIPSIS;
}

function isRecord(value: unknown): value is Record<string, JsonValue> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
