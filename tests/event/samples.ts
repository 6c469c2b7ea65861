/**
 * One valid event of every type whose shape is checked, complete with its optional members.
 *
 * @module
 */
import type { JsonValue } from "../../src/event/mod.ts";

/** A draft of plain JSON, so that tests can break it. */
export interface Sample {
  readonly type: string;
  readonly data: JsonValue;
  readonly ignorable?: true;
  readonly surfaceOp?: "append" | { op: "replace"; startSeq: number; endSeq: number };
  readonly sourceEventSeqs?: readonly number[];
}

const failure = { message: "busy", code: "RATE_LIMITED", status: 429, providerRetryAfterMs: 1.5, requestId: "r" };
const usage = {
  inputTokens: 1,
  outputTokens: 2,
  totalTokens: 3,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 1,
};
const modelSource = { kind: "model", provider: "mock", model: "m", replayState: { response: {} } };
const userMessage = { id: "m1", role: "user", content: [{ type: "text", text: "go" }], source: { kind: "user" } };

const everyBlock = [
  { type: "text", text: "" },
  { type: "reasoning", text: "why" },
  { type: "image", attachment: { attachmentId: "a", mediaType: "image/png", bytes: 1, width: 1, height: 1 } },
  { type: "file", attachment: { attachmentId: "b", name: "x", bytes: 2 } },
  { type: "tool-call", id: "", name: "echo", arguments: "{" },
  { type: "future-block", anything: [1] },
];

/** A stream with every record and chunk type. */
export const everyRecord = [
  { type: "chunk", time: -5, chunk: { type: "block-start", index: 0, blockType: "text" } },
  { type: "text-chunks", time0: 1, index: 0, dt: [-3, 4], texts: ["a", "", "b"] },
  { type: "reasoning-chunks", time0: 1, index: 1, dt: [], texts: ["r"] },
  { type: "chunk", time: 2, chunk: { type: "block-end", index: 0, block: { type: "text", text: "ab" } } },
  { type: "tool-call-chunks", time0: 2, index: 2, dt: [1], id: "c1", name: "echo", args: ["{", "}"] },
  { type: "tool-call-chunks", time0: 4, index: 2, dt: [], id: "c1", args: ["x"] },
  { type: "chunk", time: 5, chunk: { type: "tool-call-delta", index: 3, id: "", name: "", argumentsDelta: "" } },
  { type: "chunk", time: 5, chunk: { type: "usage", usage } },
  { type: "chunk", time: 5, chunk: { type: "future-chunk", anything: null } },
  { type: "chunk", time: 5, chunk: { type: "finish", reason: { kind: "error", failure } } },
  { type: "chunk", time: 5, chunk: { type: "finish", reason: { kind: "stop" }, replayState: { response: {} } } },
];

const shadow = { shadowedRange: { start: 7, end: 3 }, shadowedSeqs: [7, 3], shadowedTokenCount: 9 };
const key = "0123456789abcdef0123456789abcdef";
const digest = key + key;

