/**
 * One event as one line for a person, and as text.
 *
 * @module
 */
import type { Block, Message, SessionEvent } from "../../mod.ts";
import { isEvent } from "./is_event.ts";

/** How long a line may be, in UTF-16 units; the row cuts it further where it has less room. */
const LINE_LENGTH_MAX = 160;

/** What the event says, in a few words; empty when its type says it all. */
export function eventLine(event: SessionEvent): string {
  return cut(wordsOf(event));
}

function wordsOf(event: SessionEvent): string {
  if (isEvent(event, "user/message")) return textOf(event.data.content);
  if (isEvent(event, "system/message")) return textOf(event.data.message.content) || "no system prompt";
  if (isEvent(event, "assistant/message")) return textOf(event.data.message.content);
  if (isEvent(event, "tool/call")) return `${event.data.name} ${event.data.arguments}`;
  if (isEvent(event, "tool/result")) {
    const { error, message } = event.data;
    return `${error === undefined ? "" : `${error.code} `}${textOf(message.content)}`;
  }
  if (isEvent(event, "approval/asked")) return `${event.data.toolName}: ${event.data.reason ?? "may it run?"}`;
  if (isEvent(event, "approval/decided")) return event.data.outcome;
  if (isEvent(event, "approval/bound")) {
    return `call #${event.data.callSeq}, digest ${event.data.argumentsDigest.slice(0, 12)}…`;
  }
  if (isEvent(event, "effect/dispatched")) {
    return `call #${event.data.callSeq} starts now, ${event.data.effect}, key ${event.data.effectKey.slice(0, 12)}…`;
  }
  if (isEvent(event, "effect/reconciled")) {
    return `call #${event.data.callSeq}: ${event.data.verdict}, by ${event.data.by}`;
  }
  if (isEvent(event, "checkpoint/policy")) return `barriers: ${event.data.barriers.join(", ")}`;
  if (isEvent(event, "turn/start")) return `turn ${event.data.turn}`;
  if (isEvent(event, "turn/end")) return `turn ${event.data.turn}: ${event.data.reason.kind}`;
  if (isEvent(event, "step/start") || isEvent(event, "step/end")) {
    return `turn ${event.data.turn}, step ${event.data.step}`;
  }
  if (isEvent(event, "request/header")) {
    return `${event.data.header.config.provider}, ${event.data.header.config.model}`;
  }
  if (isEvent(event, "compaction/start")) {
    return event.data.turn === null ? "between turns" : `turn ${event.data.turn}`;
  }
  if (isEvent(event, "compaction/summary")) {
    const { shadowedSeqs, shadowedTokenCount } = event.data;
    return `stands for ${shadowedSeqs.length} messages of about ${shadowedTokenCount} tokens`;
  }
  if (isEvent(event, "compaction/end")) return event.data.error ?? "done";
  if (isEvent(event, "compaction/prune")) return `shortens the result #${event.data.shadowedRange.start} for the model`;
  if (isEvent(event, "session/end-seed")) return "opened: everything above was there before";
  if (isEvent(event, "agent/inbox/spliced")) {
    const { target, inserted, removedCount = 0 } = event.data;
    return `${target}: ${inserted.length} in, ${removedCount} out`;
  }
  return JSON.stringify(event.data).slice(0, LINE_LENGTH_MAX);
}

/** The text of a message's blocks, for people. */
export function textOf(blocks: readonly Block[]): string {
  return blocks.map((block) => {
    switch (block.type) {
      case "text":
        return block.text;
      case "reasoning":
        return `(reasoning) ${block.text}`;
      case "tool-call":
        return `→ ${block.name} ${block.arguments}`;
      case "tool-result":
        return textOf(block.content);
      default:
        return `[${block.type}]`;
    }
  }).join("\n");
}

/** What a message is, in a word or two. */
export function speakerOf(message: Message): string {
  if (message.content.some((block) => block.type === "tool-result")) return "tool result";
  if (message.role !== "user") return message.role;
  return message.source.kind === "user" ? "person" : String(message.source.plugin ?? message.source.kind);
}

function cut(text: string): string {
  const line = text.slice(0, LINE_LENGTH_MAX * 2).replace(/\s+/g, " ").trim();
  return line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX)}…` : line;
}
