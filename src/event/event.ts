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
  /** What happened, "noun/verb". Decides the shape of `data`. */
  readonly type: Type;
  /** Position in the log, dense from 0. */
  readonly seq: number;
  /** Milliseconds since the epoch; may go backwards. */
  readonly time: number;
  /** The payload, lossless JSON. */
  readonly data: Data;
  /** Present on events that a reader who does not know them may skip. */
  readonly ignorable?: true;
  /** Present on every event of the surface, absent on every other known type. */
  readonly surfaceOp?: SurfaceOp;
  /** The events this one was made from: distinct, each below `seq`. */
  readonly sourceEventSeqs?: readonly number[];
}

/** An event before it has a place in a log. */
export interface EventDraft<Type extends string = string, Data = unknown> {
  /** What happened, "noun/verb". Decides the shape of `data`. */
  readonly type: Type;
  /** The payload. It is copied, and must be lossless JSON. */
  readonly data: Data;
  /** Set on custom types and our own, which a reader that does not know them may skip. */
  readonly ignorable?: true;
  /** Required on types of the surface, forbidden on every other known type. */
  readonly surfaceOp?: SurfaceOp;
  /** The events this one is made from: distinct seqs of the log. A replacement names at least what it replaces. */
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
  /** What the model calls the tool by. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** What a request is made with: the whole snapshot, last one wins. */
export interface RequestHeader {
  /** Who is asked and with which parameters; what is absent is left to the provider. */
  readonly config: {
    readonly provider: string;
    readonly model: string;
    readonly reasoningEffort?: string;
    readonly temperature?: number;
    readonly maxTokens?: number;
    readonly stop?: readonly string[];
  };
  /** Which values of `config` an adapter chose rather than the caller. Absent when none; never empty. */
  readonly adapterDefaults?: { readonly reasoningEffort?: true; readonly maxTokens?: true };
  /** Absent when there are none; never empty. */
  readonly tools?: readonly ToolSchema[];
}

/** The error a failed result carries: a name and a stable code. */
export interface ResultError {
  /** The error's name, "ToolNotStartedError". */
  readonly name: string;
  /** What a program can act on, "TOOL_NOT_STARTED". */
  readonly code: string;
}

/** The `data` of the events this build acts on, by type. Every other known type is an opaque, lossless payload. */
export interface EventData {
  /** A turn begins. Turns are numbered from 1 without gaps. */
  "turn/start": { readonly turn: number };
  /** The open turn ends. */
  "turn/end": { readonly turn: number; readonly reason: TurnEndReason };
  /** A step of the open turn begins. Steps are numbered from 1 in each turn. */
  "step/start": { readonly turn: number; readonly step: number };
  /** The open step ends. */
  "step/end": { readonly turn: number; readonly step: number };
  /** Surface: the system prompt, head of the surface. Without content there is none. */
  "system/message": { readonly turn: number; readonly step: number; readonly message: Message };
  /** Surface: the message itself, which belongs to no turn or step. */
  "user/message": Message;
  /** Surface: the model's answer and its stream. `interrupted`: cancelled after a part had been seen. */
  "assistant/message": {
    readonly turn: number;
    readonly step: number;
    readonly message: Message;
    readonly stream: readonly StreamRecord[];
    readonly usage?: Usage;
    readonly interrupted?: true;
  };
  /** The stream of a request that left no message on the surface: evidence only. */
  "assistant/attempt": { readonly turn: number; readonly step: number; readonly stream: readonly StreamRecord[] };
  /** A call is taken up, before approval and before its body: the record a result refers to. */
  "tool/call": {
    readonly turn: number;
    readonly step: number;
    readonly callId: string;
    readonly name: string;
    /** The model's raw text. */
    readonly arguments: string;
  };
  /** Surface: the answer to one call, in one `tool-result` block. `meta` is never sent to the model. */
  "tool/result": {
    readonly turn: number;
    readonly step: number;
    readonly message: Message;
    readonly error?: ResultError;
    readonly meta?: JsonValue;
  };
  /** A question to a person, before it is shown. `callId` is absent when it is about no call. */
  "approval/asked": {
    readonly id: string;
    readonly toolName: string;
    readonly callId?: string;
    readonly reason?: string;
  };
  /** The answer to the question of this `id`, before it counts. */
  "approval/decided": { readonly id: string; readonly outcome: ApprovalOutcome };
  /** Whether people are asked from now on; the last one wins. With a `source`, a parent handed it down. */
  "approval/policy": { readonly policy: "ask" | "never"; readonly source?: "delegation" };
  /** A compaction begins and excludes others. `turn` is `null` between turns. */
  "compaction/start": {
    readonly compactionId: string;
    readonly sourceCommandId?: string;
    readonly turn: number | null;
  };
  /** The text that stands for `shadowedSeqs` (surface order); the replacing `user/message` follows at once. */
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
  /** The compaction is over; `error` says why it came to nothing. */
  "compaction/end": {
    readonly compactionId: string;
    readonly sourceCommandId?: string;
    readonly turn: number | null;
    readonly error?: string;
  };
  /** Which result the `tool/result` right after it shortens. */
  "compaction/prune": {
    readonly shadowedRange: { readonly start: number; readonly end: number };
    readonly shadowedSeqs: readonly number[];
    readonly shadowedTokenCount: number;
  };
  /** What requests are made with from now on. `series`, `startsSeries`: the conversation before it was rewritten. */
  "request/header": {
    readonly header: RequestHeader;
    readonly reason: "initial" | "resume" | "change" | "series";
    readonly startsSeries?: true;
  };
  /** Who is asked from now on, and how many tokens of context it has, when known. */
  "request/context": {
    readonly provider: string;
    readonly model: string;
    readonly contextWindow?: number;
    readonly systemPromptUpdate?: "in-history";
  };
  /** Everything before it is a seed: an earlier process wrote it or, when `inherited`, another session. */
  "session/end-seed": { readonly inherited?: true };
  /** The model's to-do list, whole. */
  "todo/write": {
    readonly todos: readonly { readonly content: string; readonly status: "pending" | "in_progress" | "completed" }[];
  };
  /** A waiting list changed as by `Array.splice`: messages came, were claimed or, `canceled`, taken back. */
  "agent/inbox/spliced": {
    readonly target: "next-turn" | "next-step";
    readonly start: number;
    readonly removedCount?: number;
    readonly inserted: readonly Message[];
    readonly outcome?: "canceled";
  };
  /** A call that a tool's body makes: for it what `tool/call` is for the model's calls. `arguments` is JSON text. */
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
  /**
   * Ours, ignorable: the whole text of the result that follows lies in a blob of this session, which is durable before this event
   * is. `callSeq` names the `tool/call` or `tool/ptc-dispatch-start`.
   */
  "result/spilled": {
    readonly callId: string;
    readonly callSeq: number;
    /** SHA-256 of the blob: 64 lower-case hex digits, its name. */
    readonly digest: string;
    /** Of the blob. */
    readonly sizeBytes: number;
    /** "json": the blob is a JSON string, because UTF-8 cannot hold the halves of characters in the text. Absent: it is the text. */
    readonly encoding?: "json";
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