/** Valid events, at seq 20 or later. */
export const samples: readonly Sample[] = [
  { type: "turn/start", data: { turn: 1 } },
  { type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } },
  { type: "turn/end", data: { turn: 1, reason: { kind: "error", error: failure } } },
  { type: "turn/end", data: { turn: 1, reason: { kind: "aborted", reason: { kind: "user" } } } },
  { type: "turn/end", data: { turn: 1, reason: { kind: "aborted", reason: { kind: "hook", reason: "no" } } } },
  { type: "turn/end", data: { turn: 1, reason: { kind: "future", anything: 1 } } },
  { type: "step/start", data: { turn: 1, step: 1 } },
  { type: "step/end", data: { turn: 1, step: 1 } },
  {
    type: "system/message",
    surfaceOp: { op: "replace", startSeq: 4, endSeq: 4 },
    sourceEventSeqs: [4],
    data: {
      turn: 1,
      step: 1,
      message: { id: "s", role: "system", content: [], source: { kind: "plugin", plugin: "p" } },
    },
  },
  { type: "user/message", surfaceOp: "append", data: { ...userMessage, content: everyBlock } },
  {
    type: "user/message",
    surfaceOp: { op: "replace", startSeq: 9, endSeq: 3 },
    sourceEventSeqs: [12, 3, 4, 5, 6, 9],
    data: { ...userMessage, source: { kind: "plugin", plugin: "compact", compactionId: "k" } },
  },
  { type: "user/message", surfaceOp: "append", data: { ...userMessage, source: { kind: "future", anything: 1 } } },
  {
    type: "assistant/message",
    surfaceOp: "append",
    data: {
      turn: 1,
      step: 1,
      message: { id: "a", role: "assistant", content: everyBlock, source: modelSource },
      stream: everyRecord,
      usage,
      interrupted: true,
    },
  },
  { type: "assistant/attempt", data: { turn: 1, step: 1, stream: everyRecord } },
  { type: "tool/call", data: { turn: 1, step: 1, callId: "c1", name: "echo", arguments: "" } },
  {
    type: "tool/result",
    surfaceOp: "append",
    sourceEventSeqs: [9],
    data: {
      turn: 1,
      step: 1,
      message: {
        id: "t",
        role: "user",
        content: [{ type: "tool-result", toolCallId: "c1", content: everyBlock, isError: true }],
        source: { kind: "tool", callId: "c1" },
      },
      error: { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" },
      meta: [null, { anything: 1 }],
    },
  },
  { type: "approval/asked", data: { id: "q", toolName: "echo", callId: "c1", reason: "writes" } },
  { type: "approval/decided", data: { id: "q", outcome: "allowed-once" } },
  { type: "approval/policy", data: { policy: "never", source: "delegation" } },
  { type: "compaction/start", data: { compactionId: "k", sourceCommandId: "s", turn: null } },
  {
    type: "compaction/summary",
    data: {
      compactionId: "k",
      sourceCommandId: "s",
      summary: everyBlock,
      ...shadow,
      provider: "mock",
      model: "m",
      maxTokens: 10,
      usage,
      rawOutput: everyBlock,
      llmStreamCall: true,
    },
  },
  { type: "compaction/end", data: { compactionId: "k", turn: 1, error: "no" } },
  { type: "compaction/prune", data: shadow },
  {
    type: "request/header",
    data: {
      header: {
        config: {
          provider: "mock",
          model: "m",
          reasoningEffort: "high",
          temperature: 0.5,
          maxTokens: 5,
          stop: ["x"],
        },
        adapterDefaults: { reasoningEffort: true, maxTokens: true },
        tools: [{ name: "echo", description: "", parameters: { type: "object" } }],
      },
      reason: "series",
      startsSeries: true,
    },
  },
  {
    type: "request/context",
    data: { provider: "mock", model: "m", contextWindow: 9, systemPromptUpdate: "in-history" },
  },
  { type: "session/end-seed", data: { inherited: true } },
  { type: "session/end-seed", data: {} },
  { type: "todo/write", data: { todos: [{ content: "x", status: "in_progress" }] } },
  {
    type: "agent/inbox/spliced",
    data: { target: "next-step", start: 0, removedCount: 1, inserted: [userMessage], outcome: "canceled" },
  },
  {
    type: "tool/ptc-dispatch-start",
    data: { rootCallId: "r", parentCallId: "p", subCallId: "s", name: "n", arguments: "{}" },
  },
  { type: "session/title", data: { anything: [1, { at: "all" }] } },
  {
    type: "checkpoint/policy",
    ignorable: true,
    data: { version: 1, barriers: ["pre-step", "model", "tool", "question"], marker: true },
  },
  {
    type: "effect/dispatched",
    ignorable: true,
    data: { turn: 1, step: 1, callId: "c1", callSeq: 9, effectKey: key, effect: "keyed", retryOf: 3 },
  },
  {
    type: "effect/reconciled",
    ignorable: true,
    data: {
      turn: 1,
      step: 1,
      callId: "c1",
      callSeq: 9,
      effectKey: key,
      verdict: "happened",
      by: "person",
      content: [{ type: "text", text: "paid" }],
      note: "seen",
    },
  },
  {
    type: "effect/reconciled",
    ignorable: true,
    data: { turn: 1, step: 1, callId: "c1", callSeq: 9, effectKey: "", verdict: "retry", by: "lookup" },
  },
  { type: "approval/bound", ignorable: true, data: { id: "q", callSeq: 9, argumentsDigest: digest } },
  { type: "call/renamed", ignorable: true, data: { turn: 1, step: 1, index: 0, providerCallId: "" } },
  {
    type: "result/spilled",
    ignorable: true,
    data: { callId: "c1", callSeq: 9, digest, sizeBytes: 42, encoding: "json" },
  },
  {
    type: "log/salvaged",
    ignorable: true,
    data: {
      version: 1,
      source: { name: "x", sizeBytes: 1, sha256: digest },
      kept: [[0, 4]],
      dropped: [{ offsetBytes: 1, sizeBytes: 2, sha256: digest, reason: "bad" }],
      inferred: ["header"],
    },
  },
  { type: "custom/thing", ignorable: true, data: [1, "anything", null] },
];

/** The first sample of a type. */
export function sample(type: string): Sample {
  const found = samples.find((candidate) => candidate.type === type);
  if (found === undefined) throw new Error(`no sample of ${type}`);
  return found;
}
