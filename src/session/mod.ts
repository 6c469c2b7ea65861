/**
 * Sessions: start, open, read, fork, and settle what is unknown.
 *
 * @module
 */
export { copyBlobs, type LostBlob, namedBlobs } from "./copy_blobs.ts";
export { createSession, type CreateSessionOptions, ID_TRIES_MAX } from "./create.ts";
export {
  FORK_BATCH_EVENTS_MAX,
  FORK_BATCH_SIZE_MAX,
  type Forked,
  forkSession,
  type ForkSessionOptions,
} from "./fork.ts";
export { type CallEvidence, callEvidence, type Proof } from "./evidence.ts";
export { newSessionId } from "./id.ts";
export { openSession, type OpenSessionOptions, type Resumed } from "./open.ts";
export { OBSERVERS_MAX, type SessionProblem } from "./observers.ts";
export { BARRIER_POLICY } from "./own_events.ts";
export { readSession, type SessionReading } from "./read.ts";
export {
  type Lookup,
  type Reconcile,
  RECONCILE_EFFECTS_MAX,
  RECONCILE_TIMEOUT_MS,
  type ReconcileOptions,
} from "./reconcile.ts";
export * from "./repair.ts";
export { PAGE_EVENTS_DEFAULT, Session, type SessionParts, type SessionSettings } from "./session.ts";
export { SURFACE_TOKENS_MAX } from "./surface_size.ts";
export { type Finding, owedNotices, settleByPerson, verdictDrafts } from "./verdict.ts";
export { type BarrierBegun, type ProbeEnd, Probes, PROBES_MAX, type SessionProbe, type WriteBegun } from "./probes.ts";
