/**
 * Whether a recorded call may run: what policy says, what a person says, what the guards say, in this order.
 *
 * @see execution §3.3 (2 to 7), §3.4; rulings 3
 * @module
 */
import { canAsk, effectivePolicy, requestApproval } from "../approval/mod.ts";
import { type ApprovalOutcome, argumentsDigest, type EffectClass } from "../event/mod.ts";
import { hasCode } from "../errors.ts";
import type { PreDecision } from "./hooks.ts";
import { abortedBeforeDispatch, failure, failureOf, messageOf, type ToolOutcome, UNKNOWN_TOOL } from "./outcome.ts";
import { needsGrant, quarantineReason } from "./quarantine.ts";
import { type EarlierTry, earlierTry } from "./retry.ts";
import { isRunning } from "./running.ts";
import { type Scene, subjectOf } from "./scene.ts";
import { answerOf, unawaited } from "./strangers.ts";
import type { Permission } from "./tool.ts";

/** What was decided. */
export type Verdict =
  /** It may run; `earlier` is what it would repeat. */
  | { readonly kind: "run"; readonly earlier: EarlierTry | null }
  | {
    readonly kind: "end";
    readonly outcome: ToolOutcome;
    /** Whether reviewers see it: not when a policy broke. */
    readonly isReviewed: boolean;
    /** The barrier that could not be passed; else `null`. */
    readonly refusal: unknown;
  };

/**
 * Decides about a call. Never rejects.
 *
 * @param problem why it could not run even if it may: its arguments are wrong
 *
 * @example
 * ```ts
 * import { decide } from "./decide.ts";
 * import type { Scene } from "./scene.ts";
 *
 * async function mayRun(scene: Scene): Promise<boolean> {
 *   return (await decide(scene, null)).kind === "run";
 * }
 * ```
 */
export async function decide(scene: Scene, problem: ToolOutcome | null): Promise<Verdict> {
  const { hooked, tool, host } = scene;
  const { signal } = host;
  const earlier = await repeated(scene);

  // Policy
  const chain = () =>
    host.hooks.waterfall("tools/pre-execute", [hooked], () => ownDecision(scene, earlier), subjectOf(host));
  const answer = await answerOf(chain, host);
  if (answer.kind === "given-up") return ended(abortedBeforeDispatch());
  if (answer.kind === "failed") return { ...ended(failure(answer.error)), isReviewed: false };
  let decision: PreDecision;
  try {
    decision = checkedDecision(answer.value);
  } catch (error) {
    return { ...ended(failure(error)), isReviewed: false };
  }
  if (decision.kind === "deny") return ended(denial(decision));
  if (decision.kind === "cancel" || signal.aborted) return ended(abortedBeforeDispatch());
  // Nobody is asked about what cannot run.
  if (tool === null) return ended(failureOf(UNKNOWN_TOOL, "UnknownToolError", `there is no tool "${hooked.name}"`));
  if (problem !== null) return ended(problem);

  // Question
  decision = withEarlierTry(decision, hooked.effect, earlier);
  if (decision.kind === "ask") {
    const refused = await ask(scene, decision.reason);
    if (refused !== null) return refused;
  }

  // Guard
  const now = await repeated(scene);
  const reason = await repetitionReason(scene, earlier, now) ?? guardReason(scene);
  if (reason !== null) return ended(failure(new Error(reason)));
  return { kind: "run", earlier: now };
}

type Ended = Extract<Verdict, { kind: "end" }>;

function ended(outcome: ToolOutcome, refusal: unknown = null): Ended {
  return { kind: "end", outcome, isReviewed: true, refusal };
}

/** What this call would repeat. */
async function repeated({ call, hooked, tool, host }: Scene): Promise<EarlierTry | null> {
  const { session } = host;
  if (session === null || tool === null || hooked.effect === "none") return null;
  const sameTool = session.folds.unresolved.effects.filter(({ name }) => name === hooked.name);
  const ended = sameTool.filter((each) => each.isClosed || !isRunning(session, each.callSeq));
  return ended.length === 0 ? null : await earlierTry(ended, hooked.name, await argumentsDigest(call.arguments));
}

/** What the tool itself says. A repetition that a person granted needs no other permission. */
async function ownDecision({ hooked, tool, args }: Scene, earlier: EarlierTry | null): Promise<PreDecision> {
  if (tool === null) return { kind: "allow" };
  const permission: Permission | undefined = await tool.permissionFor(args, hooked.effect);
  switch (permission?.decision) {
    case "allow":
      return { kind: "allow" };
    case "ask":
      return earlier?.isGranted === true ? { kind: "allow" } : { kind: "ask", reason: permission.reason };
    case "deny":
      return { kind: "deny", reason: permission.reason };
    default:
      throw new TypeError("the call was not allowed: the tool did not say whether it may run");
  }
}

