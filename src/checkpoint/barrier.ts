/**
 * The barriers: what waits until the log is known to be durable.
 *
 * A barrier asks for an acknowledgement ("durable through seq n"), not for somebody who listened. No acknowledgement, and
 * what waits behind it does not run.
 *
 * @see architecture P5; execution §4
 * @module
 */
import { CheckpointFailedError } from "../errors.ts";
import type { BarrierName, EffectClass } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";

/** What a barrier waits for. */
export interface BarrierOptions {
  /** The stage that waits. It names the barrier in errors and decides the default of `effect`. */
  readonly barrier: BarrierName;
  /** The last event that must be durable. */
  readonly throughSeq: number;
  /** What the body behind the barrier may do. Default: "opaque" for a tool, "none" for everything else. */
  readonly effect?: EffectClass;
  /** Ends the waiting. The flush goes on, which harms nothing. */
  readonly signal?: AbortSignal;
}

/**
 * Waits until the session is durable through a seq.
 *
 * On a medium that promises nothing (`traits.sync` is "none") nothing with an effect passes, unless the session was opened
 * with `volatile: true`.
 *
 * @returns the last durable seq, at least `throughSeq`
 * @throws {CheckpointFailedError} when there is no acknowledgement; `cause` says why: a full disk has code `STORAGE_FULL`
 * @throws the signal's reason when it is aborted before the barrier is passed, also when the flush then succeeds or hangs
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { passBarrier } from "./barrier.ts";
 *
 * async function beforeBody(session: Session, markerSeq: number, signal: AbortSignal): Promise<void> {
 *   await passBarrier(session, { barrier: "tool", throughSeq: markerSeq, effect: "opaque", signal });
 * }
 * ```
 */
export async function passBarrier(session: Session, options: BarrierOptions): Promise<number> {
  const { barrier, throughSeq } = options;
  const effect = options.effect ?? (barrier === "tool" ? "opaque" : "none");
  const end = session.probes.beginBarrier({ barrier, throughSeq, effect });
  try {
    const durableSeq = await pass(session, { ...options, effect });
    end(null);
    return durableSeq;
  } catch (error) {
    end(error);
    throw error;
  }
}

async function pass(session: Session, options: BarrierOptions & { readonly effect: EffectClass }): Promise<number> {
  const { barrier, throughSeq, effect, signal } = options;
  signal?.throwIfAborted();
  if (session.traits.sync === "none" && effect !== "none" && !session.isVolatile) {
    const found = `"${session.traits.medium}" keeps no promise to be durable and the effect is ${effect}`;
    throw refusal(session, barrier, `${found}; open the session with volatile: true to run it anyway`);
  }

  let durableSeq: number;
  try {
    durableSeq = await session.flush({ signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw refusal(session, barrier, `events through ${throughSeq} are not durable: ${describe(error)}`, error);
  }
  signal?.throwIfAborted();
  if (!(durableSeq >= throughSeq)) {
    throw refusal(session, barrier, `the store acknowledged seq ${durableSeq}, wanted ${throughSeq}`);
  }
  return durableSeq;
}

function refusal(session: Session, barrier: BarrierName, found: string, cause?: unknown): CheckpointFailedError {
  return new CheckpointFailedError(`Cannot pass the ${barrier} barrier of session "${session.id}": ${found}`, {
    cause,
  });
}

/** The cause in a person's words, its code first: what can be done about it depends on the code. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? `${error.code}: ${error.message}` : error.message;
}
