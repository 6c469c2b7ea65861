/**
 * What a server said, as far as it is told: a stranger's words, of bounded length and without control characters.
 *
 * @module
 */
import { messageOf } from "../tool/mod.ts";
import { MCP_MESSAGE_TOLD_MAX } from "./limits.ts";

/**
 * The message of an error, or a text, for a message of ours.
 *
 * @example
 * ```ts
 * import { toldText } from "./told_text.ts";
 *
 * if (toldText(new Error("no\u001b[2J room")) !== "no [2J room") throw new Error("unreachable");
 * if (toldText("x".repeat(5000)).length > 2001) throw new Error("unreachable");
 * ```
 */
export function toldText(said: unknown, sizeMax: number = MCP_MESSAGE_TOLD_MAX): string {
  const text = typeof said === "string" ? said : messageOf(said);
  // deno-lint-ignore no-control-regex -- control characters are what is meant
  const plain = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g, " ").trim();
  return plain.length > sizeMax ? `${plain.slice(0, sizeMax)}…` : plain;
}
