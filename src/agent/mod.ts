/**
 * The agent: its loop, its sessions, its hooks, its models.
 *
 * @module
 */
export {
  type Agent,
  type AgentCreateOptions,
  type AgentOptions,
  type AgentResumeOptions,
  createAgent,
} from "./agent.ts";
export { AgentSession } from "./agent_session.ts";
export { ATTEMPTS_PER_STEP_MAX } from "./ask_model.ts";
export type { CompactOptions } from "./compact_manual.ts";
export { FRESH_SHARE_MIN } from "./compact_pressure.ts";
export { pastSummaryRequests } from "./compact_summary.ts";
export { RESPONSE_CHUNKS_MAX, RESPONSE_SIZE_MAX } from "./attempt.ts";
export { TurnCancelled } from "./failure.ts";
export type {
  AgentHooks,
  AgentStatus,
  Assembly,
  CallConfig,
  LoopAgent,
  LoopHooks,
  LoopPlace,
  MessageOptions,
  ProposedStep,
  RecoveryAction,
  RequestFailure,
  StepDecision,
  StreamPlace,
} from "./hooks.ts";
export { INBOX_MESSAGES_MAX } from "./inbox.ts";
export type { LiveEvent, WarningCode } from "./loop.ts";
export { NO_RESULT_TEXT, pairedMessages } from "./paired_messages.ts";
export { type PastRequest, pastRequests, requestOf, type RequestParameters } from "./request.ts";
export { installRetryPolicy, RETRY_CODES, type RetryPolicyOptions } from "./retry_policy.ts";
export { APPROVAL_POLICY_ORDER, type ContextSection } from "./runtime_context.ts";
export { PARALLEL_TOOL_CALLS_MAX } from "./schedule_calls.ts";
export type { TurnOutcome } from "./senders.ts";
export { STEPS_PER_TURN_MAX, type TurnReport } from "./turn.ts";
export { WATCHERS_MAX } from "./watchers.ts";
export * from "./models/mod.ts";
