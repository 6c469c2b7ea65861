/**
 * `no-false-class`: what is said about a call is what its durable evidence says, and the world does not contradict it.
 *
 * @module
 */
import { callOf, type Case, showEffect } from "./case.ts";
import { type CallEvidence, classOf, isFinal, nameOf, verdictOf } from "./evidence.ts";
import { type Row, show } from "./rows.ts";
import type { CallClass, CallReport } from "./trace.ts";

/** Compares what was said with the evidence and with the ledger. */
export function checkClasses(found: Case): void {
  for (const report of found.trace.reports) {
    checkReport(found, report);
    checkEvidenceSeq(found, report);
  }
  checkSaidOfPending(found);
  checkSaidOfEffects(found);
  checkDone(found);
  checkFailed(found);
}

function checkReport({ before, find }: Case, report: CallReport): void {
  const call = callOf(before, report.callId, report.callSeq);
  if (call === null) {
    if (report.class === "not_proposed") return;
    find("no-false-class", `call "${report.callId}" was said to be ${report.class}, and no durable event names it`);
    return;
  }
  const evidence = classOf(call);
  if (allowedClasses(call, evidence.class, report).includes(report.class)) return;
  find(
    "no-false-class",
    `${nameOf(call)} was said to be ${report.class}, and it is ${evidence.class}: ${evidence.because}`,
  );
}

/** A call that was settled may also be named by what it was settled to. */
function allowedClasses(call: CallEvidence, byEvidence: CallClass, report: CallReport): CallClass[] {
  const verdict = report.verdict ?? verdictOf(call)?.data.verdict;
  if (byEvidence === "outcome_unknown") {
    if (verdict === "happened") return ["outcome_unknown", "done"];
    if (verdict === "absent") return ["outcome_unknown", "not_dispatched"];
  }
  // A body that was aborted may have acted; the format's code does not say, so both may be said.
  if (call.result?.data.error?.code === "ABORTED") return ["done", "outcome_unknown"];
  return [byEvidence];
}

function checkEvidenceSeq(
  { before, after, find }: Case,
  { callId, callSeq, class: said, evidenceSeq }: CallReport,
): void {
  if (evidenceSeq === undefined) return;
  const evidence = after ?? before;
  const row = evidence.rows[evidenceSeq];
  const call = callOf(evidence, callId, callSeq);
  const own = call === null ? [] : [
    ...[call.proposedSeq, call.call?.seq, call.marker?.seq, call.result?.seq, call.lifecycle.oddMarker?.seq],
    ...call.verdicts.map(({ seq }) => seq),
  ];
  if (own.includes(evidenceSeq)) return;
  const asked = row?.type.startsWith("approval/") === true
    ? evidence.decided.get(row.data.id ?? "")?.asked ?? row
    : null;
  if (asked?.data.callId === callId) return;
  find(
    "no-false-class",
    `call "${callId}" was said to be ${said} because of seq ${evidenceSeq}, which is ` +
      (row === undefined ? "not there" : `a ${row.type} that is not about it: ${show(row.value)}`),
  );
}

/** Where a resume said what it found, it said something of every call that waited for its answer. */
function checkSaidOfPending({ trace, before, after, find }: Case): void {
  if (trace.unresolved === undefined || after === null) return;
  for (const call of before.pending) {
    if (trace.reports.some(({ callId }) => callId === call.callId)) continue;
    find("no-false-class", `nothing was said about ${nameOf(call)}, which waited for its answer`);
  }
}

/** Nobody may say of a call that took effect, or will, that it was never begun. */
function checkSaidOfEffects({ trace, before, after, added, asked, find }: Case): void {
  for (const effect of asked) {
    const call = callOf(after ?? before, effect.callId);
    // What a verdict says is judged by its own checker.
    if (call !== null && isFinal(verdictOf(call)?.data.verdict)) continue;
    const report = trace.reports.find(({ callId }) => callId === effect.callId);
    if (report !== undefined && report.class.startsWith("not_") && !isFinal(report.verdict)) {
      find(
        "no-false-class",
        `call "${effect.callId}" was said to be ${report.class}, and it took effect (${showEffect(effect)})`,
      );
    }
    const closer = added.find((row) => row === call?.result);
    if (closer?.data.error?.code === "TOOL_NOT_STARTED") {
      find(
        "no-false-class",
        `seq ${closer.seq} tells the model that call "${effect.callId}" was not started, and it took effect (${
          showEffect(effect)
        })`,
      );
    }
  }
}

/** Who says done says that the effect is there. */
function checkDone({ trace, before, find }: Case): void {
  for (const call of before.calls) {
    const { result, marker } = call;
    if (result === null || marker === null || classOf(call).class !== "done" || !isSuccess(result)) continue;
    if (!trace.ledgerTools.includes(call.name) || marker.data.effect === "none") continue;
    const key = marker.data.effectKey;
    if (
      trace.effects.some(({ effectKey, acceptedAtStep }) => effectKey === key && acceptedAtStep <= trace.crashedAtStep)
    ) continue;
    find(
      "no-false-class",
      `${nameOf(call)} is done by its result, seq ${result.seq}, and up to the crash at step ${trace.crashedAtStep} ` +
        `the world let nothing happen under its key ${key}`,
    );
  }
}

/** Who says failed says that there is no effect and that none will come. */
function checkFailed({ trace, before, asked, find }: Case): void {
  for (const call of before.calls) {
    const { result, marker } = call;
    if (result === null || marker === null || classOf(call).class !== "done" || isSuccess(result)) continue;
    // A body that was aborted may have acted.
    if (result.data.error?.code === "ABORTED" || !trace.ledgerTools.includes(call.name)) continue;
    const effect = asked.find(({ effectKey }) => effectKey === marker.data.effectKey);
    if (effect === undefined) continue;
    find(
      "no-false-class",
      `${nameOf(call)} has failed by its result, seq ${result.seq}, and it took effect (${showEffect(effect)})`,
    );
  }
}

/** Says whether a result is one of a body that succeeded. */
export function isSuccess({ data }: Row): boolean {
  if (data.error !== undefined || data.isError === true) return false;
  return data.message?.content?.every(({ isError }) => isError !== true) ?? true;
}
