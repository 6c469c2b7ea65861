/**
 * Events: one row of a session log each.
 *
 * The disk is a stranger, so `data` is a JSON value until {@linkcode isEvent} has looked at `type`; the parser has then
 * already checked the shape of the core types.
 *
 * @see session-format §3
 * @module
 */
import type { JsonObject, JsonValue } from "./json.ts";
import type { Block, LlmFailure, Message, StreamRecord, Usage } from "./message.ts";

/** What an event does to the surface, the list of messages the model sees. */
export type SurfaceOp = "append" | { readonly op: "replace"; readonly startSeq: number; readonly endSeq: number };

/** One event of a session log. */
export interface SessionEvent<Type extends string = string, Data = JsonValue> {
  readonly type: Type;
  /** Position in the log, dense from 0. */
  readonly seq: number;
  /** Milliseconds since the epoch; may go backwards. */
  readonly time: number;
  readonly data: Data;
  /** Present on events that a reader who does not know them may skip. */
  readonly ignorable?: true;
  readonly surfaceOp?: SurfaceOp;
  /** The events this one was made from: distinct, each below `seq`. */
  readonly sourceEventSeqs?: readonly number[];
}

/** An event before it has a place in a log. */
export interface EventDraft<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly data: Data;
  readonly ignorable?: true;
  readonly surfaceOp?: SurfaceOp;
  readonly sourceEventSeqs?: readonly number[];
}

/** Why a turn ended. Kinds this build does not know are kept as they are. */
export type TurnEndReason =
  | { readonly kind: "completed" }
  | { readonly kind: "blocked" }
  | { readonly kind: "max-tokens" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "error"; readonly error: LlmFailure }
  | { readonly kind: "aborted"; readonly reason: AbortCause };

/** Who ended a turn early. */
export type AbortCause =
  | { readonly kind: "user" }
  | { readonly kind: "parent" }
  | { readonly kind: "disposed" }
  | { readonly kind: "legacy" }
  | { readonly kind: "hook"; readonly reason: string };

/** How a person answered. */
export type ApprovalOutcome = "allowed-once" | "rejected" | "cancelled" | "unavailable";

/** What a tool's body may do to the world: nothing, the same thing twice, the same thing under one key, or anything. */
export type EffectClass = "none" | "idempotent" | "keyed" | "opaque";

/** The stages that wait for an acknowledgement. */
export type BarrierName = "pre-step" | "model" | "tool" | "question";

/** A tool as the model is told about it. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** What a request is made with: the whole snapshot, last one wins. */
export interface RequestHeader {
  readonly config: {
    readonly provider: string;
    readonly model: string;
    readonly reasoningEffort?: string;
    readonly temperature?: number;
    readonly maxTokens?: number;
    readonly stop?: readonly string[];
  };
  readonly adapterDefaults?: { readonly reasoningEffort?: true; readonly maxTokens?: true };
  /** Absent when there are none; never empty. */
  readonly tools?: readonly ToolSchema[];
}

/** The error a failed result carries: a name and a stable code. */
export interface ResultError {
  readonly name: string;
  readonly code: string;
}

