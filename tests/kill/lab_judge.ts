/**
 * The judge of a run of the lab. It knows what each dead process left on the disk, the trace of each, what the library said, the log at
 * the end, and what really happened in the world; it uses no code of the library, and it decides what is true by itself.
 *
 * @module
 */
import { check, checkWindow, classOfCloser, show, type TrueClass } from "./judge.ts";
import type { LabCase } from "./lab_case.ts";
import {
  checkBodies,
  checkEffect,
  checkInvented,
  checkNothingLost,
  checkReports,
  checkTurns,
  pendingIn,
  proposedIn,
} from "./lab_checks.ts";
import type { LabCall } from "./lab_plan.ts";
import type { RawRow } from "./raw_log.ts";
import type { TraceLine } from "./stretched_disk.ts";

/** What the judge found about one call. */
export interface JudgedLabCall {
  readonly call: LabCall;
  readonly class: TrueClass;
  /** Of an unknown: what settled it, `null` when nothing did. */
  readonly settled: "happened" | "absent" | null;
  /** The notes of the lookups that found nothing out. */
  readonly undecided: readonly string[];
  /** Whether a lookup about it was cut off: its process was killed before the verdict could be read, or its answer was lost. */
  readonly isCutOff: boolean;
}

/** Judges a run. @throws {Error} at the first thing that is not as promised, with what it was found in */
export function judgeLab(run: LabCase): JudgedLabCall[] {
  try {
    return judgeAll(run);
  } catch (error) {
    const lines = run.processes.flatMap(({ left, trace }, index) => [
      `process ${index}: ${show(run.plan.processes[index])}`,
      ...trace.map((line) => `  ${show(line)}`),
      `  left ${left?.length ?? "no"} events`,
    ]);
    const rows = run.final.map(({ text }) => `  ${text.slice(0, 260)}`);
    throw new Error(
      [
        error instanceof Error ? error.message : error,
        ...[...lines, "the log at the end:", ...rows, "the world:", ...run.effects.map((each) => `  ${show(each)}`)],
        `read: ${show(run.read)}, opened: ${show(run.opened)}`,
      ].join("\n"),
      { cause: error },
    );
  }
}

function judgeAll(run: LabCase): JudgedLabCall[] {
  const { plan, processes, final, effects } = run;
  checkNothingLost(run);
  processes.forEach(({ trace, left }, index) => checkInvented(trace, left ?? [], processes[index - 1]?.left ?? []));
  checkReports(run);
  for (const effect of effects) checkEffect(effect, run);
  processes.forEach(({ trace, left }) => checkBodies(trace, left ?? []));
  checkTurns(final);
  const judged = plan.processes.flatMap(({ calls }, index) => {
    return calls.map((call, number) => judgeCall(call, number, index, run));
  });
  checkVerdictsBelong(judged, run);
  return judged;
}

function judgeCall(call: LabCall, number: number, index: number, run: LabCase): JudgedLabCall {
  const { final, effects, processes } = run;
  const { left, trace } = processes[index]!;
  const own = effects.filter(({ callId }) => callId === call.id);
  const find = (rows: readonly RawRow[], wanted: string) => {
    return rows.find(({ type, data }) => type === wanted && (data.callId ?? data.message?.source?.callId) === call.id);
  };
  const rows = left ?? [];
  const isProposed = rows.some(({ type, data }) => type === "assistant/message" && proposedIn(data).includes(call.id));
  const marker = find(rows, "effect/dispatched");
  const result = find(final, "tool/result");
  const truth: TrueClass = !isProposed ? "not_proposed" : pendingIn(rows).get(call.id) ?? "done";
  const verdicts = final.filter(({ type, data }) => type === "effect/reconciled" && data.callId === call.id);
  const first = own.filter(({ key, attempt }) => key === null ? attempt === "first" : key === marker?.data.effectKey);

  // Whatever happened on the way, in the end the wish of the user is fulfilled, once. What stays unknown is not tried again.
  const isOpen = truth === "outcome_unknown" && verdicts.every(({ data }) => data.verdict === "undecidable");
  check(own.length === 1 || (isOpen && own.length === 0), `${call.id} happened ${own.length} times: ${show(own)}`);
  checkWindow(call.id, truth === "not_proposed" ? "not_started" : truth, flushedSeqs(number, trace), trace);
  if (truth === "not_proposed") {
    check(result === undefined, `${call.id} was not proposed, and has the result ${result?.text}`);
    check(first.length === 0, `${call.id} was not proposed, and happened`);
    return { call, class: truth, settled: null, undecided: [], isCutOff: false };
  }
  const isClosed = result!.seq! >= rows.length;
  if (truth !== "outcome_unknown") {
    check(classOfCloser(result!, isClosed) === truth, `${call.id} is ${truth}, and its result says ${result!.text}`);
    check(verdicts.length === 0, `${call.id} is ${truth}, and was looked up: ${verdicts[0]?.text}`);
    const isDone = truth === "done" && result!.data.error === undefined;
    check(first.length === Number(isDone), `${call.id} is ${truth}, and its first try happened ${first.length} times`);
    return { call, class: truth, settled: null, undecided: [], isCutOff: false };
  }
  const settling = checkUnknown(call, marker!, result!, verdicts, first.length === 1, final);
  const isKilled = processes.some(({ trace }, other) => {
    const before = processes[other - 1]?.left ?? [];
    return other > index && pendingIn(before).has(call.id) && !trace.some(([what]) => what === "opened");
  });
  return { call, class: truth, ...settling, isCutOff: isKilled || call.isLookupLost };
}

