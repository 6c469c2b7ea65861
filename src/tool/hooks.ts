/**
 * The hooks around tool calls: where a host decides, wraps, reviews and watches.
 *
 * None of them is a barrier and none can move one: the order of a call is fixed in `pipeline.ts`. They are dispatched about the
 * session of the call: who listens with `{ subject: session }` hears no other.
 *
 * @see execution §3.3
 * @module
 */
import type { Block, EventData, JsonValue, ResultError } from "../event/mod.ts";
import type { EmitHook, WaterfallHook } from "../hooks/mod.ts";
import type { HookedCall, WrappedCall } from "./call.ts";
import type { AdditionalContext } from "./contexts.ts";
import type { ToolOutcome } from "./outcome.ts";

/** A value, now or later. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Whether a call may run. */
export type PreDecision =
  | { readonly kind: "allow" }
  /** The model reads the reason as the error; `info` becomes its name and code. */
  | { readonly kind: "deny"; readonly reason: string; readonly info?: ResultError }
  /** A person is asked, with this reason. */
  | { readonly kind: "ask"; readonly reason?: string }
  /** The call is treated as if it had been cancelled before it began. */
  | { readonly kind: "cancel" };

/** What a wrapper answers: what `next()` gave, changed or not, or a result of its own. */
export type WrapperAnswer =
  | ToolOutcome
  /** Of a tool with an output schema: checked and rendered as if the body had returned it. */
  | { readonly isError: false; readonly value: unknown }
  /** Of a tool without one. */
  | { readonly isError: false; readonly content: string | readonly Block[]; readonly meta?: JsonValue }
  | { readonly isError: true; readonly message: string; readonly error?: ResultError };

/** What becomes of a result. */
export type PostDecision =
  | {
    readonly kind: "accept";
    /** What the model reads instead. */
    readonly content?: string | readonly Block[];
    /** Instead of the value of a success, of a tool with an output schema: checked and rendered again. Not beside `content`. */
    readonly value?: unknown;
    readonly additionalContexts?: readonly AdditionalContext[];
  }
  /** The result becomes an error with this text. What the body wanted to add is dropped. */
  | {
    readonly kind: "block";
    readonly feedback: string;
    readonly additionalContexts?: readonly AdditionalContext[];
  };

/** What is logged about a nested call that ended. */
export interface NestedRecord extends Readonly<EventData["tool/ptc-dispatch-start"]> {
  /** Whether it failed. */
  readonly isError: boolean;
  /** What the body that made it was given. */
  readonly content: readonly Block[];
}

/**
 * Hooks of tool calls, nested ones included.
 *
 * Whatever a listener does, the call is answered: one that throws, answers nonsense, or does not answer within CANCEL_GRACE_MS
 * of a cancel ends the call with an error, and what it says later is dropped. An interface, so that a registry of more hooks can
 * extend it.
 */
export interface ToolHooks {
  /**
   * A call was recorded and may be decided about; it also sees calls of tools that do not exist. Behind the last listener is what
   * the tool itself says (`permission`). Nothing can change the arguments: they are in the log.
   */
  readonly "tools/pre-execute": WaterfallHook<[call: HookedCall], Awaitable<PreDecision>>;
  /**
   * Around the body. The marker is durable before the first listener is entered; however often `next()` is called, there is one
   * marker and one effect key. `next()` never rejects because a body failed: failures are outcomes. A listener may set
   * `call.signal` to one of its own for what is behind it; the caller's cancel still reaches the body.
   */
  readonly "tools/execute": WaterfallHook<[call: WrappedCall], Awaitable<WrapperAnswer>>;
  /** A call has ended, in the model's order, before its result is logged. Behind the last listener is acceptance. */
  readonly "tools/post-execute": WaterfallHook<[call: HookedCall, outcome: ToolOutcome], Awaitable<PostDecision>>;
  /** The final outcome of a call, frozen; told once per call, also when no other hook saw it. Dispatched contained. */
  readonly "tools/result": EmitHook<[call: HookedCall, outcome: ToolOutcome]>;
  /** What is logged as the content of a nested call that ended. Behind the last listener is the content as it is. */
  readonly "tools/ptc-dispatch-log": WaterfallHook<[record: NestedRecord], Awaitable<readonly Block[]>>;
}
