/**
 * A fold: derived state, computed from events and from nothing else.
 *
 * Replay, live appends, repair, snapshots and tests use the same function, so they cannot disagree.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";

/**
 * A pure, versioned, serialisable reduction over a log.
 *
 * `apply` never changes the state it is given; it may share structure with it. The state is lossless JSON.
 */
export interface Fold<State> {
  /** Which fold it is, in snake_case: "pending_calls". */
  readonly name: string;
  /** Raised whenever the same events would give another state. */
  readonly version: number;
  /** The state of an empty log. */
  initial(): State;
  /** The state after one more event, whose shape was checked before. Never throws. */
  apply(state: State, event: SessionEvent): State;
}
