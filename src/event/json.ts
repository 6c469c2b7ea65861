/**
 * Lossless JSON: the values that come back from `JSON.parse(JSON.stringify(value))` exactly as they went in.
 *
 * @module
 */

/** A JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A plain JSON object. */
export interface JsonObject {
  /** A member. `undefined` stands for an absent one: JSON has no such value. */
  readonly [key: string]: JsonValue | undefined;
}
