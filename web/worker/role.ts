/**
 * Who writes a session: the decisions of one tab, as a pure function of what it has seen.
 *
 * One tab of the origin holds the tab lock of a session and writes its log; the others view it and stand in line for the lock. A
 * tab that was hidden for a while, or is about to be frozen, gives everything back, because a frozen tab cannot be made to let
 * go. What was given back for idleness is taken only by a tab that is looked at or has something to write: hidden tabs would
 * otherwise hand a session to each other for ever, and every hand-over writes to the log.
 *
 * @module
 */
import type { LogFault } from "../../mod.ts";
import type { Role, WireError } from "../protocol.ts";

/** How long an owner may be silent, in milliseconds, before it counts as frozen. It speaks every BEAT_MS. */
export const STUCK_AFTER_MS = 1_500;
/** How often an owner tells the others that it is alive, in milliseconds. */
export const BEAT_MS = 500;
/** How often in a row an open session may break before this tab stops trying. */
export const BREAKS_MAX = 3;

/** What is known of the tab that writes. */
export interface KnownOwner {
  readonly tab: string;
  readonly label: string;
  /** When it last spoke. */
  readonly heardMs: number;
}

/** What one tab knows about who writes one session. */
export interface RoomState {
  /**
   * `viewing`: does not hold the tab lock. `opening`: holds it, and opens the log. `owning`: writes. `releasing`: gives back.
   * `read-only`: the log cannot be written by anybody.
   */
  readonly phase: "viewing" | "opening" | "owning" | "releasing" | "read-only";
  /** Whether a request of ours for the tab lock waits. Only while viewing. */
  readonly isInLine: boolean;
  /** `null` when nobody is known to write. */
  readonly owner: KnownOwner | null;
  /** Whether the last owner let go because nobody looked and nothing ran: then only who is looked at, or has input, takes it. */
  readonly wasReleased: boolean;
  /** Whether the log was taken in and is still as it came. It stays so until somebody has input for it. */
  readonly isUntouched: boolean;
  readonly page: "visible" | "hidden" | "frozen";
  /** Whether something waits here to be written. */
  readonly isWanted: boolean;
  /** Why it cannot be written; only while read-only. */
  readonly fault: LogFault | WireError | null;
  /** Why the log could not be opened although the tab lock is ours, in words; `null` when nothing is wrong. */
  readonly obstacle: string | null;
  /** How often in a row the open session broke. */
  readonly breaks: number;
}

/** What a tab sees. */
export type RoomEvent =
  | { readonly kind: "page"; readonly state: "visible" | "hidden" | "freeze" | "resume" | "pagehide" }
  /** An input waits here. */
  | { readonly kind: "wanted" }
  /** Nothing waits here any more. */
  | { readonly kind: "satisfied" }
  /** The tab lock is ours. */
  | { readonly kind: "granted" }
  | { readonly kind: "opened" }
  /** The log is not as it was remembered: it must be read before it is written. */
  | { readonly kind: "moved" }
  /** Something holds the log although the tab lock is ours. */
  | { readonly kind: "held"; readonly reason: string }
  | { readonly kind: "refused"; readonly fault: LogFault | WireError }
  /** The session that was open takes nothing any more. */
  | { readonly kind: "broken"; readonly fault: WireError }
  /** Something became durable: whatever was wrong is over. */
  | { readonly kind: "wrote" }
  /** Hidden, and nothing runs, for long enough. */
  | { readonly kind: "idle" }
  /** Everything was given back. */
  | { readonly kind: "released" }
  /** An owner spoke. */
  | { readonly kind: "beat"; readonly tab: string; readonly label: string; readonly nowMs: number }
  /** An owner said that it let go; `isIdle` when it did so only because it was hidden and idle. */
  | { readonly kind: "goodbye"; readonly tab: string; readonly isIdle: boolean };

/** What is to be done. */
export type RoomAction =
  /** Stand in line for the tab lock. */
  | "stand-in-line"
  | "leave-line"
  /** Open the log for writing. */
  | "open"
  /** Drop what is only believed, and read the log anew. */
  | "reread"
  /** Open again, after a pause. */
  | "open-later"
  /** Break off the opening: it ends as `held`. */
  | "stop-opening"
  /** Give the tab lock back without having opened anything. */
  | "give-back"
  /** Flush, close the log, say goodbye, give the tab lock back. */
  | "release"
  /** The same, and whoever is hidden too shall not take it. */
  | "release-idle";

/** What follows from an event. */
export interface RoomStep {
  readonly state: RoomState;
  readonly actions: readonly RoomAction[];
}

/** A tab that has just come, and found the lock taken. */
export function newRoomState(page: RoomState["page"], nowMs: number): RoomState {
  return {
    phase: "viewing",
    isInLine: false,
    // Somebody holds the lock and will speak soon, or is frozen.
    owner: { tab: "", label: "another tab", heardMs: nowMs },
    wasReleased: false,
    isUntouched: false,
    page,
    isWanted: false,
    fault: null,
    obstacle: null,
    breaks: 0,
  };
}

