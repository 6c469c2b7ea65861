/**
 * The events that only opening a session writes.
 *
 * @see session-format §4.4; architecture "File format"
 * @module
 */
import type { EventData, EventDraft } from "../event/mod.ts";

/** What a writer of ours promises for a lifecycle: every barrier, and a marker before every body. */
export const BARRIER_POLICY: EventDraft<"checkpoint/policy", EventData["checkpoint/policy"]> = {
  type: "checkpoint/policy",
  data: { version: 1, barriers: ["pre-step", "model", "tool", "question"], marker: true },
  ignorable: true,
};

/** The end of what an earlier process wrote: a new lifecycle begins. */
export const END_SEED: EventDraft<"session/end-seed", EventData["session/end-seed"]> = {
  type: "session/end-seed",
  data: {},
};

/** The end of what a fork inherited. */
export const END_INHERITED_SEED: EventDraft<"session/end-seed", EventData["session/end-seed"]> = {
  type: "session/end-seed",
  data: { inherited: true },
};

/**
 * Refuses an event that would claim something only the session itself knows: where a lifecycle begins, and
 * whether its barriers are kept. A log with an end-seed in a wrong place would not even open again.
 *
 * @throws {TypeError}
 *
 * @example
 * ```ts
 * import { checkNotReserved } from "./own_events.ts";
 *
 * checkNotReserved({ type: "turn/start" });
 * ```
 */
export function checkNotReserved({ type }: { readonly type: string }): void {
  if (type !== "session/end-seed" && type !== "checkpoint/policy") return;
  throw new TypeError(`Cannot append event "${type}": it is written by the session itself, when it is opened`);
}
