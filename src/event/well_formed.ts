/**
 * Well-formed Unicode, for what leaves for a provider.
 *
 * A JavaScript string may hold half of a character: a tool cut a text between two UTF-16 units, a model's stream ended inside of
 * an emoji. The log keeps what came. JSON with such a half is refused by strict parsers, and since it stands in the conversation,
 * every later request would be refused too; so on the way out each half becomes U+FFFD, as any encoder to UTF-8 makes of it.
 *
 * @see RFC 8259 §8.2; ECMA-262, String.prototype.toWellFormed; compaction §7 W9
 * @module
 */
import { freezeJson } from "./lossless.ts";
import { jsonText } from "./json_text.ts";
import type { Block, Message } from "./message.ts";

/** What was found already: a conversation is sent again and again. */
const checked = new WeakMap<object, object>();

/**
 * A JSON value without halves of characters, in keys and texts alike. The very same value when there are none.
 *
 * @example
 * ```ts
 * import { wellFormedJson } from "./well_formed.ts";
 *
 * const value = { text: "ok \ud83d", list: ["😀"] };
 * if (JSON.stringify(wellFormedJson(value)) !== '{"text":"ok \ufffd","list":["😀"]}') throw new Error("unreachable");
 * if (wellFormedJson("fine") !== "fine") throw new Error("unreachable");
 * ```
 */
export function wellFormedJson<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? value.toWellFormed() as Value : value;
  }
  const known = checked.get(value);
  if (known !== undefined) return known as Value;
  const found = isWellFormed(value) ? value : freezeJson(JSON.parse(withoutHalves(jsonText(value))) as Value & object);
  checked.set(value, found);
  return found;
}

/**
 * A message as a provider may read it. Calls and results still find each other: two ids that differ only in halves stay two.
 *
 * @example
 * ```ts
 * import { wellFormedMessage } from "./well_formed.ts";
 *
 * const call = (id: string) => ({ type: "tool-call" as const, id, name: "pay", arguments: "{}" });
 * const source = { kind: "model" };
 * const message = { id: "m", role: "assistant" as const, content: [call("\ud83d"), call("\ud83e")], source };
 * if (new Set(wellFormedMessage(message).content.map((block) => JSON.stringify(block))).size !== 2) {
 *   throw new Error("unreachable");
 * }
 * ```
 */
export function wellFormedMessage(message: Message): Message {
  const known = checked.get(message);
  if (known !== undefined) return known as Message;
  const hasOddId = message.content.some((block) => !(idOf(block) ?? "").isWellFormed());
  const found = hasOddId
    ? freezeJson(wellFormedJson({ ...message, content: message.content.map(withSpelledId) }))
    : wellFormedJson(message);
  checked.set(message, found);
  return found;
}

function idOf(block: Block): string | null {
  if (block.type === "tool-call") return block.id;
  return block.type === "tool-result" ? block.toolCallId : null;
}

/** Each half of a character as the four digits of its unit. */
function withSpelledId(block: Block): Block {
  const id = idOf(block);
  if (id === null || id.isWellFormed()) return block;
  const spelled = id.replace(LONE, (half) => `U${half.charCodeAt(0).toString(16).toUpperCase()}`);
  return block.type === "tool-call" ? { ...block, id: spelled } : { ...block, toolCallId: spelled } as Block;
}

/** With the flag u a pair is one character, and no match. */
const LONE = /[\ud800-\udfff]/gu;

/** An explicit stack: what comes from the disk may nest deeper than the call stack. */
function isWellFormed(value: object): boolean {
  const open: object[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const isArray = Array.isArray(next);
    for (const [key, member] of Object.entries(next)) {
      if (!isArray && !key.isWellFormed()) return false;
      if (typeof member === "string") {
        if (!member.isWellFormed()) return false;
      } else if (typeof member === "object" && member !== null) open.push(member);
    }
  }
  return true;
}

/** JSON text escapes exactly the halves; whole characters beyond the BMP stand in it as they are. */
function withoutHalves(json: string): string {
  return json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (escape, half) => half === undefined ? escape : "\ufffd");
}
