/**
 * A path of the page's own origin, told in the worker's address.
 *
 * @module
 */

/** The path that a parameter of the worker's own address names; `null` when there is none, or it leads to another origin. */
export function ownPath(workerUrl: string, parameter: string): string | null {
  const path = new URL(workerUrl).searchParams.get(parameter);
  if (path === null || !path.startsWith("/")) return null;
  return new URL(path, workerUrl).origin === new URL(workerUrl).origin ? path : null;
}
