/**
 * The hook through which questions reach whoever answers them.
 *
 * @module
 */
import type { ApprovalOutcome } from "../event/mod.ts";
import type { WaterfallHook } from "../hooks/mod.ts";
import type { ApprovalRequest } from "./question.ts";

/**
 * Hooks of approval. They are dispatched about the session that asks: who listens with `{ subject: session }` hears no other.
 *
 * An interface, so that a registry of more hooks can extend it.
 */
export interface ApprovalHooks {
  /**
   * A question is open: its `approval/asked` is durable. A listener answers, or passes on with `next()`; behind the last
   * one are the approvers of the host, and behind those "unavailable".
   *
   * What throws, or answers with anything but an {@linkcode ApprovalOutcome}, makes the outcome "unavailable". The signal aborts
   * when the turn is cancelled; the question is then closed at once and a later answer is dropped. The policy "never" is
   * decided before this hook, so that no listener can get around it.
   */
  readonly "approval/request": WaterfallHook<
    [request: ApprovalRequest, signal: AbortSignal],
    ApprovalOutcome | Promise<ApprovalOutcome>
  >;
}
