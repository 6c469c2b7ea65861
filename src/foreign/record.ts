/**
 * What a stranger's JSON holds, asked for member by member. Whatever is not as expected is absent.
 *
 * @module
 */
import { jsonText } from "../event/mod.ts";

/** An object of unknown content. */
export interface ForeignRecord {
  readonly [key: string]: unknown;
}

/** A member that is a non-empty string. */
export function stringAt(record: ForeignRecord, key: string): string | null {
  const value = Object.hasOwn(record, key) ? record[key] : null;
  return typeof value === "string" && value !== "" ? value : null;
}

/** A member that is an object; an empty one when it is none. */
export function recordAt(record: ForeignRecord, key: string): ForeignRecord {
  return asRecord(Object.hasOwn(record, key) ? record[key] : null) ?? {};
}

/** A member that is a list; an empty one when it is none. */
export function listAt(record: ForeignRecord, key: string): readonly unknown[] {
  const value = Object.hasOwn(record, key) ? record[key] : null;
  return Array.isArray(value) ? value : [];
}

/** The value as an object, or `null`. */
export function asRecord(value: unknown): ForeignRecord | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as ForeignRecord : null;
}

/** A count of tokens; 0 when it is none. */
export function countAt(record: ForeignRecord, key: string): number {
  const value = record[key];
  return Number.isSafeInteger(value) && (value as number) > 0 ? value as number : 0;
}

/** A time as milliseconds since the epoch, out of a number or an ISO 8601 text. */
export function timeAt(record: ForeignRecord, key: string): number | null {
  const value = record[key];
  const time = typeof value === "number" ? Math.trunc(value) : typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isSafeInteger(time) && time >= 0 ? time + 0 : null;
}

/** A value as the text of a call's arguments: JSON. */
export function argumentsText(value: unknown): string {
  return jsonText(value === undefined ? {} : value);
}
