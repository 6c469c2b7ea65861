/**
 * What a recovery adds, row by row, against what the evidence asks for: verdicts, closers, the marker of the new lifecycle.
 *
 * Findings go to the checker whose promise breaks: a wrong class to `no-false-class`, an answer that contradicts its verdict to
 * `no-false-verdict`, a missing answer to `well-formed-transcript`, a row nobody asked for to `nothing-invented`, and whatever
 * would not come out the same again to `repair-idempotent`.
 *
 * @module
 */
import type { Case } from "./case.ts";
import { type CallEvidence, classOf, isFinal, nameOf, type OpenQuestion, verdictOf } from "./evidence.ts";
import { type Row, show } from "./rows.ts";

/** The text of `TOOL_NOT_STARTED`, which the session format §9 makes a constant. */
const NOT_STARTED_TEXT =
  "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";

/** Reads what the recovery added, from its first row to its last. */
export function checkRepair(found: Case): void {
  const { image, before, added, recovered, keepsImage, find } = found;
  // Where events are gone nobody can tell what was added.
  if (recovered === null || image.state !== "readable" || !keepsImage) return;
  const rows = [...added];
  takeVerdicts(found, rows);
  if (before.openTurn !== null) takeClosers(found, rows);
  if (rows[0]?.type === "session/end-seed" && before.rows.at(-1)?.type !== "session/end-seed") rows.shift();
  if (rows[0]?.type === "checkpoint/policy") rows.shift();
  for (const row of rows) {
    find("nothing-invented", `the recovery added seq ${row.seq}, which nothing asks for: ${show(row.value)}`);
  }
}

/** The verdicts of lookups come first, each with the notice for a call that was answered already. */
function takeVerdicts({ before, added, find }: Case, rows: Row[]): void {
  for (let row = rows[0]; row !== undefined; row = rows[0]) {
    if (row.type === "effect/reconciled") {
      const { callSeq, verdict, by } = row.data;
      if (by !== "lookup") {
        find("nothing-invented", `seq ${row.seq} is a verdict by ${by}, and nobody but lookups was asked`);
      }
      const call = before.calls.find((call) => call.call?.seq === callSeq);
      if (call?.marker != null && classOf(call).class !== "outcome_unknown") {
        find(
          "nothing-invented",
          `seq ${row.seq} says ${verdict} of ${nameOf(call)}, which is ${classOf(call).class}: ${
            classOf(call).because
          }`,
        );
      }
    } else if (isNotice(row)) {
      const isAboutOne = [...before.calls.flatMap(({ verdicts }) => verdicts), ...added].some(({ type, seq, data }) =>
        type === "effect/reconciled" && seq < row.seq && data.verdict !== undefined
      );
      if (!isAboutOne) {
        find("nothing-invented", `seq ${row.seq} tells of a verdict, and there is none: ${show(row.value)}`);
      }
    } else return;
    rows.shift();
  }
}

/** A notice that a lookup settled a call whose answer the model has read already. */
export function isNotice({ type, data }: Row): boolean {
  return type === "agent/inbox/spliced" && (data.inserted?.length ?? 0) > 0 &&
    data.inserted!.every(({ source }) =>
      source?.kind === "plugin" && source.plugin === "holdfast" && source.form === "notice"
    );
}

/** The open turn is closed: an answer for each pending call in the order of their message, the step, the turn. */
function takeClosers(found: Case, rows: Row[]): void {
  const { before, after, find } = found;
  const questions = before.openQuestions.filter(({ lifecycle }) => lifecycle.hasBarriers);
  const { openTurn, openStep } = before;
  for (const call of before.pending) {
    takeDecisions(found, rows, questions, call);
    const row = rows[0];
    if (row?.type !== "tool/result" || callIdOf(row) !== call.callId) {
      find(
        "well-formed-transcript",
        `${nameOf(call)} waits for its answer in turn ${openTurn}, and the recovery added ${namesOf(row)}`,
      );
      if (row?.type === "tool/result") rows.shift();
      continue;
    }
    const waiting = questions.find(({ callId }) => callId === null || belongsTo(before.calls, callId, call));
    if (waiting !== undefined) {
      find(
        "well-formed-transcript",
        `question "${waiting.id}" (seq ${waiting.asked.seq}) is open before the answer at seq ${row.seq}`,
      );
      questions.splice(questions.indexOf(waiting), 1);
    }
    rows.shift();
    checkAnswer(found, call, after!.calls[before.calls.indexOf(call)] ?? call, row);
  }
  takeDecisions(found, rows, questions, null);
  for (const { id, asked } of questions) {
    find("well-formed-transcript", `question "${id}" (seq ${asked.seq}) stays open`);
  }
  if (openStep !== null) {
    if (rows[0]?.type === "step/end" && rows[0].data.turn === openTurn && rows[0].data.step === openStep) {
      checkTime(found, rows.shift()!);
    } else {find(
        "well-formed-transcript",
        `step ${openStep} of turn ${openTurn} stays open: the recovery added ${namesOf(rows[0])}`,
      );}
  }
  const last = rows[0];
  if (last?.type === "turn/end" && last.data.turn === openTurn && last.data.reason?.kind === "interrupted") {
    checkTime(found, rows.shift()!);
  } else find("well-formed-transcript", `turn ${openTurn} stays open: the recovery added ${namesOf(last)}`);
}

