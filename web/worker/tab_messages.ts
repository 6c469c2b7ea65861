/**
 * What the workers of an origin's tabs say to each other about a session.
 *
 * Everything here is a hint: the truth is the log. A message that is lost costs time, never an event.
 *
 * @module
 */
import type { SessionEvent, StreamChunk } from "../../mod.ts";
import type { PageCalls, SessionView, WireError } from "../protocol.ts";

/** The channel of all tabs that run the same version of this protocol. */
export const TAB_CHANNEL = "holdfast-tabs-2";

/** The part of a view that its owner knows best. */
export type SharedView = Omit<SessionView, "role" | "repaired">;

/** The verbs that only an owner can do. */
export type ForwardedVerb = "send" | "answer" | "cancel" | "compact" | "settle";

/** One of them, with what it was asked with. */
export type Forwarded = {
  readonly [Verb in ForwardedVerb]: { readonly verb: Verb; readonly ask: PageCalls[Verb]["ask"] };
}[ForwardedVerb];

/** What is said about one session. */
export type RoomMessage =
  /** Whoever owns it, speak. Somebody has just come. */
  | { readonly kind: "who" }
  /** The owner lives, and this is how things stand. */
  | { readonly kind: "beat"; readonly label: string; readonly shared: SharedView }
  /** The owner let go; `isIdle` when only because it was hidden and idle. */
  | { readonly kind: "goodbye"; readonly isIdle: boolean }
  /** Events that were committed; those above `durableSeq` are not durable. `events` may be empty. */
  | { readonly kind: "events"; readonly events: readonly SessionEvent[]; readonly durableSeq: number }
  | { readonly kind: "chunk"; readonly turn: number; readonly step: number; readonly chunk: StreamChunk }
  /** A viewer asks the owner `to`. The same `nonce` again is the same request. */
  | { readonly kind: "ask"; readonly to: string; readonly nonce: string; readonly forwarded: Forwarded }
  | { readonly kind: "answer"; readonly to: string; readonly nonce: string; readonly answer: unknown }
  | { readonly kind: "refusal"; readonly to: string; readonly nonce: string; readonly error: WireError };

/** A message as it goes over the channel. */
export type TabMessage =
  & { readonly from: string }
  & (
    | { readonly about: "session"; readonly id: string; readonly message: RoomMessage }
    /** Sessions came or went. */
    | { readonly about: "list" }
    | { readonly about: "persistence"; readonly isPersisted: boolean }
  );

/** Whether this came from a worker of our kind. Tabs of one origin run the same code, so the kind alone is looked at. */
export function isTabMessage(message: unknown): message is TabMessage {
  return typeof message === "object" && message !== null && "about" in message && "from" in message;
}
