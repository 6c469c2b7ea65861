/**
 * A request in the words of the AI SDK's Language Model specification.
 *
 * @see AI SDK, package `@ai-sdk/provider`: `LanguageModelV2Prompt`, `V3`, `V4`
 * @module
 */
import {
  type AttachmentBlock,
  type Block,
  type Message,
  type RequestHeader,
  type ToolResultBlock,
  wellFormedJson,
} from "../../event/mod.ts";
import type { ModelRequest } from "../../model/model.ts";
import { readRecord } from "./ai_sdk_record.ts";
import { type AiSdkCall, type AiSdkVersion, type Fields, fields, textOf } from "./ai_sdk_shapes.ts";

/** What a provider is told when it asks for approval of a call that it would run itself. */
const NOT_APPROVED = "calls that the provider runs by itself are not approved here";

/** The efforts that version 4 has words for; others, and other versions, go through the provider's options. */
const EFFORTS: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Whom a request goes to. */
export interface PromptTarget {
  /** Whose words to use. */
  readonly version: AiSdkVersion;
  /** As in the log: what came from this very model may go back to it. */
  readonly provider: string;
  /** As in the log. */
  readonly model: string;
}

/** Something in the conversation cannot be said to this model. The request was not made. */
export class UnsupportedContent extends Error {
  /** Its own name, for messages. */
  override readonly name = "UnsupportedContent";
}

/**
 * Translates a request.
 *
 * Reasoning, and what a provider wants back with its messages, goes back only to the model it came from. So do the calls that the
 * provider ran itself; an approval that it asked for is refused.
 *
 * @throws {UnsupportedContent} when an image or a file is only a reference
 *
 * @example
 * ```ts
 * import { aiSdkCall } from "./ai_sdk_prompt.ts";
 *
 * const request = {
 *   sessionId: "s",
 *   header: { config: { provider: "p", model: "m", maxTokens: 9 } },
 *   messages: [{ id: "m", role: "user" as const, content: [{ type: "text" as const, text: "hi" }], source: { kind: "user" } }],
 * };
 * const call = aiSdkCall(request, { version: 4, provider: "p", model: "m" });
 * if (call.prompt[0].role !== "user" || call.maxOutputTokens !== 9) throw new Error("unreachable");
 * ```
 */
export function aiSdkCall({ header, messages }: ModelRequest, target: PromptTarget): AiSdkCall {
  const { temperature, maxTokens, stop } = header.config;
  return {
    prompt: promptOf(messages, target),
    ...(header.tools === undefined ? {} : {
      tools: header.tools.map(({ name, description, parameters }) => ({
        type: "function",
        name,
        description,
        inputSchema: parameters,
      })),
    }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...effortOf(header.config, target),
  };
}

function effortOf(
  { reasoningEffort }: RequestHeader["config"],
  { version, provider }: PromptTarget,
): Partial<AiSdkCall> {
  if (reasoningEffort === undefined) return {};
  if (version === 4 && EFFORTS.includes(reasoningEffort)) return { reasoning: reasoningEffort };
  // "openai.chat" reads the options of "openai".
  return { providerOptions: { [provider.split(".")[0]!]: { reasoningEffort } } };
}

type Part = Record<string, unknown>;

interface PromptMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | Part[];
}

function promptOf(messages: readonly Message[], target: PromptTarget): PromptMessage[] {
  const prompt: PromptMessage[] = [];
  /** Which tool each call so far was for: results must name it. */
  const toolNames = new Map<string, string>();
  const add = (role: "user" | "assistant" | "tool", content: Part[]) => {
    const last = prompt.at(-1);
    // The answers to one message stand in one message.
    if (role === "tool" && last?.role === "tool") (last.content as Part[]).push(...content);
    else if (content.length > 0) prompt.push({ role, content });
  };
  for (const message of messages) {
    if (message.role === "system") {
      const content = joined(message.content);
      if (content !== "") prompt.push({ role: "system", content });
    } else if (message.role === "assistant") {
      for (const block of message.content) if (block.type === "tool-call") toolNames.set(block.id, block.name);
      const { content, refusals } = assistantContent(message, target);
      add("assistant", content);
      if (content.length > 0 && target.version > 2) add("tool", refusals);
    } else {
      const results = message.content.filter((block) => block.type === "tool-result");
      add("tool", results.map((block) => resultPart(block, toolNames.get(block.toolCallId) ?? "unknown", target)));
      add("user", message.content.flatMap((block) => userParts(block, target)));
    }
  }
  return prompt;
}

function userParts(block: Block, target: PromptTarget): Part[] {
  if (block.type === "text") return block.text === "" ? [] : [{ type: "text", text: block.text }];
  return block.type === "image" || block.type === "file" ? [filePart(block, target)] : [];
}

