/**
 * What the phases of one call work with.
 *
 * @module
 */
import type { ApprovalHooks, ApprovalOptions } from "../approval/mod.ts";
import type { Block, JsonValue } from "../event/mod.ts";
import type { Hooks } from "../hooks/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import type { Session } from "../session/mod.ts";
import type { GuardedCall, HookedCall, ToolCall } from "./call.ts";
import type { ToolHooks } from "./hooks.ts";
import type { RecordedCall } from "./record.ts";
import type { Tool } from "./tool.ts";

/**
 * The last word before a call runs. It can deny, with the reason the model reads, and never allow: what policy or a person
 * refused stays refused. One that throws, or answers with anything but a text or nothing, denies.
 */
export type Guard = (call: GuardedCall) => string | undefined;

/**
 * Keeps a long content elsewhere. What it gives back is logged and shown instead; `null` when the content stays. Whoever decides
 * about a result has decided by then, and cannot come behind it.
 */
export type KeepContent = (call: KeptCall, content: readonly Block[]) => Promise<readonly Block[] | null>;

/** Whose content it is. */
export interface KeptCall {
  readonly callId: string;
  /** seq of its `tool/call` or `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** The tool. */
  readonly name: string;
  /** Whether it is the copy in the log of what another body was given whole. */
  readonly isNested: boolean;
}

/** What everything of one host's calls shares. */
export interface Host extends ApprovalOptions {
  /** `null` for a call outside of any session: nothing is logged, and nothing is durable. */
  readonly session: Session | null;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly guards: readonly Guard[];
  readonly hooks: Hooks<ToolHooks & ApprovalHooks>;
  readonly clock: Clock;
  readonly random: Random;
  /** Told that a body is about to run. */
  readonly onBody?: (call: ToolCall, name: string) => void;
  /** Default: every content stays. */
  readonly keepContent?: KeepContent;
}

/** What is known about one call once it is recorded. */
export interface CallFacts {
  readonly call: RecordedCall;
  readonly hooked: HookedCall;
  /** `null` when there is no such tool. */
  readonly tool: Tool | null;
  /** As a body gets them: what the tool's schema made of `hooked.arguments`. */
  readonly args: JsonValue;
}

/** One call, as its phases see it. */
export interface Scene extends CallFacts {
  readonly host: Host;
}

/**
 * What a dispatch of a host's hooks is about: who is bound to another session does not hear it.
 *
 * @example
 * ```ts
 * import { type Host, subjectOf } from "./scene.ts";
 *
 * function isOutsideOfSessions(host: Host): boolean {
 *   return subjectOf(host).subject === undefined;
 * }
 * ```
 */
export function subjectOf({ session }: Host): { readonly subject?: object } {
  return session === null ? {} : { subject: session };
}
