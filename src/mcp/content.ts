/**
 * What a tool of a server answered, as a model and the log read it. Whatever is in it is data.
 *
 * @module
 */
import type { Block, JsonObject, JsonValue } from "../event/mod.ts";
import { isJsonRecord } from "./json_record.ts";
import { MCP_BLOCKS_MAX } from "./limits.ts";
import { toldText } from "./told_text.ts";

/** An answer in our words. */
export interface McpAnswer {
  /** Whether the tool says that it failed. */
  readonly isError: boolean;
  /** At least one block. */
  readonly content: readonly Block[];
  /** What the tool answered as a value; undefined when it gave none. */
  readonly structured: JsonValue | undefined;
}

/**
 * Reads an answer.
 *
 * Texts stay as they are. Images and sounds become attachments with their content. A value is told as JSON when no text is beside
 * it. What is of a kind that we do not know is named and not shown.
 *
 * @throws {TypeError} when it is no answer
 *
 * @example
 * ```ts
 * import { readAnswer } from "./content.ts";
 *
 * const { content } = readAnswer({ content: [{ type: "text", text: "paid" }] });
 * if (content[0]?.type !== "text" || content[0].text !== "paid") throw new Error("unreachable");
 * ```
 */
export function readAnswer(result: unknown): McpAnswer {
  if (!isJsonRecord(result)) throw new TypeError("the answer is no object");
  const { content = [], structuredContent, isError } = result;
  if (!Array.isArray(content)) throw new TypeError("the content of the answer is no list");
  const structured = structuredContent === undefined ? undefined : plainJson(structuredContent);
  const blocks = content.slice(0, MCP_BLOCKS_MAX).map(blockOf);
  if (content.length > blocks.length) {
    blocks.push(text(`[${content.length - blocks.length} more blocks are not shown]`));
  }
  const hasText = blocks.some((block) => block.type === "text" && block.text !== "");
  if (structured !== undefined && !hasText) blocks.push(text(JSON.stringify(structured)));
  if (blocks.length === 0) blocks.push(text("(the tool answered with no content)"));
  return { isError: isError === true, content: blocks, structured };
}

function blockOf(value: unknown): Block {
  if (!isJsonRecord(value)) return text("[a block that is no object]");
  const { type } = value;
  switch (type) {
    case "text":
      return typeof value.text === "string" ? text(value.text) : text("[a text block without text]");
    case "image":
      return attachment("image", value.data, value.mimeType) ?? text("[an image without content]");
    case "audio":
      return attachment("file", value.data, value.mimeType) ?? text("[a sound without content]");
    case "resource":
      return resourceBlock(value.resource);
    case "resource_link":
      return text(`[resource ${named(value.uri)}${value.name === undefined ? "" : ` ${named(value.name)}`}]`);
    default:
      return text(`[a block of the kind ${named(type)}]`);
  }
}

/** A resource that came with the answer: its text under its address, or its bytes. */
function resourceBlock(resource: unknown): Block {
  if (!isJsonRecord(resource)) return text("[a resource without content]");
  const { uri, mimeType, text: said, blob } = resource;
  if (typeof said === "string") return text(`[resource ${named(uri)}]\n${said}`);
  const name = typeof uri === "string" ? { name: uri } : {};
  return attachment("file", blob, mimeType, name) ?? text(`[resource ${named(uri)} without content]`);
}

function attachment(type: "image" | "file", data: unknown, mediaType: unknown, more: JsonObject = {}): Block | null {
  if (typeof data !== "string" || typeof mediaType !== "string") return null;
  return { type, attachment: { mediaType, data, ...more } };
}

function text(said: string): Block {
  return { type: "text", text: said };
}

/** A short text of the server's, in quotes. */
function named(value: unknown): string {
  return JSON.stringify(typeof value === "string" ? toldText(value, 200) : null);
}

/** What JSON cannot say twice alike (−0, 1e999) becomes what it can. @throws {TypeError} when it nests too deep */
function plainJson(value: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (cause) {
    throw new TypeError("the value of the answer is no JSON that can be kept", { cause });
  }
}