/** Decides. */
export function nextRole(state: RoomState, event: RoomEvent): RoomStep {
  switch (event.kind) {
    case "page":
      return onPage(state, event.state);
    case "wanted":
      return lineUp({ ...state, isWanted: true });
    case "satisfied":
      return stay({ ...state, isWanted: false });
    case "granted":
      return onGranted({ ...state, isInLine: false });
    case "opened":
      return onOpened({
        ...state,
        phase: "owning",
        owner: null,
        wasReleased: false,
        isUntouched: false,
        obstacle: null,
      });
    case "moved":
      return state.phase === "opening" ? { state, actions: ["reread", "open"] } : stay(state);
    case "held":
      return onHeld(state, event.reason);
    case "refused":
      return onRefused(state, event.fault);
    case "broken":
      return onBroken(state, event.fault);
    case "wrote":
      return stay({ ...state, breaks: 0 });
    case "idle":
      return onIdle(state);
    case "released":
      return onReleased(state);
    case "beat":
      return onBeat(state, { tab: event.tab, label: event.label, heardMs: event.nowMs });
    case "goodbye":
      return onGoodbye(state, event.tab, event.isIdle);
  }
}

/** How the state reads for a person. */
export function roleOf(state: RoomState, nowMs: number): Role {
  const { phase, owner, fault, obstacle } = state;
  if (phase === "read-only") return { kind: "read-only", fault: fault! };
  if (phase === "owning" || phase === "releasing") return { kind: "owner" };
  if (obstacle !== null) return { kind: "stuck", ownerLabel: owner?.label ?? "another tab", reason: obstacle };
  if (owner === null) return state.wasReleased ? { kind: "released" } : { kind: "viewer", ownerLabel: "another tab" };
  if (phase === "opening" || nowMs - owner.heardMs < STUCK_AFTER_MS) return { kind: "viewer", ownerLabel: owner.label };
  const reason =
    `"${owner.label}" writes this session and does not answer: the browser froze it. Wake or close that tab.`;
  return { kind: "stuck", ownerLabel: owner.label, reason };
}

function stay(state: RoomState): RoomStep {
  return { state, actions: [] };
}

function release(state: RoomState): RoomStep {
  return { state: { ...state, phase: "releasing" }, actions: ["release"] };
}

/** Whether a tab that does not own wants to. */
function wantsToOwn({ page, wasReleased, isUntouched, isWanted }: RoomState): boolean {
  return page !== "frozen" && (isWanted || (!isUntouched && (page === "visible" || !wasReleased)));
}

function lineUp(state: RoomState): RoomStep {
  if (state.phase !== "viewing" || state.isInLine || !wantsToOwn(state)) return stay(state);
  return { state: { ...state, isInLine: true }, actions: ["stand-in-line"] };
}

function leaveLine(state: RoomState): RoomStep {
  return state.isInLine ? { state: { ...state, isInLine: false }, actions: ["leave-line"] } : stay(state);
}

function onPage(state: RoomState, told: "visible" | "hidden" | "freeze" | "resume" | "pagehide"): RoomStep {
  if (told === "freeze" || told === "pagehide") {
    const frozen: RoomState = { ...state, page: "frozen" };
    if (state.phase === "owning") return release(frozen);
    return state.phase === "opening" ? { state: frozen, actions: ["stop-opening"] } : leaveLine(frozen);
  }
  // Woken is not yet looked at: whether it is visible is told next.
  const page = told === "resume" ? "hidden" : told;
  const next: RoomState = { ...state, page };
  return next.isInLine && !wantsToOwn(next) ? leaveLine(next) : lineUp(next);
}

function onGranted(state: RoomState): RoomStep {
  if (state.phase !== "viewing" || !wantsToOwn(state)) return { state, actions: ["give-back"] };
  return { state: { ...state, phase: "opening" }, actions: ["open"] };
}

function onOpened(state: RoomState): RoomStep {
  return state.page === "frozen" ? release(state) : stay(state);
}

function onHeld(state: RoomState, reason: string): RoomStep {
  if (state.phase !== "opening") return stay(state);
  if (state.page !== "frozen") return { state: { ...state, obstacle: reason }, actions: ["open-later"] };
  return { state: { ...state, phase: "viewing", obstacle: null }, actions: ["give-back"] };
}

function onRefused(state: RoomState, fault: LogFault | WireError): RoomStep {
  const refused: RoomState = { ...state, phase: "read-only", fault, obstacle: null };
  if (state.phase === "opening") return { state: refused, actions: ["give-back"] };
  // Whoever looks at a damaged log need not try to write it.
  return state.phase === "viewing" && !state.isInLine ? stay(refused) : stay(state);
}

function onBroken(state: RoomState, fault: WireError): RoomStep {
  if (state.phase !== "owning") return stay(state);
  const breaks = state.breaks + 1;
  return release({ ...state, breaks, fault: breaks >= BREAKS_MAX ? fault : null });
}

function onIdle(state: RoomState): RoomStep {
  if (state.phase !== "owning" || state.page !== "hidden" || state.isWanted) return stay(state);
  return { state: { ...state, phase: "releasing" }, actions: ["release-idle"] };
}

function onReleased(state: RoomState): RoomStep {
  if (state.phase !== "releasing") return stay(state);
  if (state.fault !== null) return stay({ ...state, phase: "read-only" });
  return lineUp({ ...state, phase: "viewing", owner: null, wasReleased: true });
}

function onBeat(state: RoomState, owner: KnownOwner): RoomStep {
  if (state.phase !== "viewing") return stay(state);
  return lineUp({ ...state, owner, wasReleased: false, isUntouched: false });
}

function onGoodbye(state: RoomState, tab: string, isIdle: boolean): RoomStep {
  // A late word of an earlier owner says nothing about the one that writes now.
  const isOther = state.owner !== null && state.owner.tab !== "" && state.owner.tab !== tab;
  if (state.phase !== "viewing" || isOther) return stay(state);
  const next: RoomState = { ...state, owner: null, wasReleased: isIdle };
  return wantsToOwn(next) ? lineUp(next) : leaveLine(next);
}
