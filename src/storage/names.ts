/**
 * What a name on a medium may look like, decided once for every adapter.
 *
 * @module
 */

/**
 * Checks the name of a file: relative, `/`-separated, without empty, `.` or `..` parts. A backslash, a NUL and a lone
 * surrogate are refused too, because some medium would read them as something else.
 *
 * @returns the parts of the name
 * @throws {RangeError} when the name could leave the root or mean two things
 *
 * @example
 * ```ts
 * import { nameParts } from "./names.ts";
 *
 * if (nameParts("project/session/log").length !== 3) throw new Error("unreachable");
 * ```
 */
export function nameParts(name: string): string[] {
  const parts = name.split("/");
  const isBad = parts.some((part) => part === "" || part === "." || part === "..") || /[\\\0]/.test(name) ||
    !name.isWellFormed();
  if (isBad) {
    throw new RangeError(`Cannot use the name ${JSON.stringify(name)}: it is not a relative path of plain parts`);
  }
  return parts;
}

/**
 * Checks a folder name, which ends with `/`; the empty text is the root.
 *
 * @returns the parts of the name, none for the root
 * @throws {RangeError} when the name could leave the root or does not end with `/`
 *
 * @example
 * ```ts
 * import { folderParts } from "./names.ts";
 *
 * if (folderParts("").length !== 0 || folderParts("a/b/").length !== 2) throw new Error("unreachable");
 * ```
 */
export function folderParts(prefix: string): string[] {
  if (prefix === "") return [];
  if (!prefix.endsWith("/")) {
    throw new RangeError(`Cannot use the folder ${JSON.stringify(prefix)}: it does not end with "/"`);
  }
  return nameParts(prefix.slice(0, -1));
}

/**
 * The folder a name lies in, with its `/`; the empty text for a name directly below the root.
 *
 * @example
 * ```ts
 * import { folderOf } from "./names.ts";
 *
 * if (folderOf("a/b/c") !== "a/b/" || folderOf("a/b/") !== "a/" || folderOf("c") !== "") throw new Error("unreachable");
 * ```
 */
export function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/", name.length - 2) + 1);
}

/**
 * Checks that a lock protects a name: a lock covers everything in its own folder and below, the folder included.
 *
 * @throws {RangeError} when it does not
 *
 * @example
 * ```ts
 * import { checkCovered } from "./names.ts";
 *
 * checkCovered("a/session.lock", "a/blobs/1");
 * checkCovered("a/session.lock", "a/");
 * ```
 */
export function checkCovered(lockName: string, name: string): void {
  if (name.startsWith(folderOf(lockName)) && name !== "") return;
  throw new RangeError(`Cannot write "${name}": the lock "${lockName}" does not cover it`);
}

/**
 * Checks that content may be published: it is not empty and does not start with a zero byte. Where a medium publishes by
 * claim, such content is how an unfinished claim looks, so it is refused on every medium.
 *
 * @param firstByte `undefined` when there is none
 * @throws {RangeError}
 *
 * @example
 * ```ts
 * import { checkFirstByte } from "./names.ts";
 *
 * checkFirstByte("a/log", new TextEncoder().encode("{}")[0]);
 * ```
 */
export function checkFirstByte(name: string, firstByte: number | undefined): void {
  if (firstByte === undefined) throw new RangeError(`Cannot publish "${name}": its content is empty`);
  if (firstByte === 0) throw new RangeError(`Cannot publish "${name}": its content starts with a zero byte`);
}
