/**
 * How far a call came, in the words of the four classes: nothing ran, nothing ran although it was taken up, nobody knows, done.
 *
 * @module
 */
import type { SessionEvent } from "../../mod.ts";
import type { CallItem } from "./conversation_items.ts";
import { isEvent } from "./is_event.ts";

/** Codes of a call that the log proves never ran. */
const NEVER_RAN: ReadonlySet<string> = new Set(["TOOL_NOT_STARTED", "ABORTED_BEFORE_DISPATCH"]);

/** An answer as a person says it. */
export const STEP_NAMES: Readonly<Record<string, string>> = {
  "allowed-once": "allowed once",
  rejected: "rejected",
  cancelled: "withdrawn",
};

/** The state of a call, in a word or two. */
export function outcomeOf(call: CallItem): string {
  const { asked, decided, dispatched, result, verdict, callSeq, retriedSeq } = call;
  if (result !== null) {
    if (retriedSeq !== null) return `retried at event ${retriedSeq}`;
    if (verdict !== null) return verdictOutcome(verdict.verdict);
    if (result.code === "TOOL_OUTCOME_UNKNOWN") return "outcome unknown";
    if (decided?.outcome === "rejected" && dispatched === null) return "rejected, nothing ran";
    if (neverRan(call)) return "nothing ran";
    if (result.code !== null) return `failed: ${result.code}`;
    return result.isError ? "failed" : "done";
  }
  if (dispatched !== null) return "running";
  if (asked !== null && decided === null) return "waits for you";
  if (decided !== null) return STEP_NAMES[decided.outcome] ?? decided.outcome;
  return callSeq === null ? "proposed" : "recorded";
}

/** Said instead of a result that only says that there is none; `null` where the result speaks for itself. */
export function resultWords(call: CallItem): string | null {
  const { asked, decided, dispatched, withdrawn } = call;
  if (!neverRan(call)) return null;
  if (decided?.outcome === "rejected" && dispatched === null) return null;
  const again = "Ask for it again if you still want it.";
  if (asked === null) return `Nothing ran: the turn ended before the call began. ${again}`;
  if (withdrawn === "stopped") return `Nothing ran: the turn was stopped, and the question with it. ${again}`;
  const gone = "the page was closed or its worker died";
  return decided?.outcome === "allowed-once"
    ? `Nothing ran: it was allowed, and ${gone} before it began. ${again}`
    : `Nothing ran: the question was withdrawn because ${gone}. ${again}`;
}

/** A person's verdict, as a sentence. */
export function verdictWords({ verdict, by }: NonNullable<CallItem["verdict"]>): string {
  const who = by === "person" ? "A person looked" : "The target was asked";
  switch (verdict) {
    case "happened":
      return `${who}: it happened.`;
    case "absent":
      return `${who}: it did not happen.`;
    case "retry":
      return "A retry is allowed. Tell the agent to do it again: it runs under the same key.";
    default:
      return `${who}, and could not tell.`;
  }
}

/** The newest verdict on a call, by its id. */
export type Verdicts = ReadonlyMap<string, string>;

/** The verdicts in a run of events. */
export function verdictsIn(events: readonly SessionEvent[]): Verdicts {
  return new Map(
    events.filter((event) => isEvent(event, "effect/reconciled")).map(({ data }) => [data.callId, data.verdict]),
  );
}

/** A verdict in a few words. */
export function verdictOutcome(verdict: string): string {
  switch (verdict) {
    case "happened":
      return "settled: it happened";
    case "absent":
      return "settled: it did not happen";
    case "retry":
      return "unknown, a retry is allowed";
    default:
      return "outcome unknown";
  }
}

function neverRan({ result, dispatched }: CallItem): boolean {
  return result !== null && result.code !== null && NEVER_RAN.has(result.code) && dispatched === null;
}
