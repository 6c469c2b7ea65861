/**
 * The hooks of an agent: where others may listen to a loop, answer it, or stand around what it does.
 *
 * No barrier is among them: a barrier is a stage, outside of every chain, and stays where it is whoever listens.
 * A listener bound to `agent.session` (`on(name, listener, { subject: agent.session })`) hears only that session's loop.
 *
 * @see execution §2
 * @module
 */
import type { ApprovalHooks } from "../approval/mod.ts";
import type {
  AbortCause,
  Block,
  LlmFailure,
  Message,
  MessageSource,
  RequestHeader,
  StreamChunk,
  ToolSchema,
} from "../event/mod.ts";
import type { EmitHook, SerialHook, WaterfallHook } from "../hooks/mod.ts";
import type { ModelRequest } from "../model/model.ts";
import type { Session } from "../session/mod.ts";
import type { ToolHooks } from "../tool/mod.ts";
import type { ContextSection } from "./runtime_context.ts";

/** Whether a turn is running. */
export type AgentStatus = "idle" | "running";

/** What may be said about a message that is queued. */
export interface MessageOptions {
  /** Who speaks. Default: a person. */
  readonly source?: MessageSource;
  /**
   * Id of the message, for an input that may be sent twice: one whose id is among the newest HEARD_MESSAGES_MAX that the log
   * heard is not queued again. Default: a new one.
   */
  readonly id?: string;
}

/** An agent as its listeners see it. */
export interface LoopAgent {
  /** Id of the session. */
  readonly id: string;
  /** The log, and what listeners bind themselves to. */
  readonly session: Session;
  /** Whether a turn is running. */
  readonly status: AgentStatus;
  /** See `AgentSession.followup`. */
  followup(message: string | readonly Block[], options?: MessageOptions): Message;
  /** See `AgentSession.steer`. */
  steer(message: string | readonly Block[], options?: MessageOptions): Message;
  /** See `AgentSession.inject`. */
  inject(message: string | readonly Block[], options?: MessageOptions): Message;
  /** See `AgentSession.cancel`. */
  cancel(cause?: AbortCause, options?: { readonly keepInbox?: boolean }): void;
}

/** Which step of which agent a hook is about. */
export interface LoopPlace {
  /** Whose loop it is. */
  readonly agent: LoopAgent;
  /** From 1, over the whole log. */
  readonly turn: number;
  /** From 1 in each turn. */
  readonly step: number;
  /** Aborts when the turn is cancelled. Whatever is answered later is dropped. */
  readonly signal: AbortSignal;
}

/** What a step would tell the model. */
export interface ProposedStep extends LoopPlace {
  /** Claimed from the inbox, and behind them the runtime context when it has changed. */
  readonly messages: readonly Message[];
}

/** Whether a step is entered, and with what. */
export type StepDecision =
  /** The turn ends "blocked". What was claimed is gone. */
  | { readonly kind: "reject" }
  /** With no messages, a turn that has nothing else to do ends without a step. */
  | { readonly kind: "enter"; readonly messages: readonly Message[] };

/** What a request is made with, beside the conversation. */
export interface Assembly {
  /** Stands at the head of the conversation; empty for none. */
  readonly systemPrompt: string;
  /** What the model is offered. It changes nothing about which calls are accepted. */
  readonly tools: readonly ToolSchema[];
  /** What changes often, told behind the conversation so that its beginning stays the same. */
  readonly context: readonly ContextSection[];
}

/** Provider, model and parameters of one request. */
export type CallConfig = RequestHeader["config"];

/** A request on its way to the model. */
export interface StreamPlace extends LoopPlace {
  /** Deeply frozen, and everything in it is in the log. */
  readonly request: ModelRequest;
}

/** A request that failed at the model. */
export interface RequestFailure extends LoopPlace {
  /** Who failed. */
  readonly provider: string;
  /** What is known about it. */
  readonly failure: LlmFailure;
}

/** What is done about a failed request: it is made again within the step, or (undefined) the turn fails. */
export type RecoveryAction = { readonly kind: "retry" } | undefined;

/** The hooks of the loop. */
export interface LoopHooks {
  /**
   * The agent is there and takes input, which waits until every listener is done. One that fails fails the creation.
   */
  readonly "agent/created": SerialHook<
    [event: { readonly agent: LoopAgent; readonly source: "create" | "resume" }],
    never
  >;
  /** Whatever a step is made of. Everything claimed is durable by then. */
  readonly "system-prompt/assemble": WaterfallHook<[place: LoopPlace], Promise<Assembly>>;
  /** Whether the step is entered. */
  readonly "agent/pre-step": WaterfallHook<[step: ProposedStep], Promise<StepDecision>>;
  /** Which model is asked, and how. Again for each attempt. Until it is answered, nothing of the step is told to the model. */
  readonly "agent/request": WaterfallHook<[place: LoopPlace], Promise<CallConfig>>;
  /** Around the model, inside the model barrier. Whoever calls `next()` twice asks the model twice. */
  readonly "llm/stream": WaterfallHook<[place: StreamPlace], AsyncIterable<StreamChunk>>;
  /** Only what the model itself failed with: what a listener or a barrier threw ends the turn. */
  readonly "agent/request-error": WaterfallHook<[failure: RequestFailure], Promise<RecoveryAction>>;
  /** The model has nothing more to do. Whoever objects steers; what a listener returns means nothing. */
  readonly "agent/turn-stopping": SerialHook<
    [stopping: { readonly agent: LoopAgent; readonly turn: number; readonly signal: AbortSignal }],
    never
  >;
  /** Told of every transition. */
  readonly "agent/status": EmitHook<[event: { readonly agent: LoopAgent; readonly status: AgentStatus }]>;
  /** A turn failed, or something failed where no caller waits for it. */
  readonly "agent/error": EmitHook<[event: { readonly agent: LoopAgent; readonly error: unknown }]>;
  /** A message waits. */
  readonly "agent/inbox/inserted": EmitHook<
    [event: { readonly agent: LoopAgent; readonly message: Message; readonly target: "next-turn" | "next-step" }]
  >;
  /** A turn took a message. */
  readonly "agent/inbox/claimed": EmitHook<
    [event: { readonly agent: LoopAgent; readonly message: Message; readonly turn: number }]
  >;
  /** A message was taken back. No turn sees it. */
  readonly "agent/inbox/discarded": EmitHook<[event: { readonly agent: LoopAgent; readonly message: Message }]>;
  /** The agent is closed. */
  readonly "agent/disposed": EmitHook<[event: { readonly agent: LoopAgent }]>;
}

/** Every hook of an agent: of its loop, of its calls, of its questions. */
export interface AgentHooks extends LoopHooks, ToolHooks, ApprovalHooks {}
