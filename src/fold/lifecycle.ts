/**
 * The lifecycle a log is in, and whether its barriers are known to have been kept.
 *
 * A lifecycle is the events from one `session/end-seed` (or seq 0) up to the next: what one process wrote. "Not dispatched"
 * can be proved only when that process is known to have put a marker and a barrier before every body.
 *
 * @module
 */
import { isEvent, type SessionEvent } from "../event/mod.ts";
import type { Fold } from "./fold.ts";

/** The newest lifecycle of a log. */
export interface Lifecycle {
  /** seq of the `session/end-seed` it begins with; 0 for the first one. */
  readonly startSeq: number;
  /** Whether a `checkpoint/policy` before the first turn promises the tool barrier and the marker. */
  readonly barriersOn: boolean;
  /** Whether a turn has begun in it. From then on a policy says nothing about what was done before, so it does not count. */
  readonly sawTurnStart: boolean;
  /** Whether `log/salvaged` lies in it: rows may be missing, so nothing that is absent from the log proves anything. */
  readonly salvaged: boolean;
}

/** Follows `session/end-seed`, `checkpoint/policy`, `turn/start` and `log/salvaged`. */
export const lifecycleFold: Fold<Lifecycle> = {
  name: "lifecycle",
  version: 1,

  initial: () => ({ startSeq: 0, barriersOn: false, sawTurnStart: false, salvaged: false }),

  apply(state: Lifecycle, event: SessionEvent): Lifecycle {
    if (isEvent(event, "session/end-seed")) return { ...lifecycleFold.initial(), startSeq: event.seq };
    if (isEvent(event, "log/salvaged")) return { ...state, barriersOn: false, salvaged: true };
    if (isEvent(event, "turn/start") && !state.sawTurnStart) return { ...state, sawTurnStart: true };
    if (isEvent(event, "checkpoint/policy") && !state.sawTurnStart && !state.salvaged) {
      const { barriers, marker } = event.data;
      return { ...state, barriersOn: barriers.includes("tool") && marker };
    }
    return state;
  },
};
