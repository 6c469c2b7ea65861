/**
 * The approval policy a log has set.
 *
 * @module
 */
import { isEvent, type SessionEvent } from "../event/mod.ts";
import type { Fold } from "./fold.ts";

/** The last `approval/policy`. */
export interface ApprovalPolicy {
  /** `null` while the log has set none: the deployment's default applies. */
  readonly policy: "ask" | "never" | null;
}

/** Keeps the last `approval/policy`. */
export const policyFold: Fold<ApprovalPolicy> = {
  name: "policy",
  version: 1,

  initial: () => ({ policy: null }),

  apply(state: ApprovalPolicy, event: SessionEvent): ApprovalPolicy {
    return isEvent(event, "approval/policy") ? { policy: event.data.policy } : state;
  },
};
