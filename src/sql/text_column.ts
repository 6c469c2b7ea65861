/**
 * Texts in columns. JSON may hold halves of characters and NUL; no database's text can, and some change what they cannot hold.
 *
 * Such a text stands in its column as a JSON string with escapes; every other one as it is. Which of the two it is shows in its
 * first character, so that two texts never share a spelling.
 *
 * @see RFC 8259 §7
 * @module
 */
import { ID_UNITS_MAX } from "./limits.ts";

/**
 * A text as a column holds it.
 *
 * @example
 * ```ts
 * import { packText, unpackText } from "./text_column.ts";
 *
 * if (packText("a") !== "a" || packText("\ud800") !== '"\\ud800"') throw new Error("unreachable");
 * if (unpackText(packText('"')) !== '"') throw new Error("unreachable");
 * ```
 */
export function packText(text: string): string {
  return text.startsWith('"') || text.includes("\0") || !text.isWellFormed() ? JSON.stringify(text) : text;
}

/** What {@linkcode packText} was given; what it cannot have made comes back as it is. */
export function unpackText(column: string): string {
  if (!column.startsWith('"')) return column;
  try {
    const text: unknown = JSON.parse(column);
    return typeof text === "string" ? text : column;
  } catch {
    return column;
  }
}

/**
 * Whether an id is too long for a session, here as in files: its escaped form would have more than ID_UNITS_MAX units.
 *
 * @see session-format §1.2
 *
 * @example
 * ```ts
 * import { isIdTooLong } from "./text_column.ts";
 *
 * if (isIdTooLong("a".repeat(255)) || !isIdTooLong("ü".repeat(60))) throw new Error("unreachable");
 * ```
 */
export function isIdTooLong(id: string): boolean {
  return id.length + 4 * (id.match(/[^A-Za-z0-9._-]/g)?.length ?? 0) > ID_UNITS_MAX;
}
