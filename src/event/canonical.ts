/**
 * Canonical JSON: one text for all spellings of the same value, so that a digest can tie a grant to exact arguments.
 *
 * @see RFC 8785
 * @module
 */
import type { JsonObject, JsonValue } from "./json.ts";
import { JSON_DEPTH_MAX } from "./lossless.ts";

/**
 * Writes a value as RFC 8785 says: keys sorted by UTF-16 code units, numbers and strings as ECMAScript writes them.
 *
 * One difference: the RFC refuses lone surrogates, and we keep them as the `\udXXX` escape that `JSON.stringify` writes,
 * because a model may send one and its call still needs a digest.
 *
 * @throws {RangeError} a number that is not finite, or deeper than `JSON_DEPTH_MAX`
 *
 * @example
 * ```ts
 * import { canonicalJson } from "./canonical.ts";
 *
 * const text = canonicalJson({ b: [1.0, 1e21], a: "é" });
 * if (text !== '{"a":"é","b":[1,1e+21]}') throw new Error(text);
 * ```
 */
export function canonicalJson(value: JsonValue): string {
  return write(value, 0);
}

function write(value: JsonValue, depth: number): string {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError(`Cannot write canonical JSON: found ${value}`);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth >= JSON_DEPTH_MAX) {
    throw new RangeError(`Cannot write canonical JSON: found more than ${JSON_DEPTH_MAX} levels`);
  }
  if (Array.isArray(value)) return `[${value.map((element) => write(element, depth + 1)).join(",")}]`;
  const object = value as JsonObject;
  // The default order of sort() is that of UTF-16 code units, which is the one the RFC asks for.
  const members = Object.keys(object).sort().map((key) =>
    `${JSON.stringify(key)}:${write(object[key] as JsonValue, depth + 1)}`
  );
  return `{${members.join(",")}}`;
}

/**
 * The SHA-256, in lower-case hex, of a call's arguments: over their canonical JSON, or over the raw text when that has none.
 *
 * Two calls with equal digests were asked to do the same thing. An empty text means `{}`, as it does when a tool is run.
 *
 * @param rawArguments the model's text, as the log keeps it
 *
 * @example
 * ```ts
 * import { argumentsDigest } from "./canonical.ts";
 *
 * const [left, right] = [await argumentsDigest('{"a":1,"b":2}'), await argumentsDigest('{ "b": 2, "a": 1.0 }')];
 * if (left !== right) throw new Error("unreachable");
 * ```
 */
export async function argumentsDigest(rawArguments: string): Promise<string> {
  const text = canonicalText(rawArguments);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Text that is no JSON, or JSON without a canonical form (1e400, a thousand levels), stands for itself. */
function canonicalText(rawArguments: string): string {
  if (rawArguments === "") return "{}";
  try {
    return canonicalJson(JSON.parse(rawArguments));
  } catch {
    return rawArguments;
  }
}
