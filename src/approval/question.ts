/**
 * What is asked, whom, and what whoever answers is told.
 *
 * @module
 */
import type { ApprovalOutcome } from "../event/mod.ts";

/**
 * What whoever answers is told. The arguments are not in it: they are in the durable `tool/call` at `callSeq`, read through
 * the session's history, and `argumentsDigest` says that it is the same text that would run. Frozen.
 */
export interface ApprovalRequest {
  /** Of the question, new each time; also in `approval/asked` and `approval/decided`. */
  readonly id: string;
  /** The session that asks. */
  readonly sessionId: string;
  /** The tool it is about, as the model called it. */
  readonly toolName: string;
  /** The call it is about; absent when it is about none. */
  readonly callId?: string;
  /** Why it is asked, in words. */
  readonly reason?: string;
  /** seq of the `tool/call`; of a nested call, of its `tool/ptc-dispatch-start`. */
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
  /** The tool, as the model called it. */
  readonly toolName: string;
  /** Why it is asked, in words. */
  readonly reason?: string;
  /** The call it is about; absent when it is about none. */
  readonly call?: { readonly callId: string; readonly callSeq: number; readonly argumentsDigest: string };
}
