/**
 * The last look before a call may repeat an effect whose outcome is unknown and whose target cannot tell a repetition.
 *
 * A policy asks first; this guard comes last and can only deny. It does not believe the policy: it looks for the grant in the log,
 * and whether what a person was asked about is still all there is to ask about.
 *
 * @see architecture "Crash classes", Retry; rulings 3, 4
 * @module
 */
import { type EffectClass, isEvent } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";
import type { EarlierTry } from "./retry.ts";

/** How many events of a call are looked through for its grant. Between intent and answer stand a handful. */
export const GRANT_EVENTS_MAX = 10_000;

/** What a call would repeat, and who it is. */
export interface Quarantined {
  /** seq of its own `tool/call` or `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** Of its arguments. */
  readonly argumentsDigest: string;
  /** What it may do to the world. */
  readonly effect: EffectClass;
  /** What it would have repeated when policy looked. */
  readonly asked: EarlierTry | null;
  /** What it would repeat now. */
  readonly now: EarlierTry | null;
}

/**
 * Whether a repetition has to be asked about whatever policy says: it could be a second effect.
 *
 * @example
 * ```ts
 * import { needsGrant } from "./quarantine.ts";
 *
 * const earlier = { retryOf: 5, newestSeq: 5, effectKey: "k", isOpaque: true, isGranted: false };
 * if (!needsGrant("opaque", earlier) || needsGrant("opaque", null)) throw new Error("unreachable");
 * ```
 */
export function needsGrant(effect: EffectClass, earlier: EarlierTry | null): earlier is EarlierTry {
  return earlier !== null && !earlier.isGranted && (effect === "opaque" || earlier.isOpaque);
}

/**
 * Why a call must not run; `null` when nothing forbids it.
 *
 * @throws whatever refused the reading of the log
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { quarantineReason } from "./quarantine.ts";
 *
 * async function isFree(session: Session, callSeq: number, argumentsDigest: string): Promise<boolean> {
 *   const call = { callSeq, argumentsDigest, effect: "opaque", asked: null, now: null } as const;
 *   return await quarantineReason(session, call) === null;
 * }
 * ```
 */
export async function quarantineReason(session: Session, call: Quarantined): Promise<string | null> {
  const { asked, now } = call;
  if (!needsGrant(call.effect, now)) return null;
  if (asked?.newestSeq !== now.newestSeq) {
    return `${REFUSED}: while it was decided about, the equal call at seq ${now.newestSeq} ended, and whether that one took ` +
      "effect is unknown. Check first; if this one is still needed, call it again, and a person is asked";
  }
  if (await hasLoggedGrant(session, call)) return null;
  return `${REFUSED}: an equal earlier call (seq ${now.retryOf}) may already have taken effect, and no answer of a person that ` +
    "allows a repetition is on record";
}

const REFUSED = "the call was not allowed";

/** Whether the log holds a question about exactly this call and these arguments, answered with yes. */
async function hasLoggedGrant(session: Session, { callSeq, argumentsDigest }: Quarantined): Promise<boolean> {
  const questions = new Set<string>();
  for (let from = callSeq; from < callSeq + GRANT_EVENTS_MAX;) {
    const { events, nextFrom } = await session.history({ from });
    for (const event of events) {
      if (isEvent(event, "approval/bound")) {
        const { id, callSeq: about, argumentsDigest: digest } = event.data;
        if (about === callSeq && digest === argumentsDigest) questions.add(id);
      } else if (isEvent(event, "approval/decided") && questions.has(event.data.id)) {
        if (event.data.outcome === "allowed-once") return true;
      }
    }
    if (nextFrom === null) break;
    from = nextFrom;
  }
  return false;
}
