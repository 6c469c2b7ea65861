/**
 * What a page is shown of a session beside its events: title, unknown outcomes, the durability line.
 *
 * @module
 */
import { callEvidence, type LogFolds, type Message, type StorageTraits } from "../../mod.ts";
import type { Durability, OpenUnknown } from "../protocol.ts";
import type { BarrierTimes } from "./barrier_times.ts";

/** How much of the first message makes a title, in UTF-16 units. */
export const TITLE_LENGTH_MAX = 80;
/** How many unknown outcomes are shown. The others come when these are settled. */
export const UNKNOWNS_SHOWN_MAX = 50;

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

/** The effects whose outcome nobody knows and that a person may settle, with what proves that. */
export function unknownsOf(folds: Pick<LogFolds, "pendingCalls" | "unresolved">): OpenUnknown[] {
  const effects = new Map(folds.unresolved.effects.map((effect) => [effect.callSeq, effect]));
  const unknowns: OpenUnknown[] = [];
  for (const { callSeq, callId, name, arguments: argumentsText, reason, proofs, isSettleable } of callEvidence(folds)) {
    const known = callSeq === null ? undefined : effects.get(callSeq);
    if (!isSettleable || known === undefined) continue;
    const { effect, effectKey, retryGranted: isRetryAllowed } = known;
    const what = { callSeq: known.callSeq, callId, toolName: name, effect, effectKey, argumentsText };
    unknowns.push({ ...what, reason, proofs, isRetryAllowed });
    if (unknowns.length === UNKNOWNS_SHOWN_MAX) break;
  }
  return unknowns;
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
