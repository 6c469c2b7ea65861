/**
 * Deep equality as `@std/assert` defines it, without a runtime API: it also runs in a browser worker.
 *
 * @module
 */

type Keyed = Record<PropertyKey, unknown>;

/** The pairs on the way down. Meeting one again means both values have the same cycle here. */
type Path = Map<object, object[]>;

/**
 * Says whether two values are deeply equal.
 *
 * `NaN` equals `NaN`; `0` equals `-0` (only `assertStrictEquals` tells them apart). A hole in an array is not `undefined`,
 * a missing property is not one that is `undefined`, values of two classes are never equal, and a getter counts by what
 * it returns. Sets and maps have no order. Errors count by name, message, cause and own properties.
 */
export function equal(a: unknown, b: unknown): boolean {
  return isEqual(a, b, new Map());
}

function isEqual(a: unknown, b: unknown, path: Path): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (
    typeof a !== "object" || typeof b !== "object" || a === null || b === null
  ) return false;
  if (!isSameClass(a, b)) return false;

  const onPath = path.get(a) ?? [];
  if (onPath.includes(b)) return true;
  path.set(a, [...onPath, b]);
  const answer = isEqualObject(a, b, path);
  path.set(a, onPath);
  return answer;
}

function isEqualObject(a: object, b: object, path: Path): boolean {
  if (a instanceof Date && b instanceof Date) {
    return Object.is(a.getTime(), b.getTime());
  }
  if (a instanceof RegExp || a instanceof URL) return String(a) === String(b);
  if (
    a instanceof WeakMap || a instanceof WeakSet || a instanceof WeakRef ||
    a instanceof Promise
  ) return false;
  if (a instanceof ArrayBuffer && b instanceof ArrayBuffer) {
    return isEqualBytes(new Uint8Array(a), new Uint8Array(b));
  }
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) return isEqualView(a, b);
  if (a instanceof Error && b instanceof Error && !isEqualError(a, b, path)) {
    return false;
  }
  if (a instanceof Map && b instanceof Map && !isEqualMap(a, b, path)) {
    return false;
  }
  if (a instanceof Set && b instanceof Set && !isEqualSet(a, b, path)) {
    return false;
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) {
    return false;
  }
  return isEqualProperties(a, b, path);
}

/** A null prototype counts as a plain object: `JSON.parse` and `Object.create(null)` may be compared. */
function isSameClass(a: object, b: object): boolean {
  return classOf(a) === classOf(b);
}

/** By prototype, because data may have a member named "constructor". */
function classOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

function isEqualProperties(a: object, b: object, path: Path): boolean {
  const keys = enumerableKeys(a);
  if (keys.length !== enumerableKeys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isEqual((a as Keyed)[key], (b as Keyed)[key], path));
}

function enumerableKeys(value: object): PropertyKey[] {
  return Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
}

function isEqualError(a: Error, b: Error, path: Path): boolean {
  if (a.name !== b.name || a.message !== b.message) return false;
  if (
    a instanceof AggregateError &&
    !isEqual(a.errors, (b as AggregateError).errors, path)
  ) return false;
  return isEqual(a.cause, b.cause, path);
}

function isEqualView(a: ArrayBufferView, b: ArrayBufferView): boolean {
  // Floats go by value, so that NaN payloads and -0 do not make two equal lists differ.
  if (a instanceof Float32Array || a instanceof Float64Array) {
    const other = b as Float32Array | Float64Array;
    return a.length === other.length &&
      a.every((value, index) => value === other[index] || Object.is(value, other[index]));
  }
  return isEqualBytes(
    new Uint8Array(a.buffer, a.byteOffset, a.byteLength),
    new Uint8Array(b.buffer, b.byteOffset, b.byteLength),
  );
}

function isEqualBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function isEqualMap(
  a: Map<unknown, unknown>,
  b: Map<unknown, unknown>,
  path: Path,
): boolean {
  return isEqualSets(
    [...a],
    [...b],
    ([key], [otherKey]) => Object.is(key, otherKey),
    path,
  );
}

function isEqualSet(a: Set<unknown>, b: Set<unknown>, path: Path): boolean {
  return isEqualSets([...a], [...b], Object.is, path);
}

/** Pairs each entry with an equal one that is still free: first the one with the same identity, then any that is equal. */
function isEqualSets<T>(
  a: T[],
  b: T[],
  isSame: (a: T, b: T) => boolean,
  path: Path,
): boolean {
  if (a.length !== b.length) return false;
  const free = [...b];
  for (const entry of a) {
    let found = free.findIndex((other) => isSame(entry, other) && isEqual(entry, other, path));
    if (found < 0) {
      found = free.findIndex((other) => isEqual(entry, other, path));
    }
    if (found < 0) return false;
    free.splice(found, 1);
  }
  return true;
}
