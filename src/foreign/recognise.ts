/**
 * Which program wrote a log, by what stands in it.
 *
 * @module
 */
import { ForeignLines } from "./lines.ts";
import type { ForeignFormat } from "./reader.ts";
import { asRecord, type ForeignRecord, stringAt } from "./record.ts";

/** How much of a file is looked at, in bytes. */
export const RECOGNISE_BYTES_MAX: number = 4 * 1024 * 1024;

/** How many lines of it are looked at. */
export const RECOGNISE_LINES_MAX = 200;

const CLAUDE_CODE_TYPES: ReadonlySet<unknown> = new Set(["user", "assistant", "system", "attachment", "progress"]);
const CODEX_TYPES: ReadonlySet<unknown> = new Set([
  "session_meta",
  "response_item",
  "event_msg",
  "turn_context",
  "compacted",
]);

/**
 * Says which program's session log a file is, or `null` for none of those that are known. Never throws; a log of ours is none.
 *
 * @example
 * ```ts
 * import { recogniseForeign } from "./recognise.ts";
 *
 * const line = '{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}';
 * if (recogniseForeign(new TextEncoder().encode(line)) !== "codex") throw new Error("unreachable");
 * ```
 */
export function recogniseForeign(bytes: Uint8Array<ArrayBuffer>): ForeignFormat | null {
  const lines = new ForeignLines(bytes.subarray(0, RECOGNISE_BYTES_MAX));
  for (let line = 0; line < Math.min(lines.count, RECOGNISE_LINES_MAX); line++) {
    const record = lines.read(line);
    if (record === null || record === "blank") continue;
    if (isOurs(record)) return null;
    const format = formatOf(record);
    if (format !== null) return format;
  }
  return null;
}

/** Each version of our own format has these in its header. */
function isOurs(record: ForeignRecord): boolean {
  return record.type === "session" && typeof record.createdAt === "number";
}

function formatOf(record: ForeignRecord): ForeignFormat | null {
  const { type, payload, message } = record;
  if (CODEX_TYPES.has(type) && asRecord(payload) !== null) return "codex";
  // An old rollout begins with a line without a type.
  if (
    type === undefined && stringAt(record, "id") !== null && typeof record.timestamp === "string" &&
    "instructions" in record
  ) {
    return "codex";
  }
  if (type === "session" && typeof record.timestamp === "string") return "pi";
  if (type === "message" && "parentId" in record && asRecord(message) !== null) return "pi";
  if (type === "summary" && stringAt(record, "leafUuid") !== null) return "claude-code";
  const isLinked = "parentUuid" in record || stringAt(record, "sessionId") !== null;
  if (CLAUDE_CODE_TYPES.has(type) && isLinked && stringAt(record, "uuid") !== null) return "claude-code";
  return null;
}
