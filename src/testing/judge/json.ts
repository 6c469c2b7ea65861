/**
 * JSON values compared, and written the one way that equal ones have in common.
 *
 * @module
 */
import { isRecord } from "./rows.ts";

/** Says whether two JSON values are equal, whatever the order of their keys; a key that is `undefined` is not there. */
export function jsonEquals(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (Array.isArray(left)) {
    return Array.isArray(right) && left.length === right.length &&
      left.every((item, index) => jsonEquals(item, right[index]));
  }
  if (!isRecord(left) || !isRecord(right)) return false;
  let count = 0;
  for (const key in left) {
    if (left[key] === undefined) continue;
    count++;
    if (!jsonEquals(left[key], right[key])) return false;
  }
  for (const key in right) if (right[key] !== undefined) count--;
  return count === 0;
}

/**
 * The arguments of a call in canonical form, RFC 8785; raw text that is no JSON stays as it is. An empty text means `{}`.
 */
export function canonicalArguments(text: string): string {
  if (text === "") return "{}";
  try {
    return canonical(JSON.parse(text));
  } catch {
    return text;
  }
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  // RFC 8785 §3.2.3 sorts by UTF-16 code units, as sort() without an argument does.
  const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(",")}}`;
}
