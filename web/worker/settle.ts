/**
 * A person's verdict on an unknown outcome, written once however often it is given: by a second click, or in a second tab.
 *
 * @module
 */
import { type Session, settleByPerson } from "../../mod.ts";
import type { SettleVerdict } from "../protocol.ts";
import { Refusal } from "./wire.ts";

/** How many events at the end of a log are searched for an earlier verdict. */
const VERDICT_SEARCH_EVENTS = 1_000;

/**
 * Writes a verdict, durable when it resolves. The same verdict again writes nothing.
 *
 * @throws {Refusal} `ALREADY_EXISTS` when the call was settled otherwise
 * @throws {NotFoundError} when its outcome is not unknown
 */
export async function settleOnce(
  session: Session,
  found: { readonly callSeq: number; readonly verdict: SettleVerdict; readonly note?: string },
): Promise<void> {
  const { callSeq, verdict } = found;
  const unknown = session.folds.unresolved.effects.find((effect) => effect.callSeq === callSeq);
  if (unknown !== undefined && !(verdict === "retry" && unknown.retryGranted)) {
    await settleByPerson(session, found);
    return;
  }
  const earlier = unknown === undefined ? await verdictInLog(session, callSeq) : verdict;
  if (earlier === null) return void await settleByPerson(session, found); // It says why not.
  if (earlier !== verdict) {
    throw new Refusal("ALREADY_EXISTS", `Cannot settle call ${callSeq}: the verdict was "${earlier}"`);
  }
  await session.flush();
}

/** The newest verdict on a call; `null` when there is none near the end of the log. */
async function verdictInLog(session: Session, callSeq: number): Promise<string | null> {
  let newest: string | null = null;
  for (let next: number | null = Math.max(0, session.nextSeq - VERDICT_SEARCH_EVENTS); next !== null;) {
    const { events, nextFrom } = await session.history({ from: next });
    for (const { type, data } of events) {
      const { callSeq: seq, verdict } = data as { readonly callSeq?: unknown; readonly verdict?: unknown };
      if (type === "effect/reconciled" && seq === callSeq && typeof verdict === "string") newest = verdict;
    }
    next = nextFrom;
  }
  return newest;
}