/** The `data` of the events this build acts on, by type. Every other known type is an opaque, lossless payload. */
export interface EventData {
  "turn/start": { readonly turn: number };
  "turn/end": { readonly turn: number; readonly reason: TurnEndReason };
  "step/start": { readonly turn: number; readonly step: number };
  "step/end": { readonly turn: number; readonly step: number };
  "system/message": { readonly turn: number; readonly step: number; readonly message: Message };
  "user/message": Message;
  "assistant/message": {
    readonly turn: number;
    readonly step: number;
    readonly message: Message;
    readonly stream: readonly StreamRecord[];
    readonly usage?: Usage;
    readonly interrupted?: true;
  };
  "assistant/attempt": { readonly turn: number; readonly step: number; readonly stream: readonly StreamRecord[] };
  "tool/call": {
    readonly turn: number;
    readonly step: number;
    readonly callId: string;
    readonly name: string;
    /** The model's raw text. */
    readonly arguments: string;
  };
  "tool/result": {
    readonly turn: number;
    readonly step: number;
    readonly message: Message;
    readonly error?: ResultError;
    readonly meta?: JsonValue;
  };
  "approval/asked": {
    readonly id: string;
    readonly toolName: string;
    readonly callId?: string;
    readonly reason?: string;
  };
  "approval/decided": { readonly id: string; readonly outcome: ApprovalOutcome };
  "approval/policy": { readonly policy: "ask" | "never"; readonly source?: "delegation" };
  "compaction/start": {
    readonly compactionId: string;
    readonly sourceCommandId?: string;
    readonly turn: number | null;
  };
  "compaction/summary": {
    readonly compactionId: string;
    readonly sourceCommandId?: string;
    readonly summary: readonly Block[];
    readonly shadowedRange: { readonly start: number; readonly end: number };
    readonly shadowedSeqs: readonly number[];
    readonly shadowedTokenCount: number;
    readonly provider: string;
    readonly model: string;
    readonly maxTokens?: number;
    readonly usage?: Usage;
    readonly rawOutput?: readonly Block[];
    readonly llmStreamCall?: true;
  };
  "compaction/end": {
    readonly compactionId: string;
    readonly sourceCommandId?: string;
    readonly turn: number | null;
    readonly error?: string;
  };
  "compaction/prune": {
    readonly shadowedRange: { readonly start: number; readonly end: number };
    readonly shadowedSeqs: readonly number[];
    readonly shadowedTokenCount: number;
  };
  "request/header": {
    readonly header: RequestHeader;
    readonly reason: "initial" | "resume" | "change" | "series";
    readonly startsSeries?: true;
  };
  "request/context": {
    readonly provider: string;
    readonly model: string;
    readonly contextWindow?: number;
    readonly systemPromptUpdate?: "in-history";
  };
  "session/end-seed": { readonly inherited?: true };
  "todo/write": {
    readonly todos: readonly { readonly content: string; readonly status: "pending" | "in_progress" | "completed" }[];
  };
  "agent/inbox/spliced": {
    readonly target: "next-turn" | "next-step";
    readonly start: number;
    readonly removedCount?: number;
    readonly inserted: readonly Message[];
    readonly outcome?: "canceled";
  };
  "tool/ptc-dispatch-start": {
    readonly rootCallId: string;
    readonly parentCallId: string;
    readonly subCallId: string;
    readonly name: string;
    readonly arguments: string;
  };

  /** Ours, ignorable: which barriers this lifecycle keeps. Makes "not started" provable. */
  "checkpoint/policy": { readonly version: 1; readonly barriers: readonly BarrierName[]; readonly marker: true };
  /** Ours, ignorable: the marker, appended just before the tool barrier. */
  "effect/dispatched": {
    readonly turn: number;
    readonly step: number;
    readonly callId: string;
    readonly callSeq: number;
    /** 32 lower-case hex digits: 128 random bits. */
    readonly effectKey: string;
    readonly effect: EffectClass;
    /** seq of the original `tool/call` this call retries. */
    readonly retryOf?: number;
  };
  /** Ours, ignorable: what a lookup or a person settled. */
  "effect/reconciled": {
    readonly turn: number;
    readonly step: number;
    readonly callId: string;
    readonly callSeq: number;
    readonly effectKey: string;
    readonly verdict: "happened" | "absent" | "undecidable" | "retry";
    readonly by: "lookup" | "person";
    readonly content?: readonly Block[];
    readonly note?: string;
  };
  /** Ours, ignorable: ties a question to the exact arguments. */
  "approval/bound": { readonly id: string; readonly callSeq: number; readonly argumentsDigest: string };
  /** Ours, ignorable: a provider's id that was empty or taken was made unique. */
  "call/renamed": {
    readonly turn: number;
    readonly step: number;
    readonly index: number;
    readonly providerCallId: string;
  };
  /** Ours, ignorable: this log is a salvaged copy; earlier lifecycles count as barriers off. */
  "log/salvaged": JsonObject;
}

/** A type whose `data` this build knows. */
export type KnownData = keyof EventData;

/** An event of a type whose `data` this build knows. */
export type EventOf<Type extends KnownData> = SessionEvent<Type, EventData[Type]>;

/**
 * Narrows an event by its type. Sound for events that came through the parser or through `Session.append`, which check the
 * shape of every {@linkcode KnownData} type.
 *
 * @example
 * ```ts
 * import { isEvent, type SessionEvent } from "./event.ts";
 *
 * const event: SessionEvent = { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } };
 * if (isEvent(event, "turn/start") && event.data.turn !== 1) throw new Error("unreachable");
 * ```
 */
export function isEvent<Type extends KnownData>(event: { readonly type: string }, type: Type): event is EventOf<Type> {
  return event.type === type;
}
