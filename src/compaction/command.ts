/**
 * `/compact`, as a person types it where messages are typed.
 *
 * @see compaction §2 "Manual /compact"
 * @module
 */

/**
 * Reads what was typed. The command takes no arguments, and is no message: the model never reads it.
 *
 * @returns `compact`; `usage` when something stands behind it; `null` when it is another text, which is a message
 *
 * @example
 * ```ts
 * import { compactCommand } from "./command.ts";
 *
 * if (compactCommand("/compact") !== "compact" || compactCommand("/compactor") !== null) throw new Error("unreachable");
 * ```
 */
export function compactCommand(text: string): "compact" | "usage" | null {
  const typed = text.trim();
  if (typed === "/compact") return "compact";
  return /^\/compact\s/.test(typed) ? "usage" : null;
}
