/**
 * One session that the server has open for writing.
 *
 * @module
 */
import type { AgentSession } from "../../mod.ts";

/** An open session, with what decides whether it may be closed. */
export interface HostedSession {
  readonly id: string;
  readonly agent: AgentSession;
  /** How many requests work with it now. While there is one it is not closed. */
  pins: number;
  /** When it was used last, in milliseconds since the epoch. */
  usedAt: number;
}

/**
 * Whether nobody would miss it: no turn runs and no request works with it.
 *
 * @example
 * ```ts
 * import type { HostedSession } from "./hosted_session.ts";
 * import { isIdle } from "./hosted_session.ts";
 *
 * function closable(all: readonly HostedSession[]): readonly HostedSession[] {
 *   return all.filter(isIdle);
 * }
 * ```
 */
export function isIdle({ agent, pins }: HostedSession): boolean {
  return pins === 0 && agent.status === "idle";
}
