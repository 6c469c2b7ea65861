/**
 * The approval policy of a session: whether what needs approval is asked about, or refused without asking.
 *
 * @see execution §5
 * @module
 */
import type { Message } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";

/** Ask whoever can answer, or refuse whatever would ask. */
export type Policy = "ask" | "never";

const POLICIES: readonly unknown[] = ["ask", "never"];

/** What the model reads about a policy. Stored in logs. */
const POLICY_TEXTS: Readonly<Record<Policy, string>> = {
  ask: 'The approval policy is "ask": a call that needs approval is shown to the user, who allows or rejects it.',
  never: 'The approval policy is "never": a call that needs approval is refused without asking anybody.',
};

/**
 * The policy that applies: the last one in the log, else the deployment's.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { effectivePolicy } from "./policy.ts";
 *
 * function isSilent(session: Session): boolean {
 *   return effectivePolicy(session, "ask") === "never";
 * }
 * ```
 */
export function effectivePolicy(session: Session, fallback: Policy = "ask"): Policy {
  return session.folds.policy.policy ?? fallback;
}

/**
 * The policy in words, as a model is told about it.
 *
 * @example
 * ```ts
 * import { policyText } from "./policy.ts";
 *
 * if (!policyText("never").includes("without asking")) throw new Error("unreachable");
 * ```
 */
export function policyText(policy: Policy): string {
  return POLICY_TEXTS[policy];
}

/** How a policy is set. */
export interface PolicyOptions {
  /** The deployment's policy, which applies while the log sets none. Default "ask". */
  readonly fallback?: Policy;
  /** Set when the policy was passed down by a session above. */
  readonly source?: "delegation";
}

/**
 * Sets the policy of a session, from the next question on. A change puts one notice for the model into the inbox of the next step,
 * and wakes nobody; setting what applies already does nothing. Durable with the next flush.
 *
 * @returns whether it changed
 * @throws {TypeError} for anything but "ask" and "never"; nothing was appended
 * @throws whatever refused an append
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { setApprovalPolicy } from "./policy.ts";
 *
 * async function leaveAlone(session: Session): Promise<void> {
 *   setApprovalPolicy(session, "never");
 *   await session.flush();
 * }
 * ```
 */
export function setApprovalPolicy(session: Session, policy: Policy, options: PolicyOptions = {}): boolean {
  if (!POLICIES.includes(policy)) {
    throw new TypeError(`Cannot set the approval policy of session "${session.id}": found ${String(policy)}`);
  }
  if (effectivePolicy(session, options.fallback) === policy) return false;
  const source = options.source === undefined ? {} : { source: options.source };
  const { seq } = session.append({ type: "approval/policy", data: { policy, ...source } });
  const notice: Message = {
    id: `approval-policy-${seq}`,
    role: "user",
    content: [{ type: "text", text: policyText(policy) }],
    source: { kind: "plugin", plugin: "user-approval", form: "notice", summary: `approval policy: ${policy}` },
  };
  const start = session.folds.inbox.nextStep.length;
  session.append({ type: "agent/inbox/spliced", data: { target: "next-step", start, inserted: [notice] } });
  return true;
}
