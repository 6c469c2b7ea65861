/**
 * Opening a log for writing, and what a refusal means for who writes it.
 *
 * @module
 */
import type { Agent, AgentSession } from "../../mod.ts";
import { LOG_MOVED } from "./log_mark.ts";
import type { WireError } from "../protocol.ts";
import { wireError } from "./wire.ts";

/** How long a new owner waits for the log of the last one to be let go, in milliseconds. */
export const OPEN_WAIT_MS = 3_000;

/** How to open. */
export interface Opening {
  readonly agent: Agent;
  readonly id: string;
  /** Whether the session was made here and nothing was written yet. */
  readonly isUnwritten: boolean;
  readonly isVolatile: boolean;
  /** Breaks off the waiting and the reading. */
  readonly signal: AbortSignal;
}

/** What came of it. */
export type Opened =
  | { readonly kind: "session"; readonly session: AgentSession }
  /** The log is not as it was remembered. */
  | { readonly kind: "moved" }
  /** Something is in the way that may go away: a holder, a full disk, a page that is about to be frozen. */
  | { readonly kind: "held"; readonly reason: string }
  /** It cannot be written. */
  | { readonly kind: "refused"; readonly error: WireError };

/** Opens a log for writing. Never rejects. */
export async function openForWriting({ agent, id, isUnwritten, isVolatile, signal }: Opening): Promise<Opened> {
  try {
    const session = isUnwritten
      ? await agent.create({ id, volatile: isVolatile })
      : await agent.resume(id, { waitMs: OPEN_WAIT_MS, signal, volatile: isVolatile });
    return { kind: "session", session };
  } catch (error) {
    const wire = wireError(error);
    if (wire.code === LOG_MOVED) return { kind: "moved" };
    const mayPass = signal.aborted || wire.code === "LOCK_HELD" || wire.code === "STORAGE_FULL";
    return mayPass ? { kind: "held", reason: wire.message } : { kind: "refused", error: wire };
  }
}
