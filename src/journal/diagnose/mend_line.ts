/**
 * Records in a line that is none: behind a byte order mark, between zeros, several on one line, or behind the beginning of another.
 *
 * Pure. A record is never made up: what comes out stands in the line, whole.
 *
 * @module
 */
import type { DamageKind } from "./kinds.ts";

/** How many places of one line are tried in vain as the beginning of a record. */
export const LINE_STARTS_MAX = 64;

/** How often, on average, each unit of a line may be looked at for the end of a record. */
export const LINE_WALKS_MAX = 4;

/** What a line holds. */
export interface MendedLine {
  /** JSON texts of objects, in their order. */
  readonly records: readonly string[];
  /** What was wrong with the line; `null` when nothing was. */
  readonly kind: DamageKind | null;
  /** Whether something of it is in no record. */
  readonly hasRest: boolean;
  readonly message: string;
}

/**
 * Finds the records of a line.
 *
 * @example
 * ```ts
 * import { mendLine } from "./mend_line.ts";
 *
 * const { records, kind } = mendLine('{"type":"a","seq":1}{"type":"b","seq":2}');
 * if (records.length !== 2 || kind !== "fused-lines") throw new Error("unreachable");
 * ```
 */
export function mendLine(text: string): MendedLine {
  if (!text.includes("{") && !text.includes("\0")) return HOPELESS;
  if (isObject(text)) {
    return { records: [text], kind: text.endsWith("\r") ? "crlf" : null, hasRest: false, message: "a carriage return" };
  }
  if (text.startsWith("\ufeff") && isObject(text.slice(1))) {
    return { records: [text.slice(1)], kind: "byte-order-mark", hasRest: false, message: "a byte order mark" };
  }
  const pieces = text.split(/\0+/).filter((piece) => piece.trim() !== "");
  const hasZeros = text.includes("\0");
  const records: string[] = [];
  let hasRest = false;
  for (const piece of pieces) {
    const found = isObject(piece) ? { records: [piece], hasRest: false } : objectsIn(piece);
    records.push(...found.records);
    hasRest ||= found.hasRest;
  }
  if (hasZeros) {
    const zeros = text.length - text.replaceAll("\0", "").length;
    return { records, kind: "nul-run", hasRest, message: `${zeros} zeros in a line of text` };
  }
  if (records.length === 0) {
    const message = text.trim() === "" ? "a blank line" : "text that is not valid JSON";
    return { records, kind: "bad-row", hasRest: true, message };
  }
  const message = hasRest
    ? `a line of ${records.length} whole record${records.length === 1 ? "" : "s"} and a part of another`
    : `${records.length} records on one line`;
  return { records, kind: "fused-lines", hasRest, message };
}

/** A line in which no record can be. */
const HOPELESS: MendedLine = {
  ...{ records: [], kind: "bad-row", hasRest: true, message: "text that is not valid JSON" },
};

/** Objects that stand one after the other, as far as they are whole. */
function objectsIn(text: string): { records: string[]; hasRest: boolean } {
  const records: string[] = [];
  let hasRest = false;
  let starts = 0;
  let leftUnits = LINE_WALKS_MAX * text.length;
  for (let at = 0; at < text.length;) {
    if (/\s/.test(text[at]!)) {
      at += 1;
      continue;
    }
    if (starts > LINE_STARTS_MAX || leftUnits <= 0) return { records, hasRest: true };
    const end = text[at] === "{" ? objectEnd(text, at) : null;
    leftUnits -= (end ?? text.length) - at;
    const candidate = end === null ? null : text.slice(at, end);
    if (candidate !== null && looksLikeRecord(candidate) && isObject(candidate)) {
      records.push(candidate);
      at = end!;
      continue;
    }
    hasRest = true;
    starts += 1;
    const next = text.indexOf('{"', at + 1);
    if (next === -1) break;
    at = next;
  }
  return { records, hasRest };
}

/** What is nested in a record is no record: every row has a seq, or the seq of its first member, and a header has a version. */
function looksLikeRecord(text: string): boolean {
  return text.startsWith('{"type"') && /"(?:seq|seq0|version)":/.test(text);
}

/** Just behind the object that begins at `start`, by its braces and strings alone. */
function objectEnd(text: string, start: number): number | null {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at++) {
    const unit = text[at];
    if (isInString) {
      if (unit === "\\") at += 1;
      else if (unit === '"') isInString = false;
    } else if (unit === '"') isInString = true;
    else if (unit === "{") depth += 1;
    else if (unit === "}" && --depth === 0) return at + 1;
  }
  return null;
}

function isObject(text: string): boolean {
  if (!/^\s*\{/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
