/**
 * The little that a contract case needs to fail: no test runner, no assertion package, any runtime.
 *
 * Contract suites are plain data, so that the same cases run under `Deno.test`, in a Node bundle and in a browser worker.
 *
 * @module
 */

import type { StorageTraits } from "../storage/storage_port.ts";

/**
 * One promise of a contract, as data: a runner calls `run` with a fresh context and takes a rejection for a failure.
 *
 * @see StorageTraits for what `skip` may look at
 */
export interface ContractCase<Context> {
  /** `function() does what, when`, and the ids of the field cases it stands for. Unique within its suite. */
  readonly name: string;
  /** Resolves when the promise is kept. Needs a context that no other case has used. */
  readonly run: (context: Context) => Promise<void>;
  /** Why a medium with these traits cannot be asked, or `null`. The runner prints the reason. */
  readonly skip?: (traits: StorageTraits) => string | null;
}

/**
 * Fails with `message` unless `condition` holds.
 *
 * @throws {Error} when it does not
 *
 * @example
 * ```ts
 * import { check } from "./check.ts";
 *
 * check(1 < 2, "one is less than two");
 * ```
 */
export function check(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Check failed: ${message}`);
}

/**
 * Fails unless two values are deeply equal: JSON-like values, `undefined`, maps, sets and byte arrays. Key order does not matter,
 * a missing key and an `undefined` one are the same, `NaN` equals itself and −0 is not 0.
 *
 * @throws {Error} naming the first path where the values differ
 *
 * @example
 * ```ts
 * import { checkEquals } from "./check.ts";
 *
 * checkEquals({ bytes: new Uint8Array([1, 2]), list: [1] }, { list: [1], bytes: new Uint8Array([1, 2]) });
 * ```
 */
export function checkEquals<Value>(actual: Value, expected: NoInfer<Value>, message = "values differ"): void {
  const difference = firstDifference(actual, expected, "");
  if (difference !== null) throw new Error(`Check failed: ${message}: ${difference}`);
}

/**
 * Fails unless `run` rejects with this code, and returns the error for further checks.
 *
 * @param code a stable error code, or `"TypeError"` or `"RangeError"` for a caller's mistake
 * @throws {Error} when `run` resolves, or rejects with anything else; the other error is the `cause`
 *
 * @example
 * ```ts
 * import { NotFoundError } from "../errors.ts";
 * import { checkRejects } from "./check.ts";
 *
 * await checkRejects(() => Promise.reject(new NotFoundError('Cannot read "a": no such file')), "NOT_FOUND");
 * ```
 */
export async function checkRejects(run: () => Promise<unknown>, code: string): Promise<Error> {
  let caught: unknown;
  try {
    await run();
  } catch (error) {
    caught = error;
  }
  if (caught === undefined) throw new Error(`Check failed: expected ${code}, and nothing was thrown`);
  const found = errorCode(caught);
  if (found !== code) {
    throw new Error(`Check failed: expected ${code}, found ${found}: ${describeError(caught)}`, { cause: caught });
  }
  return caught as Error;
}

/** The code of a refusal, or the class name of a caller's mistake. */
function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null) return typeof error;
  if ("code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.name : "object";
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Where and how two values first differ, or `null` when they are equal. */
function firstDifference(actual: unknown, expected: unknown, path: string): string | null {
  if (Object.is(actual, expected)) return null;
  const at = path === "" ? "" : `at ${path} `;
  if (!isObject(actual) || !isObject(expected) || kindOf(actual) !== kindOf(expected)) {
    return `${at}found ${show(actual)}, wanted ${show(expected)}`;
  }
  if (actual instanceof Uint8Array) return differingByte(actual, expected as Uint8Array, at);
  if (actual instanceof Map || actual instanceof Set) {
    return firstDifference([...actual], [...(expected as Iterable<unknown>)], path);
  }
  if (Array.isArray(actual) && actual.length !== (expected as unknown[]).length) {
    return `${at}found ${actual.length} items, wanted ${(expected as unknown[]).length}: found ${
      show(actual)
    }, wanted ${show(expected)}`;
  }
  const keys = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  for (const key of keys) {
    const inner = firstDifference(
      (actual as Record<string, unknown>)[key],
      (expected as Record<string, unknown>)[key],
      `${path}.${key}`,
    );
    if (inner !== null) return inner;
  }
  return null;
}

function differingByte(actual: Uint8Array, expected: Uint8Array, at: string): string | null {
  if (actual.length !== expected.length) return `${at}found ${actual.length} bytes, wanted ${expected.length}`;
  const index = actual.findIndex((byte, i) => byte !== expected[i]);
  return index < 0 ? null : `${at}byte ${index} is ${actual[index]}, wanted ${expected[index]}`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function kindOf(value: object): string {
  return Object.prototype.toString.call(value);
}

function show(value: unknown): string {
  if (Object.is(value, -0)) return "-0";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text === undefined ? "undefined" : text.length > 300 ? text.slice(0, 300) + "…" : text;
}