/** Decisions directly before the closer of the call they are about; those about no call come before the first closer. */
function takeDecisions(found: Case, rows: Row[], questions: OpenQuestion[], next: CallEvidence | null): void {
  while (rows[0]?.type === "approval/decided") {
    const row = rows.shift()!;
    const index = questions.findIndex(({ id }) => id === row.data.id);
    if (index < 0) {
      found.find("nothing-invented", `seq ${row.seq} answers question "${row.data.id}", which is not open`);
    } else {
      const [question] = questions.splice(index, 1);
      const { calls, pending } = found.before;
      const about = pending.find((call) => question!.callId !== null && belongsTo(calls, question!.callId, call));
      if (about !== undefined && about !== next) {
        found.find(
          "nothing-invented",
          `seq ${row.seq} answers question "${question!.id}" of ${
            nameOf(about)
          }, and not directly before the answer of that call`,
        );
      }
      if (row.data.outcome !== "cancelled") {
        found.find(
          "nothing-invented",
          `seq ${row.seq} answers question "${question!.id}" (seq ${
            question!.asked.seq
          }) as ${row.data.outcome}, and nobody did: cancelled is due`,
        );
      }
    }
    checkTime(found, row);
  }
}

function belongsTo(calls: readonly CallEvidence[], callId: string, root: CallEvidence): boolean {
  if (callId === root.callId) return true;
  return calls.some((call) => call.isNested && call.callId === callId && call.rootCallId === root.callId);
}

/** What an answer that a recovery wrote claims about its call. */
function checkAnswer(found: Case, before: CallEvidence, after: CallEvidence, row: Row): void {
  const { find } = found;
  const { class: evidence, because } = classOf(before);
  const { error, message, turn, step } = row.data;
  const verdict = verdictOf(after);
  const settled = isFinal(verdict?.data.verdict) ? verdict!.data.verdict : null;
  const said = `seq ${row.seq} answers ${nameOf(before)} with ${error?.code ?? "a success"}`;
  const block = message?.content?.[0];
  const isError = settled !== "happened";
  if (
    turn !== found.before.openTurn || step !== before.step || row.surfaceOp !== "append" || message?.role !== "user" ||
    message.content?.length !== 1 || block?.type !== "tool-result" || block.toolCallId !== before.callId
  ) {
    find("well-formed-transcript", `${said}, in a shape the format does not know: ${show(row.value)}`);
  }
  const due = settled === "happened"
    ? null
    : settled === "absent" || evidence !== "outcome_unknown"
    ? "TOOL_NOT_STARTED"
    : "TOOL_OUTCOME_UNKNOWN";
  const why = settled === null ? `it is ${evidence}: ${because}` : `seq ${verdict!.seq} settled it as ${settled}`;
  if ((error?.code ?? null) !== due || (block?.isError === true) !== isError) {
    find(settled === null ? "no-false-class" : "no-false-verdict", `${said}, and ${why}`);
  }
  const cited = row.sourceEventSeqs;
  const wanted = evidence === "not_started" || before.call === null ? undefined : before.call.seq;
  if (wanted === undefined ? cited !== undefined : cited?.length !== 1 || cited[0] !== wanted) {
    find(
      "no-false-class",
      `${said} and cites ${show(cited ?? "nothing")}; ${wanted ?? "nothing"} is due, because ${why}`,
    );
  }
  if (evidence === "not_started" && settled === null && block?.content?.[0]?.text !== NOT_STARTED_TEXT) {
    find("no-false-class", `${said}, and its text is not the constant of the format: ${show(block?.content)}`);
  }
  if (settled === null && message?.id !== `interrupted-tool-result-${before.callId}-${row.seq}`) {
    find("repair-idempotent", `${said} under the id ${show(message?.id)}, which another recovery would not give again`);
  }
  checkTime(found, row);
}

/**
 * Closers carry the time of the last real event, so that two recoveries write the same. Where a verdict stands before them, it
 * may count as that event or not.
 */
function checkTime({ before, added, find }: Case, { seq, type, time }: Row): void {
  const last = before.rows.at(-1);
  if (last === undefined || time === last.time) return;
  const isVerdict = (row: Row) => row.type === "effect/reconciled" || isNotice(row);
  if (before.rows.findLast((row) => !isVerdict(row))?.time === time) return;
  if (added.some((row) => row.time === time && isVerdict(row))) return;
  find(
    "repair-idempotent",
    `seq ${seq} (${type}) has the time ${time}, and the last real event, seq ${last.seq}, has ${last.time}`,
  );
}

function callIdOf({ data }: Row): string | undefined {
  return data.message?.source?.callId;
}

function namesOf(row: Row | undefined): string {
  return row === undefined
    ? "nothing more"
    : `seq ${row.seq}, ${row.type}${callIdOf(row) ? ` of "${callIdOf(row)}"` : ""}`;
}