/** A listener is a stranger: a decision that is none of the four allows nothing. Each member is read once. */
function checkedDecision(decision: unknown): PreDecision {
  const { kind, reason, info } = decision as {
    kind: unknown;
    reason?: unknown;
    info?: { name: unknown; code: unknown };
  };
  switch (kind) {
    case "allow":
    case "cancel":
      return { kind };
    case "ask":
      return reason === undefined ? { kind } : { kind, reason: String(reason) };
    case "deny":
      return { kind, reason: String(reason ?? REFUSED), ...(info === undefined ? {} : { info: resultError(info) }) };
    default:
      throw new TypeError("the call was not allowed: a policy answered with no decision");
  }
}

function resultError({ name, code }: { name: unknown; code: unknown }) {
  return { name: String(name), code: String(code) };
}

function denial({ reason, info }: Extract<PreDecision, { kind: "deny" }>): ToolOutcome {
  return info === undefined ? failure(new Error(reason)) : failureOf(info.code, info.name, reason);
}

/** A repetition that could be a second effect is asked about, whatever policy says; one that a person granted is not. */
function withEarlierTry(decision: PreDecision, effect: EffectClass, earlier: EarlierTry | null): PreDecision {
  if (earlier === null || earlier.isGranted) return decision;
  if (decision.kind !== "ask" && !needsGrant(effect, earlier)) return decision;
  const found = `an equal earlier call (seq ${earlier.retryOf}) may already have taken effect`;
  const reason = decision.kind === "ask" ? decision.reason : undefined;
  return { kind: "ask", reason: reason === undefined ? found : `${reason}; ${found}` };
}

/** Asks. `null` = allowed. */
async function ask(scene: Scene, reason: string | undefined): Promise<Ended | null> {
  const { call, hooked, host } = scene;
  const { session } = host;
  if (session === null) return ended(failure(new Error(OUTSIDE)));
  const digest = await argumentsDigest(call.arguments);
  const about = { callId: call.callId, callSeq: call.callSeq, argumentsDigest: digest };
  let answer: ApprovalOutcome;
  try {
    answer = await requestApproval(session, { toolName: hooked.name, reason, call: about }, host);
  } catch (error) {
    // A question or an answer that is not on record grants nothing. When it is a barrier that failed, the turn must not go on.
    const said = failure(error);
    return hasCode(error, "CHECKPOINT_FAILED") ? ended(said, error) : ended(said);
  }
  if (answer === "allowed-once") return null;
  if (answer === "cancelled" && host.signal.aborted) return ended(abortedBeforeDispatch());
  return ended(failure(new Error(denialText(answer, reason, scene))));
}

/** Each way of not being allowed reads differently. */
function denialText(
  answer: Exclude<ApprovalOutcome, "allowed-once">,
  reason: string | undefined,
  { host }: Scene,
): string {
  // What was refused comes first: a reason can be long, and whoever shows one line of it must not cut the difference off.
  const needs = reason === undefined ? "it needs approval" : `it needs approval (${reason})`;
  if (answer === "rejected" && effectivePolicy(host.session!, host.policy) === "never") {
    return `the call was not allowed: the approval policy is never to ask, and ${needs}`;
  }
  if (answer === "unavailable" && !canAsk(host)) {
    return `the call was not allowed: nobody could be asked, because no approver is connected, and ${needs}`;
  }
  return DENIALS[answer];
}

const REFUSED = "the call was not allowed";
const OUTSIDE = "the call was not allowed: it needs approval, and outside of a session nobody is asked";

const DENIALS: Readonly<Record<Exclude<ApprovalOutcome, "allowed-once">, string>> = {
  "rejected": "the call was not allowed: the user said no",
  "cancelled": "the call was not allowed: the question was cancelled",
  "unavailable": "the call was not allowed: it needs approval, and nobody could be asked",
};

/** Our own guard. What cannot look into the log does not let pass. */
async function repetitionReason(
  { call, hooked, host }: Scene,
  asked: EarlierTry | null,
  now: EarlierTry | null,
): Promise<string | null> {
  if (host.session === null || now === null) return null;
  const digest = await argumentsDigest(call.arguments);
  const about = { callSeq: call.callSeq, argumentsDigest: digest, effect: hooked.effect, asked, now };
  try {
    return await quarantineReason(host.session, about);
  } catch (error) {
    return `the call was not allowed: whether it may be repeated cannot be read in the log: ${messageOf(error)}`;
  }
}

/** Guards are looked at last and can only deny, so no order of registration can allow anything again. */
function guardReason({ hooked, host }: Scene): string | null {
  for (const guard of host.guards) {
    let reason: unknown;
    try {
      reason = unawaited(guard(hooked) as unknown);
    } catch (error) {
      return `the call was not allowed: a guard failed: ${messageOf(error)}`;
    }
    if (typeof reason === "string") return reason;
    if (reason === undefined) continue;
    return "the call was not allowed: a guard answered with neither a reason nor nothing";
  }
  return null;
}
