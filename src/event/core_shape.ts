/**
 * What the data of each version-3 type that this build acts on must look like.
 *
 * @see session-format §3.6
 * @module
 */
import {
  countProblem,
  isCount,
  isNonEmptyString,
  isRecord,
  type JsonRecord,
  oneOfProblem,
  optionalCountProblem,
  optionalOneOfProblem,
  optionalStringsProblem,
  optionalTrueProblem,
  strangeKey,
  stringsProblem,
  wrong,
} from "./checks.ts";
import { blocksProblem, failureProblem, messageProblem, toolResultProblem, usageProblem } from "./message_shape.ts";
import { requestHeaderProblem } from "./request_shape.ts";
import { streamProblem } from "./stream_shape.ts";

/** Says what is wrong with the data of each type, to be read after "found ", or null. Types not listed are opaque. */
export const CORE_SHAPES: Readonly<Record<string, (data: JsonRecord) => string | null>> = {
  "turn/start": turnProblem,
  "turn/end": (data) => turnProblem(data) ?? turnEndReasonProblem(data.reason),
  "step/start": stepProblem,
  "step/end": stepProblem,
  "system/message": systemMessageProblem,
  "user/message": (data) => messageProblem(data, "data", "user"),
  "assistant/message": (data) => {
    const problem = stepProblem(data) ?? messageProblem(data.message, "data.message", "assistant");
    if (problem !== null) return problem;
    const { source } = data.message as { source: JsonRecord };
    if (source.kind !== "model") return wrong("data.message.source.kind", source.kind, '"model"');
    if (data.usage !== undefined) {
      const usage = usageProblem(data.usage, "data.usage");
      if (usage !== null) return usage;
    }
    if (data.interrupted !== undefined && data.interrupted !== true) {
      return wrong("data.interrupted", data.interrupted, "true");
    }
    return streamProblem(data.stream, "data.stream");
  },
  "assistant/attempt": (data) => stepProblem(data) ?? streamProblem(data.stream, "data.stream"),
  "tool/call": (data) => stepProblem(data) ?? stringsProblem(data, "callId", "name", "arguments"),
  "tool/result": (data) => {
    const problem = stepProblem(data) ?? messageProblem(data.message, "data.message", "user") ??
      toolResultProblem(data.message as JsonRecord, "data.message");
    if (problem !== null || data.error === undefined) return problem;
    const { error } = data;
    if (!isRecord(error) || typeof error.name !== "string" || typeof error.code !== "string") {
      return wrong("data.error", error, "a name and a code");
    }
    const { content } = data.message as { content: readonly JsonRecord[] };
    return content[0]?.isError === true ? null : "a data.error on a result that is not isError";
  },
  "approval/asked": (data) =>
    stringsProblem(data, "id", "toolName") ?? optionalStringsProblem(data, "callId", "reason"),
  "approval/decided": (data) =>
    stringsProblem(data, "id") ??
      oneOfProblem(data, "outcome", ["allowed-once", "rejected", "cancelled", "unavailable"]),
  "approval/policy": (data) =>
    oneOfProblem(data, "policy", ["ask", "never"]) ?? optionalOneOfProblem(data, "source", ["delegation"]),
  "compaction/start": compactionBracketProblem,
  "compaction/end": (data) => compactionBracketProblem(data) ?? optionalStringsProblem(data, "error"),
  "compaction/summary": (data) => {
    const problem = compactionIdProblem(data) ?? blocksProblem(data.summary, "data.summary", 0) ??
      shadowProblem(data) ?? stringsProblem(data, "provider", "model") ?? optionalCountProblem(data, "maxTokens");
    if (problem !== null) return problem;
    if (data.usage !== undefined) {
      const usage = usageProblem(data.usage, "data.usage");
      if (usage !== null) return usage;
    }
    if (data.llmStreamCall !== undefined && data.llmStreamCall !== true) {
      return wrong("data.llmStreamCall", data.llmStreamCall, "true");
    }
    if (data.rawOutput !== undefined) return blocksProblem(data.rawOutput, "data.rawOutput", 0);
    return data.llmStreamCall === true ? "a data.llmStreamCall without data.rawOutput" : null;
  },
  "compaction/prune": shadowProblem,
  "request/header": requestHeaderProblem,
  "request/context": (data) =>
    stringsProblem(data, "provider", "model") ?? optionalCountProblem(data, "contextWindow") ??
      optionalOneOfProblem(data, "systemPromptUpdate", ["in-history"]),
  "session/end-seed": (data) => optionalTrueProblem(data, "inherited"),
  "todo/write": (data) => {
    if (!Array.isArray(data.todos)) return wrong("data.todos", data.todos, "a list");
    for (const todo of data.todos) {
      if (!isRecord(todo)) return wrong("data.todos[]", todo, "an object");
      const problem = stringsProblem(todo, "content") ??
        oneOfProblem(todo, "status", ["pending", "in_progress", "completed"]);
      if (problem !== null) return problem;
    }
    return null;
  },
  "agent/inbox/spliced": (data) => {
    const problem = oneOfProblem(data, "target", ["next-turn", "next-step"]) ?? countProblem(data, "start") ??
      optionalCountProblem(data, "removedCount") ?? optionalOneOfProblem(data, "outcome", ["canceled"]);
    if (problem !== null) return problem;
    if (!Array.isArray(data.inserted)) return wrong("data.inserted", data.inserted, "a list of messages");
    for (let index = 0; index < data.inserted.length; index++) {
      const message = messageProblem(data.inserted[index], `data.inserted[${index}]`, null);
      if (message !== null) return message;
    }
    return null;
  },
  "tool/ptc-dispatch-start": (data) =>
    stringsProblem(data, "rootCallId", "parentCallId", "subCallId", "name", "arguments"),
};

