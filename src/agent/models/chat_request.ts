/**
 * A request in the words of the chat-completions protocol.
 *
 * @see https://platform.openai.com/docs/api-reference/chat/create
 * @module
 */
import type { Block, JsonObject, Message } from "../../event/mod.ts";
import type { ModelRequest } from "../../model/model.ts";

/**
 * Translates a request. Reasoning is not sent back: providers that read it back refuse it from others.
 *
 * @example
 * ```ts
 * import { chatRequest } from "./chat_request.ts";
 *
 * const body = chatRequest({ sessionId: "s", header: { config: { provider: "p", model: "m" } }, messages: [] });
 * if (body.stream !== true) throw new Error("unreachable");
 * ```
 */
export function chatRequest(request: ModelRequest): JsonObject {
  const { config, tools } = request.header;
  return {
    model: config.model,
    messages: request.messages.flatMap(chatMessages),
    stream: true,
    stream_options: { include_usage: true },
    temperature: config.temperature,
    max_tokens: config.maxTokens,
    reasoning_effort: config.reasoningEffort,
    stop: config.stop,
    tools: tools?.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
  };
}

/** A message with results becomes one message per result, results first: they answer the message before. */
function chatMessages(message: Message): JsonObject[] {
  if (message.role === "assistant") return assistantMessage(message);
  const out: JsonObject[] = [];
  for (const block of message.content) {
    if (block.type !== "tool-result") continue;
    const content = textOf(block.content);
    out.push({ role: "tool", tool_call_id: block.toolCallId, content });
  }
  const rest = message.content.filter((block) => block.type !== "tool-result");
  if (rest.length > 0) out.push({ role: message.role, content: textOf(rest) });
  return out;
}

function assistantMessage(message: Message): JsonObject[] {
  const content = message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
  const calls = message.content.filter((block) => block.type === "tool-call").map((block) => ({
    id: block.id,
    type: "function",
    function: { name: block.name, arguments: block.arguments === "" ? "{}" : block.arguments },
  }));
  if (calls.length > 0) return [{ role: "assistant", content: content === "" ? null : content, tool_calls: calls }];
  return content === "" ? [] : [{ role: "assistant", content }];
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map(blockText).filter((text) => text !== "").join("\n");
}

function blockText(block: Block): string {
  if (block.type === "text") return block.text;
  if (block.type !== "image" && block.type !== "file") return "";
  const { name, attachmentId } = block.attachment;
  return `[${block.type}: ${String(name ?? attachmentId ?? "unnamed")}]`;
}
