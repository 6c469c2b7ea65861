/**
 * What the public interface says about the calls of a session after a resume, as a judge reads it.
 *
 * @module
 */
import { type AgentSession, type EventData, TOOL_NOT_STARTED } from "../../../mod.ts";
import type { CallReport, LabTrace } from "../judge/trace.ts";

/** Collects it: the open turn's classes, the verdicts of the lookups, what is still unknown, and which calls have a result. */
export function reportsOf({ session, resumed }: AgentSession, saidAtStep: number): CallReport[] {
  if (resumed === null) return [];
  const reports = new Map<string, CallReport>();
  const verdicts = resumed.verdicts.filter(({ type }) => type === "effect/reconciled");
  for (const { callId, callSeq, class: found } of resumed.calls) {
    reports.set(callId, { callId, ...(callSeq === null ? {} : { callSeq }), class: found, saidAtStep });
  }
  for (const { callId, callSeq, effectKey } of resumed.unresolved) {
    reports.set(callId, {
      ...{ callId, callSeq, class: "outcome_unknown", saidAtStep },
      ...(effectKey === null ? {} : { effectKey }),
    });
  }
  for (const { seq, data } of verdicts) {
    const { callId, callSeq, effectKey, verdict, by } = data as unknown as EventData["effect/reconciled"];
    const report = { callId, callSeq, class: "outcome_unknown", saidAtStep } as const;
    reports.set(callId, { ...report, verdict, by, effectKey, evidenceSeq: seq });
  }
  for (const closer of resumed.closers) {
    if (closer.type !== "tool/result") continue;
    const { message, error } = closer.data as unknown as EventData["tool/result"];
    const report = reports.get(String(message.source.callId));
    // Settled by a verdict that an earlier recovery wrote before it died: the answer the model gets says which.
    if (report?.class !== "outcome_unknown" || report.verdict !== undefined) continue;
    const verdict = error === undefined ? "happened" : error.code === TOOL_NOT_STARTED ? "absent" : null;
    if (verdict !== null) reports.set(report.callId, { ...report, verdict, evidenceSeq: closer.seq });
  }
  for (const { result, seq } of session.folds.surface.nodes) {
    if (result === null || result.error !== undefined) continue;
    const { callId } = result.message.source;
    if (typeof callId !== "string" || reports.has(callId)) continue;
    const isError = result.message.content.some((block) => block.type === "tool-result" && block.isError === true);
    if (!isError) reports.set(callId, { callId, class: "done", evidenceSeq: seq, saidAtStep });
  }
  return [...reports.values()];
}

/** What it lists as still unknown: when the session was opened, and in the session that came of it. */
export function unresolvedOf({ session, resumed }: AgentSession): LabTrace["unresolved"] {
  if (resumed === null) return undefined;
  return [
    { by: "the resume", callSeqs: resumed.unresolved.map(({ callSeq }) => callSeq) },
    { by: "the session", callSeqs: session.folds.unresolved.effects.map(({ callSeq }) => callSeq) },
  ];
}
