/**
 * The agent: its loop, its sessions, its models.
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
export { AgentSession, type TurnOutcome } from "./agent_session.ts";
export { RESPONSE_CHUNKS_MAX, RESPONSE_SIZE_MAX } from "./attempt.ts";
export { INBOX_MESSAGES_MAX } from "./inbox.ts";
export type { AgentStatus, LiveEvent } from "./loop.ts";
export { requestOf, type RequestParameters } from "./request.ts";
export { STEPS_PER_TURN_MAX, TurnCancelled, type TurnReport } from "./turn.ts";
export { WATCHERS_MAX } from "./watchers.ts";
export * from "./models/mod.ts";
