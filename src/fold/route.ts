/**
 * Which model the last request went to, and with what.
 *
 * @module
 */
import { type EventData, isEvent, type RequestHeader, type SessionEvent } from "../event/mod.ts";
import type { Fold } from "./fold.ts";

/** The last `request/header` and the last `request/context`: whole snapshots, each the last one wins. */
export interface Route {
  /** `null` when no request was ever logged. */
  readonly header: RequestHeader | null;
  /** `null` before the first `request/context`. */
  readonly context: EventData["request/context"] | null;
}

/** Keeps the last `request/header` and `request/context`. */
export const routeFold: Fold<Route> = {
  name: "route",
  version: 1,

  initial: () => ({ header: null, context: null }),

  apply(state: Route, event: SessionEvent): Route {
    if (isEvent(event, "request/header")) return { ...state, header: event.data.header };
    if (isEvent(event, "request/context")) return { ...state, context: event.data };
    return state;
  },
};
