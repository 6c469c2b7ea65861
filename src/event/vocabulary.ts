/**
 * The event types this build knows: those of format version 3, and ours.
 *
 * Types of version 3 keep exactly their shape. Ours always carry `ignorable: true`, so that another reader of the same file
 * skips them. Nothing is registered at run time: a log reads the same in every copy of this module.
 *
 * @see session-format §3.6
 * @module
 */

/** The four types that put a message on the surface, or replace one there. */
export const SURFACE_TYPES: ReadonlySet<string> = new Set([
  "system/message",
  "user/message",
  "assistant/message",
  "tool/result",
]);

/** The 56 types of format version 3. */
export const KNOWN_TYPES: ReadonlySet<string> = new Set([
  "turn/start",
  "turn/end",
  "step/start",
  "step/end",
  "system/message",
  "user/message",
  "assistant/message",
  "assistant/attempt",
  "tool/call",
  "tool/result",
  "approval/asked",
  "approval/decided",
  "approval/policy",
  "compaction/start",
  "compaction/summary",
  "compaction/end",
  "compaction/prune",
  "request/header",
  "request/context",
  "session/end-seed",
  "todo/write",
  "agent/inbox/spliced",
  "agent-preset/selected",
  "command/run",
  "command/done",
  "deliverables/presented",
  "feedback/message-put",
  "feedback/message-delete",
  "feedback/record",
  "goal/change",
  "hook/invoked",
  "hook/result",
  "llm/retry",
  "llm/retry-started",
  "model/selection",
  "permission/preset",
  "plan/mode",
  "sandbox/mode",
  "schedule/change",
  "session/title",
  "session/title-llm-request",
  "session-log-deepseek/delivery-accepted",
  "subagent/catalog",
  "subagent/descriptor",
  "subagent/model-selection-policy",
  "team/member",
  "team/task",
  "team/message/queued",
  "team/message/delivered",
  "tool-workflow/run-start",
  "tool-workflow/agent-start",
  "tool-workflow/agent-end",
  "tool-workflow/run-end",
  "tool/ptc-dispatch-start",
  "tool/ptc-dispatch",
  "web/deepseek-search-llm-request",
]);

/** The types of our own events. They never touch the surface. */
export const OWN_TYPES: ReadonlySet<string> = new Set([
  "checkpoint/policy",
  "effect/dispatched",
  "effect/reconciled",
  "approval/bound",
  "call/renamed",
  "result/spilled",
  "log/salvaged",
]);

/**
 * Tells whether a type belongs to format version 3.
 *
 * @example
 * ```ts
 * import { isKnownType } from "./vocabulary.ts";
 *
 * if (!isKnownType("turn/start") || isKnownType("effect/dispatched")) throw new Error("unreachable");
 * ```
 */
export function isKnownType(type: string): boolean {
  return KNOWN_TYPES.has(type);
}

/**
 * Tells whether a type is one of ours.
 *
 * @example
 * ```ts
 * import { isOwnType } from "./vocabulary.ts";
 *
 * if (!isOwnType("effect/dispatched")) throw new Error("unreachable");
 * ```
 */
export function isOwnType(type: string): boolean {
  return OWN_TYPES.has(type);
}

/**
 * Tells whether events of this type stand on the surface.
 *
 * @example
 * ```ts
 * import { isSurfaceType } from "./vocabulary.ts";
 *
 * if (!isSurfaceType("tool/result") || isSurfaceType("tool/call")) throw new Error("unreachable");
 * ```
 */
export function isSurfaceType(type: string): boolean {
  return SURFACE_TYPES.has(type);
}

/**
 * Tells whether this build must not write to a log that holds the event: its type is unknown and nothing says that it may be
 * skipped.
 *
 * @example
 * ```ts
 * import { isRequiredUnknown } from "./vocabulary.ts";
 *
 * if (!isRequiredUnknown({ type: "future/thing" })) throw new Error("unreachable");
 * if (isRequiredUnknown({ type: "future/thing", ignorable: true })) throw new Error("unreachable");
 * ```
 */
export function isRequiredUnknown(event: { readonly type: string; readonly ignorable?: boolean }): boolean {
  return event.ignorable !== true && !KNOWN_TYPES.has(event.type) && !OWN_TYPES.has(event.type);
}
