/**
 * Paths of this repository, for tests and tasks.
 *
 * @module
 */

/** A `file:` URL as a path. */
export function fromFileUrl(url: URL): string {
  return decodeURIComponent(url.pathname);
}

/** The folder that holds deno.json, without a slash at its end. */
export const repositoryDir: string = fromFileUrl(
  new URL("../..", import.meta.url),
).replace(/\/$/, "");
