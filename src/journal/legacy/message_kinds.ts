/**
 * The kinds of sources and blocks that a migration knows. What it does not know may be meant in a way that version 3 is not.
 *
 * @see session-format §3.4, §10.4
 * @module
 */
import { isRecord, show } from "../../event/checks.ts";
import { JSON_DEPTH_MAX } from "../../event/mod.ts";
import type { LegacyEvent } from "./types.ts";

const SOURCES: ReadonlySet<unknown> = new Set([
  ...["user", "plugin", "model", "tool", "agent-instructions", "session-reference", "team-message", "goal"],
  ...["skill-invocation", "skill-catalog", "coordinator", "subagent-report", "subagent-settled", "webhook"],
  ...["agent-message"],
]);

const BLOCKS: ReadonlySet<unknown> = new Set(["text", "reasoning", "image", "file", "tool-call", "tool-result"]);

/** Says which kind in an event's messages is not known, or null. */
export function contentRefusal({ type, data }: LegacyEvent): string | null {
  if (!isRecord(data)) return null;
  switch (type) {
    case "user/message":
      return messageRefusal(data);
    case "assistant/message":
    case "tool/result":
      return messageRefusal(data.message);
    case "agent/inbox/spliced":
      return messagesRefusal(data.inserted);
    case "session/title-llm-request":
      return messagesRefusal(data.messages);
    case "compaction/summary":
      return blocksRefusal(data.summary, 0) ?? blocksRefusal(data.rawOutput, 0);
    default:
      return null;
  }
}

function messagesRefusal(messages: unknown): string | null {
  if (!Array.isArray(messages)) return null;
  for (const message of messages) {
    const problem = messageRefusal(message);
    if (problem !== null) return problem;
  }
  return null;
}

/** What is no message at all is another check's matter. */
function messageRefusal(message: unknown): string | null {
  if (!isRecord(message)) return null;
  const { source, content } = message;
  if (isRecord(source) && !SOURCES.has(source.kind)) return `a message from a source of the kind ${show(source.kind)}`;
  return blocksRefusal(content, 0);
}

function blocksRefusal(blocks: unknown, depth: number): string | null {
  if (!Array.isArray(blocks) || depth > JSON_DEPTH_MAX) return null;
  for (const block of blocks) {
    if (!isRecord(block)) continue;
    if (!BLOCKS.has(block.type)) return `a block of the type ${show(block.type)}`;
    const problem = block.type === "tool-result" ? blocksRefusal(block.content, depth + 1) : null;
    if (problem !== null) return problem;
  }
  return null;
}
