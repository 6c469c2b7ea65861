/**
 * What one loop instance works with: a session, and everything a host gave it.
 *
 * @module
 */
import type { Approver } from "../approval/mod.ts";
import type { CompactionSettings, SpillOptions } from "../compaction/mod.ts";
import type { EffectClass, SessionEvent, StreamChunk } from "../event/mod.ts";
import type { Hooks } from "../hooks/mod.ts";
import type { Model } from "../model/model.ts";
import type { Session } from "../session/mod.ts";
import type { Guard, Tool } from "../tool/mod.ts";
import type { AgentHooks, AgentStatus, LoopAgent } from "./hooks.ts";
import type { Inbox } from "./inbox.ts";
import type { RequestParameters } from "./request.ts";

/** What a watcher of an agent is told. Only `event` is in the log; the rest is for the eyes and is gone with the process. */
export type LiveEvent =
  /** An event was committed. It is durable later. */
  | { readonly kind: "event"; readonly event: SessionEvent }
  /** A chunk of the model's stream. An `assistant/attempt` event says that those since the last answer came to nothing. */
  | { readonly kind: "chunk"; readonly turn: number; readonly step: number; readonly chunk: StreamChunk }
  /** A body begins: everything before it is durable. */
  | {
    readonly kind: "tool-start";
    readonly turn: number;
    readonly step: number;
    readonly callId: string;
    readonly callSeq: number;
    readonly name: string;
    readonly effect: EffectClass;
  }
  | { readonly kind: "status"; readonly status: AgentStatus }
  /** Something a person should know, and nothing failed by it. */
  | { readonly kind: "warning"; readonly code: WarningCode; readonly message: string }
  /** Something failed where no caller waits for it, or a turn failed with this error. */
  | { readonly kind: "error"; readonly error: unknown };

/**
 * What a warning is about.
 *
 * - `CAPACITY_UNKNOWN`: nobody says how large the model's window is, so nothing is compacted before a request is refused
 * - `COMPACTION_FAILED`: an automatic compaction came to nothing, and the step goes on without it
 * - `COMPACTION_PAUSED`: several came to nothing, and none is tried for a while
 * - `NOTHING_TO_COMPACT`: the window is nearly full of what no compaction can shrink
 */
export type WarningCode = "CAPACITY_UNKNOWN" | "COMPACTION_FAILED" | "COMPACTION_PAUSED" | "NOTHING_TO_COMPACT";

/** What a host gave an agent. */
export interface LoopSettings {
  /** The first is asked unless an `agent/request` listener says otherwise. */
  readonly models: readonly [Model, ...Model[]];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly approvers: readonly Approver[];
  readonly guards: readonly Guard[];
  readonly policy: "ask" | "never";
  readonly systemPrompt: string;
  readonly parameters: RequestParameters;
  readonly stepsPerTurnMax: number;
  readonly maxParallelToolCalls: number;
  /** When and how a conversation that outgrows the window is compacted. */
  readonly compaction: CompactionSettings;
  /** `null`: results stay in the log whole. */
  readonly spill: Required<SpillOptions> | null;
  readonly hooks: Hooks<AgentHooks>;
}

/** A loop instance. */
export interface Loop extends LoopSettings {
  readonly session: Session;
  readonly agent: LoopAgent;
  readonly inbox: Inbox;
  readonly tell: (live: LiveEvent) => void;
  /** How often the surface had been rewritten when this instance last made a request; `null` before its first. */
  requestGeneration: number | null;
  /** How many requests in a row were made again because they had been too long. */
  overflowRetries: number;
  /** The warnings that were given and still hold. Each is given once. */
  readonly warned: Set<string>;
}
