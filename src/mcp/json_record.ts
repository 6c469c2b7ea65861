/**
 * Objects as JSON has them, read from a stranger.
 *
 * @module
 */

/** Members by name, none of them looked at. */
export type JsonRecord = { readonly [key: string]: unknown };

/**
 * Whether a value is an object with members.
 *
 * @example
 * ```ts
 * import { isJsonRecord } from "./json_record.ts";
 *
 * if (!isJsonRecord({}) || isJsonRecord([]) || isJsonRecord(null)) throw new Error("unreachable");
 * ```
 */
export function isJsonRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
