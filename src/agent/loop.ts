/**
 * What one loop instance works with: a session, and everything a host gave it.
 *
 * @module
 */
import type { Approver } from "../approval/mod.ts";
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
  /** Something failed where no caller waits for it, or a turn failed with this error. */
  | { readonly kind: "error"; readonly error: unknown };

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
}
