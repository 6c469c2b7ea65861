/**
 * Events and messages as a person reads them.
 *
 * @module
 */
import {
  type Block,
  isEvent,
  isKnownType,
  isOwnType,
  jsonText,
  type Message,
  type SessionEvent,
  shapeProblem,
} from "../../mod.ts";
import { humanTime, piece } from "./format.ts";

/** An event as one line: seq, time, type, and what matters of its data. */
export function describeEvent(event: SessionEvent): string {
  const place = `${String(event.seq).padStart(5)}  ${humanTime(event.time)}`;
  return `${place}  ${piece(event.type).padEnd(20)}  ${detail(event)}`.trimEnd();
}

function detail(event: SessionEvent): string {
  // As another version stores it, or as whatever wrote it left it.
  if (shapeProblem(event) !== null) return piece(jsonText(event.data));
  if (isEvent(event, "turn/start")) return `turn ${event.data.turn}`;
  if (isEvent(event, "turn/end")) return `turn ${event.data.turn}: ${endOf(event.data.reason)}`;
  if (isEvent(event, "step/start") || isEvent(event, "step/end")) {
    return `turn ${event.data.turn}, step ${event.data.step}`;
  }
  if (isEvent(event, "user/message")) return blocks(event.data.content);
  if (isEvent(event, "assistant/message") || isEvent(event, "system/message")) {
    return blocks(event.data.message.content);
  }
  if (isEvent(event, "tool/call")) return words(event.data.name, event.data.callId, event.data.arguments);
  if (isEvent(event, "tool/result")) {
    const code = event.data.error === undefined ? "" : `${piece(event.data.error.code)}: `;
    return code + blocks(event.data.message.content);
  }
  if (isEvent(event, "approval/asked")) {
    return words(event.data.toolName, event.data.callId ?? "", event.data.reason ?? "");
  }
  if (isEvent(event, "approval/decided")) return event.data.outcome;
  if (isEvent(event, "effect/dispatched")) {
    const retry = event.data.retryOf === undefined ? "" : `, retry of seq ${event.data.retryOf}`;
    const { callId, callSeq, effect, effectKey } = event.data;
    return `${piece(callId)} (seq ${callSeq}), ${effect}, key ${effectKey}${retry}`;
  }
  if (isEvent(event, "effect/reconciled")) {
    return `${piece(event.data.callId)} (seq ${event.data.callSeq}): ${event.data.verdict}, by ${event.data.by}`;
  }
  const isKnown = isKnownType(event.type) || isOwnType(event.type);
  const remark = isKnown ? "" : event.ignorable === true ? "(unknown, may be skipped) " : "(unknown to this build) ";
  return remark + piece(jsonText(event.data));
}

function endOf(
  reason: { readonly kind: string; readonly error?: { readonly code: string; readonly message: string } },
) {
  return reason.error === undefined ? reason.kind : words(reason.kind, `${reason.error.code}:`, reason.error.message);
}

function words(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").map(piece).join(" ");
}

function blocks(content: readonly Block[]): string {
  return content.map((block) => {
    switch (block.type) {
      case "text":
      case "reasoning":
        return piece(block.text);
      case "tool-call":
        return `[call ${words(block.name, block.id, block.arguments)}]`;
      case "tool-result":
        return `[${block.isError === true ? "error" : "result"} of ${piece(block.toolCallId)}: ${
          blocks(block.content)
        }]`;
      default:
        return `[${piece(block.type)}]`;
    }
  }).join(" ");
}

/** A message whole, as the model reads it: its role, then its blocks, indented. */
export function describeMessage(message: Message): string {
  const lines = message.content.flatMap(blockLines);
  return [`${message.role}:`, ...lines.map((line) => `  ${line}`.trimEnd())].join("\n");
}

function blockLines(block: Block): string[] {
  switch (block.type) {
    case "text":
      return block.text.split("\n");
    case "reasoning":
      return ["[reasoning]", ...block.text.split("\n")];
    case "tool-call":
      return [`[call ${words(block.name, block.id)}]`, ...block.arguments.split("\n")];
    case "tool-result": {
      const title = `[${block.isError === true ? "error" : "result"} of ${piece(block.toolCallId)}]`;
      return [title, ...block.content.flatMap(blockLines)];
    }
    default:
      return [`[${piece((block as { readonly type: string }).type)}]`];
  }
}