/** What the model said, and the refusals of what its provider asked for. */
function assistantContent({ content, source }: Message, target: PromptTarget): { content: Part[]; refusals: Part[] } {
  const isOwn = source.provider === target.provider && source.model === target.model;
  const { parts, notes } = readRecord(isOwn ? source.replayState : null);
  const out: Part[] = [];
  const refusals: Part[] = [];
  let next = 0;
  for (let position = 0; position <= content.length; position++) {
    const isLast = position === content.length;
    for (; next < parts.length && (isLast || parts[next]!.before <= position); next++) {
      const { part } = parts[next]!;
      if (part.type === "tool-approval-request") refusals.push(refusal(part));
      else out.push(...providerPart(part, target));
    }
    if (isLast) break;
    const block = content[position]!;
    const note = notes.get(position);
    const options = note?.type === block.type ? { providerOptions: note.providerMetadata } : {};
    out.push(...assistantPart(block, isOwn, options));
  }
  return { content: out, refusals };
}

function assistantPart(block: Block, isOwn: boolean, options: Part): Part[] {
  switch (block.type) {
    case "text":
      return block.text === "" && options.providerOptions === undefined
        ? []
        : [{ type: "text", text: block.text, ...options }];
    case "reasoning":
      return isOwn ? [{ type: "reasoning", text: block.text, ...options }] : [];
    case "tool-call":
      return [{
        type: "tool-call",
        toolCallId: block.id,
        toolName: block.name,
        input: inputOf(block.arguments),
        ...options,
      }];
    default:
      return [];
  }
}

/** The provider's own calls and what else it wants back, as it sent them. Sources are for readers only. */
function providerPart(part: Fields, { version }: PromptTarget): Part[] {
  const options = part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata };
  const { type, toolCallId, toolName, kind, mediaType } = part;
  switch (type) {
    case "tool-call":
      return [{ type, toolCallId, toolName, input: inputOf(textOf(part.input)), providerExecuted: true, ...options }];
    case "tool-result": {
      const output = { type: part.isError === true ? "error-json" : "json", value: part.result ?? null };
      return [{ type, toolCallId, toolName, output, ...options }];
    }
    case "file":
    case "reasoning-file":
      return type === "file" || version === 4 ? [{ type, mediaType, data: fileData(part.data), ...options }] : [];
    case "custom":
      return version === 4 ? [{ type, kind, ...options }] : [];
    default:
      return [];
  }
}

/** Version 4 says whether its data is the data or an address, which JSON made a text. */
function fileData(data: unknown): unknown {
  const { type, url } = fields(data);
  return type === "url" ? { type, url: new URL(textOf(url)) } : data;
}

function refusal({ approvalId }: Fields): Part {
  return { type: "tool-approval-response", approvalId, approved: false, reason: NOT_APPROVED };
}

function resultPart(block: ToolResultBlock, toolName: string, target: PromptTarget): Part {
  return { type: "tool-result", toolCallId: block.toolCallId, toolName, output: outputOf(block, target) };
}

function outputOf({ content, isError }: ToolResultBlock, target: PromptTarget): Part {
  const attachments = content.filter((block) => block.type === "image" || block.type === "file");
  if (attachments.length === 0) return { type: isError ? "error-text" : "text", value: joined(content) };
  const value = content.flatMap((block): Part[] => {
    if (block.type === "text") return [{ type: "text", text: block.text }];
    return block.type === "image" || block.type === "file" ? [resultFile(block, target)] : [];
  });
  return { type: "content", value };
}

function resultFile(block: AttachmentBlock, { version }: PromptTarget): Part {
  const { data, mediaType, filename } = contentOf(block);
  if (version === 2) return { type: "media", data, mediaType };
  if (version === 3) return { type: block.type === "image" ? "image-data" : "file-data", data, mediaType, ...filename };
  return { type: "file", data: { type: "data", data }, mediaType, ...filename };
}

function filePart(block: AttachmentBlock, { version }: PromptTarget): Part {
  const { data, mediaType, filename } = contentOf(block);
  return { type: "file", data: version === 4 ? { type: "data", data } : data, mediaType, ...filename };
}

/** The content of an attachment, in base64, when it stands in the attachment. */
function contentOf({ type, attachment }: AttachmentBlock): { data: string; mediaType: string; filename: Part } {
  const { data, mediaType, name, attachmentId } = attachment;
  if (typeof data !== "string" || typeof mediaType !== "string") {
    const called = textOf(name) || textOf(attachmentId) || "unnamed";
    throw new UnsupportedContent(
      `the ${type} "${called}" is only a reference, and this model takes the content itself`,
    );
  }
  return { data, mediaType, filename: typeof name === "string" && type === "file" ? { filename: name } : {} };
}

/** The arguments of a call, parsed; what is no JSON stays the text that it is. */
function inputOf(raw: string): unknown {
  if (raw === "") return {};
  try {
    // An escape in it can be half of a character, which becomes one only here.
    return wellFormedJson(JSON.parse(raw));
  } catch {
    return raw;
  }
}

function joined(blocks: readonly Block[]): string {
  return blocks.map((block) => block.type === "text" ? block.text : "").filter((text) => text !== "").join("\n");
}
