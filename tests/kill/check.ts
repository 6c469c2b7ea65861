/**
 * What judges say when something is not as promised.
 *
 * @module
 */

/** @throws {Error} when the promise does not hold */
export function check(holds: boolean, found: string): void {
  if (!holds) throw new Error(found);
}

/** A value in a message. */
export function show(value: unknown): string {
  return JSON.stringify(value);
}
