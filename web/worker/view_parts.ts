/**
 * What a page is shown of a session beside its events: title, unknown outcomes, the durability line.
 *
 * @module
 */
import type { EventPage, LogFolds, Message, SessionEvent, StorageTraits } from "../../mod.ts";
import type { Durability, OpenUnknown } from "../protocol.ts";
import type { BarrierTimes } from "./barrier_times.ts";

/** How much of the first message makes a title, in UTF-16 units. */
export const TITLE_LENGTH_MAX = 80;
/** How many unknown outcomes are shown. The others come when these are settled. */
export const UNKNOWNS_SHOWN_MAX = 50;
/** How many events behind a call are searched for its marker. */
const MARKER_SEARCH_EVENTS = 200;

/** The beginning of the first thing a person said; `null` before that. */
export function titleOf({ firstPrompt, inbox }: LogFolds): string | null {
  const line = firstPrompt.line ?? inbox.nextTurn.map(lineOf).find((line) => line !== "") ?? null;
  if (line === null) return null;
  return line.length > TITLE_LENGTH_MAX ? `${line.slice(0, TITLE_LENGTH_MAX - 1)}…` : line;
}

/** The first line of what a person sent; empty for anything else. */
function lineOf({ role, source, content }: Message): string {
  if (role !== "user" || source.kind !== "user") return "";
  return content.map((block) => block.type === "text" ? block.text : "").join(" ").trim().split("\n")[0]!;
}

/**
 * The effects whose outcome nobody knows and that a person may settle: those whose call can get no result any more.
 *
 * @param markers seqs of markers that were found before, by `callSeq`; added to
 */
export async function unknownsOf(
  { unresolved }: LogFolds,
  history: (options: { readonly from: number; readonly limit: number }) => Promise<EventPage>,
  markers: Map<number, number | null>,
): Promise<OpenUnknown[]> {
  const closed = unresolved.effects.filter((effect) => effect.isClosed).slice(0, UNKNOWNS_SHOWN_MAX);
  return await Promise.all(closed.map(async ({ callSeq, callId, name, effect, effectKey, retryGranted, ...rest }) => {
    if (!markers.has(callSeq)) {
      const { events } = await history({ from: callSeq, limit: MARKER_SEARCH_EVENTS });
      markers.set(callSeq, markerSeq(events, callSeq));
    }
    const dispatchedSeq = markers.get(callSeq)!;
    const what = { callSeq, callId, toolName: name, effect, effectKey, argumentsText: rest.arguments };
    return { ...what, dispatchedSeq, isRetryAllowed: retryGranted };
  }));
}

function markerSeq(events: readonly SessionEvent[], callSeq: number): number | null {
  const marker = events.find(({ type, data }) =>
    type === "effect/dispatched" && (data as { readonly callSeq?: unknown }).callSeq === callSeq
  );
  return marker?.seq ?? null;
}

/** The durability line. */
export function durabilityOf(
  { pendingEvents, pendingBytes, durableSeq }: Pick<Durability, "pendingEvents" | "pendingBytes" | "durableSeq">,
  times: BarrierTimes,
  { persistence, sync }: Pick<StorageTraits, "persistence" | "sync">,
): Durability {
  const p50Ms = times.quantile(0.5);
  const p99Ms = times.quantile(0.99);
  return { pendingEvents, pendingBytes, durableSeq, p50Ms, p99Ms, persistence, sync };
}
