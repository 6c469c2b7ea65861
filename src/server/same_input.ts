/**
 * Whether an input that was heard before is the one that is sent again.
 *
 * @module
 */
import { type AgentSession, isEvent } from "../../mod.ts";
import { Refusal } from "./problem.ts";
import type { Input } from "./schemas.ts";

/**
 * Refuses an input whose key came with another one before: a key stands for one input, whatever happened since.
 *
 * @param seq of the event that brought the first
 * @throws {Refusal}
 *
 * @example
 * ```ts
 * import type { AgentSession } from "../../mod.ts";
 * import { checkSame } from "./same_input.ts";
 *
 * async function isSame(agent: AgentSession, seq: number, text: string): Promise<boolean> {
 *   return await checkSame(agent, seq, { id: "m", text, mode: "followup" }).then(() => true, () => false);
 * }
 * ```
 */
export async function checkSame(
  { id: sessionId, session }: AgentSession,
  seq: number,
  { id, text, mode }: { readonly id: string; readonly text: string; readonly mode: NonNullable<Input["mode"]> },
): Promise<void> {
  const { events: [event] } = await session.history({ from: seq, limit: 1 });
  if (event === undefined || !isEvent(event, "agent/inbox/spliced")) throw new Error(`seq ${seq} is no inbox event`);
  const { inserted, target } = event.data;
  const block = inserted.find((message) => message.id === id)?.content[0];
  const isSameText = block?.type === "text" && (block as { readonly text?: unknown }).text === text;
  // What was meant for the next step of a turn that was being cancelled waits for the next turn.
  const isSameMode = mode === "steer" || target === (mode === "followup" ? "next-turn" : "next-step");
  if (isSameText && isSameMode) return;
  throw new Refusal(
    422,
    "IDEMPOTENCY_MISMATCH",
    `Cannot send to session "${sessionId}": this Idempotency-Key came with another body before`,
  );
}
