/**
 * How names are spelled in the origin's file system.
 *
 * Browsers refuse `.`, `..`, `/` and, Chromium, `\`. Where a browser keeps the names on the disk of the machine (Safari), upper
 * and lower case, and two spellings of one accented letter, may be the same name, and 255 units are the limit. So what is
 * stored uses 40 characters that mean the same everywhere, and can be read back.
 *
 * @module
 */

import { nameParts } from "../../storage/names.ts";

/** The most units a stored name may have: what file systems take. */
export const STORED_NAME_UNITS_MAX = 255;

const STORED = /^(?:[a-z0-9._~-]|\^[a-z]|%[0-9a-f]{4})+$/;
const STAGE = /^%stage-[0-9a-f]{12}$/;

/**
 * The stored spelling of one part of a name. `^` stands before what was an upper-case letter, `%` before the four hex digits of
 * any other UTF-16 unit.
 *
 * @throws {RangeError} when it would have more than {@link STORED_NAME_UNITS_MAX} units
 *
 * @example
 * ```ts
 * import { storedPart } from "./stored_names.ts";
 *
 * if (storedPart("session.V3") !== "session.^v3" || storedPart("é") !== "%00e9") throw new Error("unreachable");
 * ```
 */
export function storedPart(part: string): string {
  const stored = part.replace(
    /[^a-z0-9._~-]/g,
    (unit) => /[A-Z]/.test(unit) ? `^${unit.toLowerCase()}` : `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  if (stored.length <= STORED_NAME_UNITS_MAX) return stored;
  throw new RangeError(
    `Cannot use the name ${JSON.stringify(part)}: stored it would have ${stored.length} units, ` +
      `more than ${STORED_NAME_UNITS_MAX}`,
  );
}

/**
 * The part that is stored under this name, or `null` when it is none of ours.
 *
 * @example
 * ```ts
 * import { partOf } from "./stored_names.ts";
 *
 * if (partOf("session.^v3") !== "session.V3" || partOf("A") !== null) throw new Error("unreachable");
 * ```
 */
export function partOf(stored: string): string | null {
  if (!STORED.test(stored)) return null;
  const part = stored.replace(
    /\^([a-z])|%([0-9a-f]{4})/g,
    (_, letter?: string, digits = "") => letter?.toUpperCase() ?? String.fromCharCode(parseInt(digits, 16)),
  );
  try {
    return nameParts(part).length === 1 && storedPart(part) === stored ? part : null;
  } catch {
    return null;
  }
}

/** The name of a file that is not published yet. No part of a name is stored like this. */
export function stageName(token: string): string {
  return `%stage-${token}`;
}

/** Whether a stored name is that of a file that is not published yet. */
export function isStageName(stored: string): boolean {
  return STAGE.test(stored);
}
