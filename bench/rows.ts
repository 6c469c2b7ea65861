/**
 * Rows of a log as whoever knows no events reads them.
 *
 * @module
 */

/**
 * Parses every row and drops it.
 *
 * @param text rows, each with its line end
 * @returns how many there were
 *
 * @example
 * ```ts
 * import { parseRows } from "./rows.ts";
 *
 * if (parseRows('{"seq":0}\n{"seq":1}\n') !== 2) throw new Error("unreachable");
 * ```
 */
export function parseRows(text: string): number {
  let rows = 0;
  for (let start = 0; start < text.length; rows++) {
    const end = text.indexOf("\n", start);
    JSON.parse(text.slice(start, end));
    start = end + 1;
  }
  return rows;
}
