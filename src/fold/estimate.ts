/**
 * What a message costs, in tokens, without asking anybody: a heuristic that never needs a tokenizer.
 *
 * English is about four characters a token. Other scripts are not: a Chinese character is a token of its own, and counting
 * UTF-16 units makes a conversation in it look four times smaller than it is, until the provider refuses it. So each character
 * is weighed by the bytes it has in UTF-8.
 *
 * @see compaction §3 "Token meter", §7 W7
 * @module
 */
import type { Block, JsonObject, Message, RequestHeader } from "../event/mod.ts";

/** What every block, and every message around its blocks, costs beside its text. */
export const FRAME_TOKENS = 4;

/** What an image costs at most, and when nobody knows its size: what providers charge for about 1.2 megapixels. */
export const IMAGE_TOKENS_MAX = 1600;

/** So many pixels of an image are one token. */
const PIXELS_PER_TOKEN = 750;

/** Quarters of a token by the length of a character in UTF-8. Of ASCII four characters are a token. */
const ASCII_QUARTERS = 1;
const TWO_BYTE_QUARTERS = 2;
const THREE_BYTE_QUARTERS = 4;
const FOUR_BYTE_QUARTERS = 8;

/**
 * The tokens of a text alone.
 *
 * @example
 * ```ts
 * import { priceOfText } from "./estimate.ts";
 *
 * if (priceOfText("abcde") !== 2 || priceOfText("漢字") !== 2 || priceOfText("") !== 0) throw new Error("unreachable");
 * ```
 */
export function priceOfText(text: string): number {
  // deno-lint-ignore no-control-regex -- the whole of ASCII is meant
  const firstOther = text.search(/[^\x00-\x7f]/);
  if (firstOther === -1) return Math.ceil(text.length / 4);
  let quarters = firstOther * ASCII_QUARTERS;
  for (let index = firstOther; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) quarters += ASCII_QUARTERS;
    else if (unit < 0x800) quarters += TWO_BYTE_QUARTERS;
    else if (isHigh(unit) && isLow(text.charCodeAt(index + 1))) {
      quarters += FOUR_BYTE_QUARTERS;
      index++;
    } else quarters += THREE_BYTE_QUARTERS;
  }
  return Math.ceil(quarters / 4);
}

/**
 * The tokens of one block.
 *
 * @example
 * ```ts
 * import { priceOfBlock } from "./estimate.ts";
 *
 * if (priceOfBlock({ type: "image", attachment: { width: 75, height: 100 } }) !== 14) throw new Error("unreachable");
 * ```
 */
export function priceOfBlock(block: Block): number {
  switch (block.type) {
    case "text":
    case "reasoning":
      return priceOfText(block.text) + FRAME_TOKENS;
    case "tool-call":
      return priceOfText(block.name) + priceOfText(block.arguments) + FRAME_TOKENS;
    case "tool-result":
      return blocksTokens(block.content) + FRAME_TOKENS;
    case "image":
      return imageTokens(block.attachment) + FRAME_TOKENS;
    default:
      return FRAME_TOKENS + Math.ceil(JSON.stringify(block).length / 4);
  }
}

/**
 * The tokens of a message.
 *
 * @example
 * ```ts
 * import { priceOfMessage } from "./estimate.ts";
 *
 * if (priceOfMessage({ content: [{ type: "text", text: "abcd" }] }) !== 9) throw new Error("unreachable");
 * ```
 */
export function priceOfMessage({ content }: Pick<Message, "content">): number {
  return blocksTokens(content) + FRAME_TOKENS;
}

/**
 * The tokens of a node of the surface. A system prompt is one text; an empty answer or prompt is no message and costs nothing.
 *
 * @example
 * ```ts
 * import { priceOfNode } from "./estimate.ts";
 *
 * const message = { id: "m", role: "system" as const, content: [{ type: "text" as const, text: "abcde" }], source: { kind: "plugin" } };
 * if (priceOfNode({ type: "system/message", message }) !== 6) throw new Error("unreachable");
 * ```
 */
export function priceOfNode({ type, message }: { readonly type: string; readonly message: Message }): number {
  if (message.content.length === 0 && (type === "system/message" || type === "assistant/message")) return 0;
  if (type !== "system/message") return priceOfMessage(message);
  const text = message.content.map((block) => block.type === "text" ? block.text : JSON.stringify(block)).join("");
  return priceOfText(text) + FRAME_TOKENS;
}

/**
 * The tokens of the tools a request offers; 0 for none.
 *
 * @example
 * ```ts
 * import { priceOfHeader } from "./estimate.ts";
 *
 * if (priceOfHeader({ config: { provider: "p", model: "m" } }) !== 0) throw new Error("unreachable");
 * ```
 */
export function priceOfHeader(header: RequestHeader | null): number {
  const tools = header?.tools ?? [];
  return tools.length === 0 ? 0 : priceOfText(JSON.stringify(tools)) + FRAME_TOKENS;
}

function blocksTokens(blocks: readonly Block[]): number {
  let tokens = 0;
  for (const block of blocks) tokens += priceOfBlock(block);
  return tokens;
}

/** By its pixels where they are known. The bytes say nothing: they depend on how it is compressed. */
function imageTokens({ width, height }: JsonObject): number {
  if (typeof width !== "number" || typeof height !== "number" || !(width * height > 0)) return IMAGE_TOKENS_MAX;
  return Math.min(IMAGE_TOKENS_MAX, Math.ceil(width * height / PIXELS_PER_TOKEN));
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
