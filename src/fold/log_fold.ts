/**
 * All folds of a log in one: what a session holds in memory instead of its history.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import type { Brackets } from "./bracket_state.ts";
import { bracketsFold } from "./brackets.ts";
import { type Compactions, compactionsFold } from "./compactions.ts";
import { type FirstPrompt, firstPromptFold } from "./first_prompt.ts";
import type { Fold } from "./fold.ts";
import { type Heard, heardFold } from "./heard.ts";
import { type Inbox, inboxFold } from "./inbox.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { type TokenMeter, tokenMeterFold } from "./token_meter.ts";
import { type PendingCalls, pendingCallsFold } from "./pending_calls.ts";
import { type ApprovalPolicy, policyFold } from "./policy.ts";
import { type Route, routeFold } from "./route.ts";
import { type Spilled, spilledFold } from "./spilled.ts";
import { type Surface, surfaceFold } from "./surface.ts";
import { type Unresolved, unresolvedFold } from "./unresolved.ts";

/** Everything derived from a log. */
export interface LogFolds {
  /** The messages the model sees. */
  readonly surface: Surface;
  /** What is open, as the rules for the next event read it. */
  readonly brackets: Brackets;
  /** What is unanswered, with the evidence that repair works from. */
  readonly pendingCalls: PendingCalls;
  /** The same as `pendingCalls.lifecycle`. */
  readonly lifecycle: Lifecycle;
  /** The messages that wait for the next turn or step. */
  readonly inbox: Inbox;
  /** The newest messages that ever came into the inbox. */
  readonly heard: Heard;
  /** The last approval policy the log has set. */
  readonly policy: ApprovalPolicy;
  /** Where the last request went, and with what. */
  readonly route: Route;
  /** How much of the model's window the surface takes. */
  readonly meter: TokenMeter;
  /** How automatic compactions went, and what a person said last. */
  readonly compactions: Compactions;
  /** What the session began with. */
  readonly firstPrompt: FirstPrompt;
  /** The results whose whole text lies in a blob. */
  readonly spilled: Spilled;
  /** The effects whose outcome nobody knows, from every lifecycle. */
  readonly unresolved: Unresolved;
  /** Time of the last event, milliseconds since the epoch; `null` for an empty log. */
  readonly lastTime: number | null;
  /** One more than the seq of the last event; 0 for an empty log. */
  readonly nextSeq: number;
}

/** Applies every fold. Session, verify and repair use this one, so they cannot disagree. */
export const logFold: Fold<LogFolds> = {
  name: "log",
  version: 3,

  initial() {
    const pendingCalls = pendingCallsFold.initial();
    return {
      surface: surfaceFold.initial(),
      brackets: bracketsFold.initial(),
      pendingCalls,
      lifecycle: pendingCalls.lifecycle,
      inbox: inboxFold.initial(),
      heard: heardFold.initial(),
      policy: policyFold.initial(),
      route: routeFold.initial(),
      meter: tokenMeterFold.initial(),
      compactions: compactionsFold.initial(),
      firstPrompt: firstPromptFold.initial(),
      spilled: spilledFold.initial(),
      unresolved: unresolvedFold.initial(),
      lastTime: null,
      nextSeq: 0,
    };
  },

  apply(state: LogFolds, event: SessionEvent): LogFolds {
    const pendingCalls = pendingCallsFold.apply(state.pendingCalls, event);
    return {
      surface: surfaceFold.apply(state.surface, event),
      brackets: bracketsFold.apply(state.brackets, event),
      pendingCalls,
      lifecycle: pendingCalls.lifecycle,
      inbox: inboxFold.apply(state.inbox, event),
      heard: heardFold.apply(state.heard, event),
      policy: policyFold.apply(state.policy, event),
      route: routeFold.apply(state.route, event),
      meter: tokenMeterFold.apply(state.meter, event),
      compactions: compactionsFold.apply(state.compactions, event),
      firstPrompt: firstPromptFold.apply(state.firstPrompt, event),
      spilled: spilledFold.apply(state.spilled, event),
      unresolved: unresolvedFold.apply(state.unresolved, event),
      lastTime: event.time,
      nextSeq: event.seq + 1,
    };
  },
};

/**
 * Folds events, from a given state or from the beginning.
 *
 * @example
 * ```ts
 * import { foldEvents, logFold } from "./log_fold.ts";
 *
 * const folds = foldEvents(logFold, [{ type: "turn/start", seq: 0, time: 1, data: { turn: 1 } }]);
 * if (folds.brackets.turn !== 1 || folds.nextSeq !== 1) throw new Error("unreachable");
 * ```
 */
export function foldEvents<State>(
  fold: Fold<State>,
  events: Iterable<SessionEvent>,
  from: State = fold.initial(),
): State {
  let state = from;
  for (const event of events) state = fold.apply(state, event);
  return state;
}