/** The verdicts about an unknown are true, come once, and the model reads them. */
function checkUnknown(
  { id }: LabCall,
  marker: RawRow,
  result: RawRow,
  verdicts: readonly RawRow[],
  hasHappened: boolean,
  final: readonly RawRow[],
): Pick<JudgedLabCall, "settled" | "undecided"> {
  for (const { data, text } of verdicts) {
    const isOurs = data.effectKey === marker.data.effectKey && data.callSeq === marker.data.callSeq;
    check(isOurs, `a verdict about ${id} is about another effect: ${text}`);
    const isTrue = data.verdict === "undecidable" || data.verdict === (hasHappened ? "happened" : "absent");
    check(isTrue, `${id} ${hasHappened ? "happened" : "never happened"}, and the verdict is ${text}`);
  }
  const settledAt = verdicts.findIndex(({ data }) => data.verdict !== "undecidable");
  check(settledAt === -1 || settledAt === verdicts.length - 1, `${id} was looked up again after it was settled`);
  const last = verdicts[settledAt];
  const settled = (last?.data.verdict ?? null) as JudgedLabCall["settled"];

  const { error } = result.data;
  const isInTime = last !== undefined && last.seq! < result.seq!;
  const wanted = !isInTime ? "TOOL_OUTCOME_UNKNOWN" : settled === "happened" ? undefined : "TOOL_NOT_STARTED";
  check(error?.code === wanted, `${id} is unknown and ${settled}, and its result says ${result.text}`);
  const notices = final.flatMap(({ data }) => data.inserted ?? []).filter(({ source, content }) => {
    return source.plugin === "holdfast" && content.some(({ text }) => text?.includes(`call "${id}"`));
  });
  const due = Number(last !== undefined && !isInTime);
  check(notices.length === due, `${id} was told about ${notices.length} times after its result, due is ${due}`);
  const undecided = verdicts.filter(({ data }) => data.verdict === "undecidable").map(({ data }) => data.note ?? "");
  return { settled, undecided };
}

/** Nothing is looked up but calls of this run that are unknown. */
function checkVerdictsBelong(judged: readonly JudgedLabCall[], { final }: LabCase): void {
  const unknown = new Set(judged.filter((each) => each.class === "outcome_unknown").map(({ call }) => call.id));
  for (const { type, data, text } of final) {
    if (type === "effect/reconciled") check(unknown.has(data.callId!), `a verdict about no unknown: ${text}`);
  }
}

/** The seqs of a call's marker and of its result, by the order in which its process appended its calls. */
function flushedSeqs(number: number, trace: readonly TraceLine[]) {
  const appended = trace.filter((line) => line[0] === "appended");
  const callSeq = appended.filter((line) => line[3] === "tool/call")[number]?.[2];
  const seqOf = (type: string) => appended.find((line) => line[3] === type && line[4] === callSeq)?.[2];
  if (callSeq === undefined) return { marker: undefined, result: undefined };
  return { marker: seqOf("effect/dispatched"), result: seqOf("tool/result") };
}
