/**
 * One question to a person: asked once, answered once, and on the record before it is shown and before it counts.
 *
 * @see execution §5; architecture P5
 * @module
 */
import { passBarrier } from "../checkpoint/mod.ts";
import type { ApprovalOutcome } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";
import { untilAborted } from "../writer/until_aborted.ts";

/**
 * What whoever answers is told. The arguments are not in it: they are in the durable `tool/call` at `callSeq`, read through
 * the session's history, and `argumentsDigest` says that it is the same text that would run.
 */
export interface ApprovalRequest {
  readonly id: string;
  readonly sessionId: string;
  readonly toolName: string;
  readonly callId?: string;
  readonly reason?: string;
  readonly callSeq?: number;
  /** SHA-256 of the canonical arguments, 64 lower-case hex digits; also in the log, as `approval/bound`. */
  readonly argumentsDigest?: string;
}

/**
 * Answers a question, or passes it on to the next approver with `undefined`.
 *
 * One that throws, or answers something else, makes the outcome "unavailable". `signal` aborts when the turn is cancelled;
 * a later answer is dropped.
 */
export type Approver = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalOutcome | undefined | Promise<ApprovalOutcome | undefined>;

/** What is asked about. */
export interface Question {
  readonly toolName: string;
  readonly reason?: string;
  /** The call it is about; absent when it is about none. */
  readonly call?: { readonly callId: string; readonly callSeq: number; readonly argumentsDigest: string };
}

/** Who is asked, and how. */
export interface ApprovalOptions {
  /** In this order; the first that answers decides. */
  readonly approvers: readonly Approver[];
  /** What applies while the log sets no policy. */
  readonly policy: "ask" | "never";
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

  const outcome = decidedOnRecord(session, request, await answerTo(request, options));
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
  if ((session.folds.policy.policy ?? options.policy) === "never") return "rejected";
  return options.approvers.length === 0 ? "unavailable" : null;
}

async function answerTo(request: ApprovalRequest, { approvers, signal }: ApprovalOptions): Promise<ApprovalOutcome> {
  for (const approver of approvers) {
    let answer: ApprovalOutcome | undefined;
    try {
      answer = await untilAborted(Promise.resolve(approver(request, signal)), signal);
    } catch {
      return signal.aborted ? "cancelled" : "unavailable";
    }
    if (answer !== undefined) return OUTCOMES.includes(answer) ? answer : "unavailable";
  }
  return "unavailable";
}