/**
 * Says what is wrong with the data of a `system/message`, or null. Its keys are exact, all the way down to the blocks.
 *
 * @see session-format §3.6, §5.4
 */
export function systemMessageProblem(data: unknown): string | null {
  if (!isRecord(data)) return wrong("data", data, "an object");
  const strange = strangeKey(data, SYSTEM_MESSAGE_KEYS);
  if (strange !== null) return `the unknown field "${strange}" in data`;
  for (const key of ["turn", "step"] as const) {
    if (!isCount(data[key]) || data[key] === 0) return wrong(`data.${key}`, data[key], "a number from 1");
  }
  const problem = messageProblem(data.message, "data.message", "system");
  if (problem !== null) return problem;
  const { source } = data.message as { source: JsonRecord };
  if (source.kind !== "plugin") return wrong("data.message.source.kind", source.kind, '"plugin"');
  if (source.plugin === "") return wrong("data.message.source.plugin", source.plugin, "a non-empty string");
  const strangeInSource = strangeKey(source, SYSTEM_SOURCE_KEYS);
  return strangeInSource === null ? null : `the unknown field "${strangeInSource}" in data.message.source`;
}

const SYSTEM_MESSAGE_KEYS: ReadonlySet<string> = new Set(["turn", "step", "message"]);
const SYSTEM_SOURCE_KEYS: ReadonlySet<string> = new Set(["kind", "plugin"]);

function turnProblem(data: JsonRecord): string | null {
  return isCount(data.turn) ? null : wrong("data.turn", data.turn, "a count");
}

function stepProblem(data: JsonRecord): string | null {
  if (!isCount(data.turn)) return wrong("data.turn", data.turn, "a count");
  return isCount(data.step) ? null : wrong("data.step", data.step, "a count");
}

function turnEndReasonProblem(reason: unknown): string | null {
  if (!isRecord(reason) || !isNonEmptyString(reason.kind)) return wrong("data.reason", reason, "a reason with a kind");
  if (reason.kind === "error") return failureProblem(reason.error, "data.reason.error");
  if (reason.kind !== "aborted") return null;
  const cause = reason.reason;
  if (!isRecord(cause) || !isNonEmptyString(cause.kind)) {
    return wrong("data.reason.reason", cause, "a cause with a kind");
  }
  if (cause.kind !== "hook" || typeof cause.reason === "string") return null;
  return wrong("data.reason.reason.reason", cause.reason, "a string");
}

function compactionIdProblem(data: JsonRecord): string | null {
  if (!isNonEmptyString(data.compactionId)) return wrong("data.compactionId", data.compactionId, "a non-empty string");
  return optionalStringsProblem(data, "sourceCommandId");
}

function compactionBracketProblem(data: JsonRecord): string | null {
  const problem = compactionIdProblem(data);
  if (problem !== null) return problem;
  return data.turn === null || isCount(data.turn) ? null : wrong("data.turn", data.turn, "a count or null");
}

function shadowProblem(data: JsonRecord): string | null {
  const { shadowedRange: range, shadowedSeqs: seqs } = data;
  if (!isRecord(range) || !isCount(range.start) || !isCount(range.end)) {
    return wrong("data.shadowedRange", range, "a start and an end");
  }
  if (!Array.isArray(seqs) || seqs.length === 0 || !seqs.every(isCount)) {
    return wrong("data.shadowedSeqs", seqs, "a non-empty list of seqs");
  }
  if (seqs[0] !== range.start || seqs.at(-1) !== range.end) {
    return `data.shadowedSeqs from ${seqs[0]} to ${seqs.at(-1)} in a range from ${range.start} to ${range.end}`;
  }
  return countProblem(data, "shadowedTokenCount");
}
