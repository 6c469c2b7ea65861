/**
 * What a page draws, apart from the events: plain data.
 *
 * @module
 */
import type { SessionRow, StorageTraits } from "../../mod.ts";
import type { CrashPoint, ModelChoice, SessionView, WireError } from "../protocol.ts";
import type { LiveAnswer } from "./live_answer.ts";

/** Where the page is. */
export type Phase =
  | { readonly kind: "starting"; readonly isSlow: boolean }
  /** No usable medium: the cause, and the choice to go on without one. */
  | { readonly kind: "unusable"; readonly error: WireError }
  /** What was known is gone. */
  | { readonly kind: "lost"; readonly error: WireError }
  | { readonly kind: "ready"; readonly traits: StorageTraits; readonly version: string }
  /** The worker is dead and a new one is on its way. */
  | { readonly kind: "crashed" };

/** Something that did not work. `id`: the session it belongs to; `null` when it concerns them all. */
export interface Problem extends WireError {
  readonly number: number;
  readonly id: string | null;
  /** What a person may do about it, beside reading it: open or delete the session that has the id. */
  readonly inTheWay?: string;
}

/** Everything that is drawn, apart from the events. */
export interface PageState {
  readonly phase: Phase;
  readonly rows: readonly SessionRow[];
  readonly view: SessionView | null;
  readonly live: LiveAnswer | null;
  readonly isVolatile: boolean;
  readonly persistence: { readonly answer: StorageTraits["persistence"]; readonly wasAsked: boolean } | null;
  readonly problems: readonly Problem[];
  /** What the sessions are called, by id, as far as it was read. */
  readonly names: ReadonlyMap<string, string>;
  /** Said to screen readers, politely. */
  readonly announcement: string;
  /** A crash is armed: the next effect dies there. */
  readonly armed: CrashPoint | null;
  /** How often a worker died under this page. */
  readonly crashes: number;
  readonly model: ModelChoice;
  /** What was typed and never written, because its session died before: given back to the person. */
  readonly draft: string;
  /** Sessions with a question that waits, those that are not shown included. */
  readonly asking: readonly string[];
}

/** What a page begins with. */
export const START: PageState = {
  phase: { kind: "starting", isSlow: false },
  rows: [],
  view: null,
  live: null,
  isVolatile: false,
  persistence: null,
  problems: [],
  names: new Map(),
  announcement: "",
  armed: null,
  crashes: 0,
  model: { kind: "demo" },
  draft: "",
  asking: [],
};

/** Nothing is going on and everything is durable. */
export function isSettled({ status, durability }: SessionView): boolean {
  return status === "idle" && durability.pendingEvents === 0;
}

/** What a change of the view says to those who do not see it; `null` when it is nothing. */
export function announcementOf(before: SessionView | null, view: SessionView): string | null {
  const question = view.questions.find(({ question }) => !before?.questions.some((old) => old.question === question));
  if (question !== undefined) return `${question.toolName} asks for approval.`;
  if (view.unknowns.length > (before?.unknowns.length ?? 0)) return "The outcome of a call is unknown.";
  if (before === null) return null;
  if (before.role.kind !== view.role.kind) return `This tab is now ${view.role.kind}.`;
  if (before.status !== view.status) return view.status === "running" ? "The agent works." : "The agent is done.";
  return null;
}
