/**
 * Lossless JSON: copies that come back from the disk exactly as they went in, or a refusal that names the place.
 *
 * Lossless are null, booleans, strings (lone surrogates included, which `JSON.stringify` escapes), finite numbers other than
 * −0, dense arrays, and plain objects with enumerable string keys only.
 *
 * @see session-format §3.1
 * @module
 */
import type { JsonObject, JsonValue } from "./json.ts";
import { show } from "./checks.ts";

/** How deep arrays and objects may nest. Deeper values are refused before the stack is at risk. */
export const JSON_DEPTH_MAX = 1000;

/**
 * Takes a deep-frozen copy of a value that is lossless JSON.
 *
 * Each property is read once, so a getter cannot answer differently later. `toJSON` is never called.
 *
 * @param what how the message names the value, such as "data"
 * @throws {TypeError} naming the path, when the value would not come back as it is
 *
 * @example
 * ```ts
 * import { snapshotJson } from "./lossless.ts";
 *
 * const copy = snapshotJson({ text: "hi" }, "data");
 * if (!Object.isFrozen(copy)) throw new Error("unreachable");
 * ```
 */
export function snapshotJson(value: unknown, what: string): JsonValue {
  return new Snapshot(what).take(value);
}

/**
 * The same for a value of a known type, which the copy has too: lossless JSON comes back as it is, or not at all.
 *
 * @throws {TypeError} naming the path, when the value would not come back as it is
 *
 * @example
 * ```ts
 * import { snapshotOf } from "./lossless.ts";
 *
 * const failure = snapshotOf({ message: "busy", code: "RATE_LIMIT" }, "the failure");
 * if (failure.code !== "RATE_LIMIT" || !Object.isFrozen(failure)) throw new Error("unreachable");
 * ```
 */
export function snapshotOf<Value>(value: Value, what: string): Value {
  // The type says less than the copy: that every member is JSON was found out just now.
  return snapshotJson(value, what) as Value & JsonValue;
}

class Snapshot {
  readonly #path: string[];
  /** The containers around the value being read: meeting one again is a cycle. Siblings may share a value. */
  readonly #around = new Set<object>();

  constructor(what: string) {
    this.#path = [what];
  }

  take(value: unknown): JsonValue {
    if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
    if (typeof value === "number") {
      if (!Number.isFinite(value) || Object.is(value, -0)) return this.#refuse(show(value));
      return value;
    }
    if (typeof value !== "object") return this.#refuse(value === undefined ? "undefined" : `a ${typeof value}`);
    if (this.#around.has(value)) return this.#refuse("a cycle");
    if (this.#around.size >= JSON_DEPTH_MAX) return this.#refuse(`more than ${JSON_DEPTH_MAX} levels`);
    this.#around.add(value);
    const copy = Array.isArray(value) ? this.#takeArray(value) : this.#takeObject(value);
    this.#around.delete(value);
    return copy;
  }

  #takeArray(value: readonly unknown[]): JsonValue {
    if (Object.getPrototypeOf(value) !== Array.prototype) return this.#refuse("an array that is not plain");
    const length = value.length;
    const copy: JsonValue[] = [];
    for (let index = 0; index < length; index++) {
      this.#path.push(`[${index}]`);
      if (!Object.hasOwn(value, index)) return this.#refuse("a hole");
      copy.push(this.take(value[index]));
      this.#path.pop();
    }
    // The own keys of a dense plain array are its indices and "length".
    if (Reflect.ownKeys(value).length !== length + 1) return this.#refuse("an array with named properties");
    return Object.freeze(copy);
  }

  #takeObject(value: object): JsonValue {
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return this.#refuse("an object that is not plain");
    const keys = Object.keys(value);
    if (Reflect.ownKeys(value).length !== keys.length) return this.#refuse("a symbol or non-enumerable key");
    const copy: Record<string, JsonValue> = {};
    for (const key of keys) {
      this.#path.push(`.${key}`);
      put(copy, key, this.take((value as Record<string, unknown>)[key]));
      this.#path.pop();
    }
    return Object.freeze(copy);
  }

  #refuse(found: string): never {
    throw new TypeError(`Cannot keep ${pathText(this.#path)} as lossless JSON: found ${found}`);
  }
}

const PATH_PARTS_MAX = 12;

function pathText(path: readonly string[]): string {
  return path.length <= PATH_PARTS_MAX
    ? path.join("")
    : `${path.slice(0, PATH_PARTS_MAX - 2).join("")}…${path.slice(-2).join("")}`;
}

/** Plain assignment to `__proto__` would set the prototype and lose the member. */
function put(target: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key !== "__proto__") {
    target[key] = value;
  } else {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  }
}

/**
 * Freezes a JSON value in place, all the way down, and returns it.
 *
 * @example
 * ```ts
 * import { freezeJson } from "./lossless.ts";
 *
 * const value = freezeJson(JSON.parse('{"a":[1]}'));
 * if (!Object.isFrozen(value.a)) throw new Error("unreachable");
 * ```
 */
export function freezeJson<Value>(value: Value): Value {
  // An explicit stack: values from the disk may nest deeper than the call stack.
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const member of Object.values(next)) open.push(member);
  }
  return value;
}

/**
 * Tells whether two JSON values are the same. The order of keys means nothing.
 *
 * @example
 * ```ts
 * import { deepEqualJson } from "./lossless.ts";
 *
 * if (!deepEqualJson({ a: 1, b: [2] }, { b: [2], a: 1 })) throw new Error("unreachable");
 * ```
 */
export function deepEqualJson(left: unknown, right: unknown): boolean {
  const open: unknown[] = [left, right];
  while (open.length > 0) {
    const b = open.pop();
    const a = open.pop();
    if (a === b) continue;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      open.push((a as JsonObject)[key], (b as JsonObject)[key]);
    }
  }
  return true;
}
