/**
 * `no-false-class` for the list of what is still unknown: it holds every effect that was begun and that no durable evidence
 * settles, and nothing else.
 *
 * @module
 */
import type { Case } from "./case.ts";
import { type CallEvidence, type Evidence, isFinal, nameOf } from "./evidence.ts";

/** Answers that leave open whether the effect happened. */
const OPEN_CODES = ["TOOL_OUTCOME_UNKNOWN", "TOOL_TIMEOUT", "ABORTED"];

/** Compares what was listed as unknown after the recovery with the evidence in the recovered log. */
export function checkUnresolved({ trace, after, find }: Case): void {
  if (trace.unresolved === undefined || after === null) return;
  const due = new Map<number, string>();
  for (const call of after.calls) {
    const why = whyOpen(after, call);
    if (why !== null) due.set(call.call!.seq, `${nameOf(call)} ${why}`);
  }
  for (const { by, callSeqs } of trace.unresolved) {
    for (const [seq, why] of due) {
      if (!callSeqs.includes(seq)) find("no-false-class", `${why}, and ${by} does not list it as unknown`);
    }
    for (const seq of callSeqs) {
      if (due.has(seq)) continue;
      const call = after.calls.find((call) => call.call?.seq === seq);
      const what = call === undefined ? "is no call" : `is ${nameOf(call)}, ${settledBy(after, call) ?? "never begun"}`;
      find("no-false-class", `${by} lists seq ${seq} as unknown, which ${what}`);
    }
    if (new Set(callSeqs).size < callSeqs.length) {
      find("no-false-class", `${by} lists a call twice: ${callSeqs.join(", ")}`);
    }
  }
}

/** Why the outcome of a call is open; `null` when it is not. */
function whyOpen(evidence: Evidence, call: CallEvidence): string | null {
  if (call.call === null || settledBy(evidence, call) !== null) return null;
  const code = call.result?.data.error?.code;
  const { marker } = call;
  // Without a marker only an answer that says so makes it one.
  if (marker === null) {
    return code === "TOOL_OUTCOME_UNKNOWN" ? `was answered with ${code} at seq ${call.result!.seq}` : null;
  }
  if (marker.data.effect === "none") return null;
  return `was dispatched at seq ${marker.seq}, and ${code ?? "nothing"} answers it`;
}

/** What settles the effect of a call, by itself or for all that share its key; `null` when nothing does. */
function settledBy({ calls }: Evidence, call: CallEvidence): string | null {
  const own = ownSettlement(call);
  if (own !== null || call.marker === null) return own?.because ?? null;
  const { seq, data: { effectKey } } = call.marker;
  for (const other of calls) {
    if (other === call || other.marker?.data.effectKey !== effectKey) continue;
    const settlement = ownSettlement(other);
    // A try that failed, and a person who looked for one call, say nothing about another try under the same key.
    if (settlement?.isOfKey === true && settlement.seq > seq) {
      return `settled by ${nameOf(other)}: ${settlement.because}`;
    }
  }
  return null;
}

interface Settlement {
  readonly seq: number;
  /** Whether it is a fact about the key and not about this one try. */
  readonly isOfKey: boolean;
  readonly because: string;
}

/** The first durable row about a call that says what became of its effect. */
function ownSettlement({ isNested, marker, result, verdicts }: CallEvidence): Settlement | null {
  const found: Settlement[] = [];
  const verdict = verdicts.find(({ data }) => isFinal(data.verdict));
  if (verdict !== undefined) {
    const { verdict: said, by } = verdict.data;
    const isOfKey = said === "happened" || by === "lookup";
    found.push({ seq: verdict.seq, isOfKey, because: `seq ${verdict.seq} says ${said}` });
  }
  const code = result?.data.error?.code;
  if (result !== null && (isNested || code === undefined || !OPEN_CODES.includes(code))) {
    const isError = code !== undefined || result.data.isError === true ||
      result.data.message?.content?.[0]?.isError === true;
    // Whoever says that a dispatched call was not started knows that its key is closed.
    const isVoid = marker !== null && code === "TOOL_NOT_STARTED";
    const because = `seq ${result.seq} answers it with ${code ?? (isError ? "a failure" : "a success")}`;
    found.push({ seq: result.seq, isOfKey: !isError || isVoid, because });
  }
  return found.toSorted((left, right) => left.seq - right.seq)[0] ?? null;
}
