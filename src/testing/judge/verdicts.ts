/**
 * `no-false-verdict`: `happened` is a fact of the ledger, and `absent` a promise about a key that holds for ever.
 *
 * @module
 */
import { callOf, type Case, showEffect } from "./case.ts";
import { type CallEvidence, isFinal, nameOf, verdictOf } from "./evidence.ts";
import type { Row } from "./rows.ts";
import type { CallReport } from "./trace.ts";

/** Judges the verdicts in the bytes and those that were said. A person may be wrong; that is not our lie. */
export function checkVerdicts(found: Case): void {
  const { after, before, find } = found;
  const evidence = after ?? before;
  for (const row of evidence.oddVerdicts) {
    find(
      "no-false-verdict",
      `seq ${row.seq} is a verdict about seq ${row.data.callSeq}, which no marker says was dispatched`,
    );
  }
  for (const call of evidence.calls) if (call.verdicts.length > 0) checkRows(found, call);
  for (const report of found.trace.reports) checkReport(found, report);
}

function checkRows(found: Case, call: CallEvidence): void {
  const { trace, find } = found;
  const report = trace.reports.find(({ callId }) => callId === call.callId);
  let final: Row | null = null;
  for (const row of call.verdicts) {
    const { verdict, by, effectKey, turn, step } = row.data;
    if (final !== null) {
      find(
        "no-false-verdict",
        `${nameOf(call)} was settled as ${final.data.verdict} at seq ${final.seq}, and seq ${row.seq} says ${verdict}`,
      );
    }
    if (isFinal(verdict)) final ??= row;
    const marker = call.marker!.data;
    if (turn !== marker.turn || step !== marker.step) {
      find(
        "no-false-verdict",
        `seq ${row.seq} settles ${
          nameOf(call)
        } in turn ${turn}, step ${step}, and it was dispatched in ${marker.turn}, ${marker.step}`,
      );
    }
    if (effectKey !== call.marker?.data.effectKey) {
      find(
        "no-false-verdict",
        `seq ${row.seq} settles ${
          nameOf(call)
        } by key ${effectKey}, and its marker holds ${call.marker?.data.effectKey}`,
      );
    } else if (by !== "person") {
      const lie = lieOf(found, effectKey ?? "", verdict, report?.saidAtStep);
      if (lie !== null) find("no-false-verdict", `seq ${row.seq} says ${verdict} of ${nameOf(call)}, and ${lie}`);
    }
  }
}

function checkReport(found: Case, report: CallReport): void {
  const { verdict, by, callId, callSeq, effectKey, saidAtStep } = report;
  const { after, before, find } = found;
  const call = callOf(after ?? before, callId, callSeq);
  const row = call === null ? null : verdictOf(call);
  if (verdict === undefined) {
    if (row === null || !isFinal(row.data.verdict) || report.class !== "outcome_unknown") return;
    // Only where the class stays unknown is silence about a verdict wrong.
    if (row.seq < found.image.rows.length) {
      find(
        "no-false-verdict",
        `${nameOf(call!)} was left without a verdict, and seq ${row.seq} says ${row.data.verdict}`,
      );
    }
    return;
  }
  if (after !== null && row?.data.verdict !== verdict) {
    find(
      "no-false-verdict",
      `call "${callId}" was said to be ${verdict}, and ${
        row === null ? "no durable verdict is about it" : `seq ${row.seq} says ${row.data.verdict}`
      }`,
    );
    return;
  }
  const key = effectKey ?? call?.marker?.data.effectKey;
  const isOfPerson = by === "person" || row?.data.by === "person";
  // What stands in the log was judged with the log.
  if (row !== null || isOfPerson || key === undefined) return;
  const lie = lieOf(found, key, verdict, saidAtStep);
  if (lie !== null) find("no-false-verdict", `call "${callId}" was said to be ${verdict}, and ${lie}`);
}

/** What the ledger holds against a verdict; `null` when nothing. */
export function lieOf(
  { trace }: Pick<Case, "trace">,
  key: string,
  verdict: string | undefined,
  saidAtStep: number | undefined,
): string | null {
  if (verdict === "absent") {
    const effect = trace.effects.find(({ effectKey }) => effectKey === key);
    if (effect === undefined) return null;
    const isLater = saidAtStep !== undefined && effect.acceptedAtStep > saidAtStep;
    return `the world let it happen ${isLater ? "afterwards" : "all the same"} (${showEffect(effect)})`;
  }
  if (verdict !== "happened") return null;
  const effect = trace.effects.find(({ effectKey }) => effectKey === key);
  if (effect === undefined) return `the world let nothing happen under key ${key}`;
  const isTooEarly = saidAtStep !== undefined && effect.acceptedAtStep > saidAtStep;
  return isTooEarly ? `it was said at step ${saidAtStep}, before it happened (${showEffect(effect)})` : null;
}
