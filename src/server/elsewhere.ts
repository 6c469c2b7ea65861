/**
 * Sessions that another process writes: what is asked of them goes through the table of commands.
 *
 * Only a store that many processes share has such a table. What is posted there is durable, and its key makes a repeat the same command; the
 * process that writes the session claims it in the transaction that makes its events durable.
 *
 * @module
 */
import { type Clock, hasCode } from "../../mod.ts";
import type { Command, CommandDraft, SharedStore } from "../entry/shared_store.ts";
import type { HostedSession } from "./hosted_session.ts";
import type { HostedSessions } from "./hosted_sessions.ts";
import { ANSWER_MS_MAX, ANSWER_POLL_MS } from "./limits.ts";
import { Refusal } from "./problem.ts";

/** What an {@linkcode Elsewhere} is made from. */
export interface ElsewhereParts {
  readonly shared: SharedStore;
  readonly sessions: HostedSessions;
  readonly clock: Clock;
}

/**
 * Asks whoever writes a session.
 *
 * @example
 * ```ts
 * import type { Elsewhere } from "./elsewhere.ts";
 *
 * async function cancel(elsewhere: Elsewhere, id: string, key: string): Promise<string> {
 *   return (await elsewhere.ask(id, { key, kind: "cancel", body: {} })).state;
 * }
 * ```
 */
export class Elsewhere {
  readonly #parts: ElsewhereParts;

  constructor(parts: ElsewhereParts) {
    this.#parts = parts;
  }

  /**
   * Posts a command and waits until whoever writes the session has claimed it.
   *
   * @returns the command, which is not pending any more
   * @throws {NotFoundError} when there is no such session
   * @throws {Refusal} 422 when the key came with another command before; 503 when nobody claims it in time: it stays posted
   */
  async ask(id: string, draft: CommandDraft): Promise<Command & { readonly isRepeated: boolean }> {
    const { shared: { commands }, clock } = this.#parts;
    const startedAt = clock.now();
    const { command, isRepeated, isSame } = await commands.post(id, draft, startedAt);
    if (!isSame) {
      throw new Refusal(
        422,
        "IDEMPOTENCY_MISMATCH",
        `Cannot send to session "${id}": this Idempotency-Key came with another body before`,
      );
    }
    let found: Command | null = command;
    while (found?.state === "pending") {
      if (clock.now() - startedAt >= ANSWER_MS_MAX) {
        throw new Refusal(503, "NOT_CLAIMED", `Cannot tell yet what became of it: nobody writes session "${id}" now`);
      }
      await new Promise<void>((resolve) => void clock.schedule(ANSWER_POLL_MS, resolve));
      found = await commands.get(id, draft.key);
    }
    if (found === null) throw new Refusal(404, "NOT_FOUND", `Cannot find session "${id}": it was deleted meanwhile`);
    return { ...found, isRepeated };
  }
}

/**
 * Works with a session here, when it can be had here.
 *
 * @param elsewhere `null` for a store of this process alone: then what keeps it from being had is thrown
 * @returns what the work gave; `null` when another process writes the session
 *
 * @example
 * ```ts
 * import { here } from "./elsewhere.ts";
 * import type { HostedSessions } from "./hosted_sessions.ts";
 *
 * async function isOurs(sessions: HostedSessions, id: string): Promise<boolean> {
 *   return await here(sessions, null, id, () => true) !== null;
 * }
 * ```
 */
export async function here<Result>(
  sessions: HostedSessions,
  elsewhere: Elsewhere | null,
  id: string,
  work: (hosted: HostedSession) => Promise<Result> | Result,
): Promise<{ readonly result: Result } | null> {
  try {
    return { result: await sessions.use(id, work) };
  } catch (error) {
    if (elsewhere !== null && isAnothersNow(error)) return null;
    throw error;
  }
}

/** Whether an error says that another process writes the session, or took it over meanwhile. */
export function isAnothersNow(error: unknown): boolean {
  return hasCode(error, "LOCK_HELD") || hasCode(error, "FENCED");
}
