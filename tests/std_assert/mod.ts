/**
 * Stands in for `jsr:@std/assert` through `links` in deno.json, so that the tests need no second registry. Same names, same
 * meaning for the part we use, plain TypeScript without a runtime API: the contract runners in a browser worker load it too.
 * Deleting the `links` line of deno.json switches to the real package.
 *
 * @module
 */

import { equal } from "./equal.ts";
import { difference, format } from "./format.ts";

export { equal } from "./equal.ts";

/** What a failed assertion throws. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

// `any` because a constructor's parameters must accept every class.
// deno-lint-ignore no-explicit-any
type AnyClass<T> = abstract new (...args: any[]) => T;

function refuse(found: string, message?: string): never {
  throw new AssertionError(
    message === undefined ? found : `${message}: ${found}`,
  );
}

/** Fails unless the value is truthy. */
export function assert(
  expression: unknown,
  message?: string,
): asserts expression {
  if (!expression) {
    throw new AssertionError(
      message ?? `Expected a truthy value, got ${format(expression)}`,
    );
  }
}

/** Fails always. */
export function fail(message?: string): never {
  throw new AssertionError(
    message === undefined ? "Failed" : `Failed: ${message}`,
  );
}

/** Fails unless the two are deeply equal ({@linkcode equal}). */
export function assertEquals<T>(
  actual: T,
  expected: T,
  message?: string,
): void {
  if (equal(actual, expected)) return;
  refuse(
    `Values are not equal\n\n    - actual, + expected\n${difference(actual, expected)}\n`,
    message,
  );
}

/** Fails when the two are deeply equal. */
export function assertNotEquals<T>(
  actual: T,
  expected: T,
  message?: string,
): void {
  if (equal(actual, expected)) {
    refuse(
      `Expected two values that differ, both are ${format(actual)}`,
      message,
    );
  }
}

/** Fails unless the two are the same value by `Object.is`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  if (equal(actual, expected) && typeof actual === "object") {
    refuse(
      `Values have the same content but are not the same reference: ${format(actual)}`,
      message,
    );
  }
  refuse(
    `Values are not the same\n\n    - actual, + expected\n${difference(actual, expected)}\n`,
    message,
  );
}

/** Fails unless the value is neither `null` nor `undefined`. */
export function assertExists<T>(
  actual: T,
  message?: string,
): asserts actual is NonNullable<T> {
  if (actual === null || actual === undefined) {
    refuse(`Expected a value, got ${actual}`, message);
  }
}

/** Fails unless the value is an instance of the class. */
export function assertInstanceOf<T>(
  actual: unknown,
  expected: AnyClass<T>,
  message?: string,
): asserts actual is T {
  if (actual instanceof expected) return;
  const isObject = typeof actual === "object" && actual !== null;
  const found = isObject ? `an instance of ${actual.constructor?.name ?? "no class"}: ` : "";
  refuse(
    `Expected an instance of ${expected.name}, got ${found}${format(actual)}`,
    message,
  );
}

/** Fails unless the text matches the pattern. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  message?: string,
): void {
  if (!expected.test(actual)) {
    refuse(
      `Expected a text that matches ${expected}, got ${format(actual)}`,
      message,
    );
  }
}

/** Fails unless the text contains the other one. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  message?: string,
): void {
  if (!actual.includes(expected)) {
    refuse(
      `Expected a text with ${format(expected)}, got ${format(actual)}`,
      message,
    );
  }
}

/** Fails unless `actual > expected`. */
export function assertGreater<T>(
  actual: T,
  expected: T,
  message?: string,
): void {
  if (!(actual > expected)) {
    refuse(`Expected ${format(actual)} > ${format(expected)}`, message);
  }
}

/** Fails unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(
  actual: T,
  expected: T,
  message?: string,
): void {
  if (!(actual >= expected)) {
    refuse(`Expected ${format(actual)} >= ${format(expected)}`, message);
  }
}

/** Fails unless `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, message?: string): void {
  if (!(actual < expected)) {
    refuse(`Expected ${format(actual)} < ${format(expected)}`, message);
  }
}

/** Fails unless `actual <= expected`. */
export function assertLessOrEqual<T>(
  actual: T,
  expected: T,
  message?: string,
): void {
  if (!(actual <= expected)) {
    refuse(`Expected ${format(actual)} <= ${format(expected)}`, message);
  }
}

/**
 * Fails unless the function throws, and returns what it threw.
 *
 * With a class, the error must be an instance of it, and its message must contain `messageIncludes`.
 */
export function assertThrows(fn: () => unknown, message?: string): unknown;
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: AnyClass<E>,
  messageIncludes?: string,
  message?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  classOrMessage?: AnyClass<Error> | string,
  messageIncludes?: string,
  message?: string,
): unknown {
  const [errorClass, note] = expectation(classOrMessage, message);
  let returned: unknown;
  try {
    returned = fn();
  } catch (error) {
    return checkError(error, errorClass, messageIncludes, note);
  }
  refuse(
    `Expected the function to throw, it returned ${format(returned)}`,
    note,
  );
}

/**
 * Fails unless the promise rejects, and resolves with what it rejected with.
 *
 * As {@linkcode assertThrows}. A function that throws instead of returning a promise fails: callers rely on a rejection.
 */
export function assertRejects(
  fn: () => PromiseLike<unknown>,
  message?: string,
): Promise<unknown>;
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: AnyClass<E>,
  messageIncludes?: string,
  message?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  classOrMessage?: AnyClass<Error> | string,
  messageIncludes?: string,
  message?: string,
): Promise<unknown> {
  const [errorClass, note] = expectation(classOrMessage, message);
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (error) {
    refuse(
      `Expected a promise that rejects, the function itself threw ${format(error)}`,
      note,
    );
  }
  if (typeof promise?.then !== "function") {
    refuse(
      `Expected a promise that rejects, the function returned ${format(promise)}`,
      note,
    );
  }
  let resolved: unknown;
  try {
    resolved = await promise;
  } catch (error) {
    return checkError(error, errorClass, messageIncludes, note);
  }
  refuse(
    `Expected the promise to reject, it resolved with ${format(resolved)}`,
    note,
  );
}

function expectation(
  classOrMessage: AnyClass<Error> | string | undefined,
  message: string | undefined,
): [AnyClass<Error> | null, string | undefined] {
  return typeof classOrMessage === "function" ? [classOrMessage, message] : [null, classOrMessage];
}

function checkError(
  error: unknown,
  errorClass: AnyClass<Error> | null,
  messageIncludes: string | undefined,
  message: string | undefined,
): unknown {
  if (errorClass === null) return error;
  if (!(error instanceof errorClass)) {
    throw new AssertionError(
      `${message === undefined ? "" : message + ": "}Expected an error of class ${errorClass.name}, got ${
        format(error)
      }`,
      { cause: error },
    );
  }
  if (
    messageIncludes !== undefined && !error.message.includes(messageIncludes)
  ) {
    refuse(
      `Expected an error message with ${format(messageIncludes)}, got ${format(error.message)}`,
      message,
    );
  }
  return error;
}
