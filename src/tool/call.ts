/**
 * What is known about a call: by the loop that proposes it, by the hooks around it, and by its body.
 *
 * @module
 */
import type { EffectClass, JsonValue } from "../event/mod.ts";
import type { AdditionalContext } from "./contexts.ts";
import type { ToolOutcome } from "./outcome.ts";

/** A call as the model proposed it. */
export interface ProposedCall {
  /** The turn it belongs to. */
  readonly turn: number;
  /** The step of that turn. */
  readonly step: number;
  /** Unique on the surface of the session. */
  readonly callId: string;
  /** The tool, as the model called it. */
  readonly name: string;
  /** The model's raw text. */
  readonly arguments: string;
  /** The provider's own id, when `callId` is another (`call/renamed`). */
  readonly providerCallId?: string;
}

/** What a guard looks at. */
export interface GuardedCall {
  /** The session of the call; empty outside of any. */
  readonly sessionId: string;
  /** Unique on the surface of the session; of a nested call, its parent's with `:ptc:` and a number. */
  readonly callId: string;
  /** seq of the `tool/call`; of a nested call, of its `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** The tool, as the model called it. */
  readonly name: string;
  /** One deeply frozen snapshot for all phases; the raw text when that is no JSON. */
  readonly arguments: JsonValue;
  /** As the tool declares it for these arguments; "opaque" when it cannot say, or does not exist. */
  readonly effect: EffectClass;
}

/** What hooks are told about a call. Frozen. */
export interface HookedCall extends GuardedCall {
  /** The turn it belongs to. */
  readonly turn: number;
  /** The step of that turn. */
  readonly step: number;
  /** The call of the model that this one is part of; `callId` itself when it is not nested. */
  readonly rootCallId: string;
  /** The call whose body made this one; `null` when the model did. */
  readonly parentCallId: string | null;
  /** The provider's id: can be empty, and used before. */
  readonly providerCallId: string;
  /** The caller's: aborts when the turn is cancelled. */
  readonly signal: AbortSignal;
}

/** What wrappers of a body are told. Everything but `signal` is fixed. */
export interface WrappedCall extends Omit<HookedCall, "signal"> {
  /** 32 hex digits, durable by now. */
  readonly effectKey: string;
  /** seq of the original `tool/call`, when this call repeats one whose outcome is unknown. */
  readonly retryOf?: number;
  /** May be replaced for what is behind the wrapper. The caller's signal reaches the body in any case: the first abort wins. */
  signal: AbortSignal;
}

/** What a body knows about its call, and what it can do beside returning a result. */
export interface ToolCall {
  /** The session of the call; empty outside of any. */
  readonly sessionId: string;
  /** The turn it belongs to. */
  readonly turn: number;
  /** The step of that turn. */
  readonly step: number;
  /** Unique on the surface of the session. */
  readonly callId: string;
  /** The call of the model that this one is part of; `callId` itself when it is not nested. */
  readonly rootCallId: string;
  /** The provider's id: can be empty, and used before. Nothing to deduplicate by. */
  readonly providerCallId: string;
  /** seq of the durable `tool/call`; of a nested call, of its `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** 32 hex digits, durable before the body runs, the same for every repetition of this effect: what a target deduplicates by. */
  readonly effectKey: string;
  /** The class declared at dispatch. */
  readonly effect: EffectClass;
  /** seq of the original `tool/call`, when this call repeats one whose outcome is unknown. */
  readonly retryOf?: number;
  /** Aborts when the turn is cancelled or the tool's time is up. The body is waited for all the same. */
  readonly signal: AbortSignal;
  /**
   * Adds a message for the model's next step, beside the result.
   *
   * @throws {TypeError} when it is no message, or the body is over
   * @throws {RangeError} when there are CONTEXTS_MAX already
   */
  readonly deferContext: (context: AdditionalContext) => void;
  /** Asks for the turn to end with this step, if the call succeeds. */
  readonly concludeTurn: () => void;
  /**
   * Calls another tool, through the whole pipeline: policy, approval, guards, and for a tool with an effect a marker and a barrier
   * of its own. The body is over only when every call it made is.
   *
   * @param args lossless JSON; read once
   * @returns how it ended; a failure is an outcome. Its `meta` is left out, and `concludesTurn` is only said: the body that wants
   * the turn to end calls `concludeTurn` itself
   * @throws {TypeError} when the body is over
   * @throws {RangeError} over NESTED_CALLS_MAX calls of one body, or NESTED_DEPTH_MAX levels
   * @throws whatever refused an append
   */
  readonly dispatch: (name: string, args: unknown, options?: NestedOptions) => Promise<ToolOutcome>;
}

/** How a nested call is made. */
export interface NestedOptions {
  /** Cancels only this call. The signal of the body reaches it in any case. */
  readonly signal?: AbortSignal;
}
