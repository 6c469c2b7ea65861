/**
 * One question to a person: asked once, answered once, and on the record before it is shown and before it counts.
 *
 * @see execution §5; architecture P5
 * @module
 */
import { passBarrier } from "../checkpoint/mod.ts";
import type { ApprovalOutcome } from "../event/mod.ts";
import type { Hooks } from "../hooks/mod.ts";
import type { Session } from "../session/mod.ts";
import { untilAborted } from "../writer/until_aborted.ts";
import type { ApprovalHooks } from "./hooks.ts";
import { effectivePolicy } from "./policy.ts";
import type { ApprovalRequest, Approver, Question } from "./question.ts";

/** Who is asked, and how. */
export interface ApprovalOptions {
  /** In this order; the first that answers decides. They stand behind whoever listens to `approval/request`. */
  readonly approvers: readonly Approver[];
  /** Dispatched about the session. Default: nobody listens. */
  readonly hooks?: Hooks<ApprovalHooks>;
  /** What applies while the log sets no policy. */
  readonly policy: "ask" | "never";
  /** Aborts when the turn is cancelled, and closes the question. */
  readonly signal: AbortSignal;
}

const OUTCOMES: readonly unknown[] = ["allowed-once", "rejected", "cancelled", "unavailable"];

/**
 * Asks one question inside the open turn.
 *
 * The question is shown only when `approval/asked` is durable, and the answer is returned only when `approval/decided` is.
 * Nobody is asked under the policy "never" (rejected), when the signal is aborted (cancelled) or when there is no approver
 * (unavailable). A cancelled signal ends the waiting at once.
 *
 * @throws {TypeError} when no turn is open; nothing was appended
 * @throws {CheckpointFailedError} when question or answer could not be made durable; the pair is complete, and nothing is granted
 * @throws whatever refused an append; nothing is granted
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { requestApproval } from "./request.ts";
 *
 * async function mayPay(session: Session, signal: AbortSignal): Promise<boolean> {
 *   const options = { approvers: [() => "rejected" as const], policy: "ask" as const, signal };
 *   return await requestApproval(session, { toolName: "pay", reason: "10 to alice" }, options) === "allowed-once";
 * }
 * ```
 */
export async function requestApproval(
  session: Session,
  question: Question,
  options: ApprovalOptions,
): Promise<ApprovalOutcome> {
  const { signal } = options;
  const request = askedOnRecord(session, question);

  const known = outcomeWithoutAsking(session, options);
  if (known !== null) return decidedOnRecord(session, request, known);

  try {
    await passBarrier(session, { barrier: "question", throughSeq: session.nextSeq - 1, signal });
  } catch (error) {
    decidedOnRecord(session, request, signal.aborted ? "cancelled" : "unavailable");
    if (signal.aborted) return "cancelled";
    throw error;
  }

  const outcome = decidedOnRecord(session, request, await answerTo(session, request, options));
  // Cancelled while the answer was given: the caller sees its own signal and starts nothing.
  if (signal.aborted) return outcome;
  try {
    await passBarrier(session, { barrier: "question", throughSeq: session.nextSeq - 1, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return outcome;
}

function askedOnRecord(session: Session, { toolName, reason, call }: Question): ApprovalRequest {
  const id = Array.from(session.random.bytes(16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const callId = call === undefined ? {} : { callId: call.callId };
  const asked = { id, toolName, ...callId, ...(reason === undefined ? {} : { reason }) };
  session.append({ type: "approval/asked", data: asked });
  if (call === undefined) return Object.freeze({ ...asked, sessionId: session.id });
  const { callSeq, argumentsDigest } = call;
  session.append({ type: "approval/bound", data: { id, callSeq, argumentsDigest }, ignorable: true });
  return Object.freeze({ ...asked, sessionId: session.id, callSeq, argumentsDigest });
}

/** There is never an unlogged grant: what is returned is what the log took. */
function decidedOnRecord(session: Session, { id }: ApprovalRequest, outcome: ApprovalOutcome): ApprovalOutcome {
  session.append({ type: "approval/decided", data: { id, outcome } });
  return outcome;
}

function outcomeWithoutAsking(session: Session, options: ApprovalOptions): ApprovalOutcome | null {
  if (options.signal.aborted) return "cancelled";
  if (effectivePolicy(session, options.policy) === "never") return "rejected";
  return canAsk(options) ? null : "unavailable";
}

/**
 * Whether there is anybody who could be asked.
 *
 * @example
 * ```ts
 * import { canAsk } from "./request.ts";
 *
 * if (canAsk({ approvers: [] })) throw new Error("unreachable");
 * ```
 */
export function canAsk({ approvers, hooks }: Pick<ApprovalOptions, "approvers" | "hooks">): boolean {
  return approvers.length > 0 || (hooks?.count("approval/request") ?? 0) > 0;
}

async function answerTo(
  session: Session,
  request: ApprovalRequest,
  options: ApprovalOptions,
): Promise<ApprovalOutcome> {
  const { approvers, hooks, signal } = options;
  let isOpen = true;
  // A listener that goes on late must not show anybody a question that is answered.
  const askApprovers = () => isOpen ? answerOfApprovers(request, approvers, signal) : "cancelled";
  // An async function turns a listener that throws at once into one that rejects.
  const asked =
    (async () =>
      hooks === undefined
        ? await askApprovers()
        : await hooks.waterfall("approval/request", [request, signal], askApprovers, { subject: session }))();
  let answer: unknown;
  try {
    answer = await untilAborted(asked, signal);
  } catch {
    return signal.aborted ? "cancelled" : "unavailable";
  } finally {
    isOpen = false;
  }
  return OUTCOMES.includes(answer) ? answer as ApprovalOutcome : "unavailable";
}

async function answerOfApprovers(
  request: ApprovalRequest,
  approvers: readonly Approver[],
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  for (const approver of approvers) {
    const answer = await approver(request, signal);
    if (answer !== undefined) return answer;
    if (signal.aborted) return "cancelled";
  }
  return "unavailable";
}
