/**
 * `durable-intent`: what took effect had been announced in durable bytes before.
 * `unknown-window`: unknown only between the start of the marker's flush and the end of the result's.
 *
 * @module
 */
import { type Case, showEffect } from "./case.ts";
import { type CallEvidence, classOf, type Evidence, nameOf } from "./evidence.ts";
import { canonicalArguments } from "./json.ts";
import { show } from "./rows.ts";
import type { CallSteps, LabTrace } from "./trace.ts";

/** Every effect has an earlier durable marker of a recorded call that holds its key, and no marker stands behind a refusal. */
export function checkIntent({ trace, before, asked, find }: Case): void {
  for (const call of before.calls) {
    const refused = refusalOf(call, before);
    if (refused !== null) {
      find("durable-intent", `${nameOf(call)} was dispatched (seq ${call.marker!.seq}) and ${refused}`);
    }
  }
  for (const effect of asked) {
    const said = showEffect(effect);
    const marker = before.rows.find(({ type, data }) =>
      type === "effect/dispatched" && data.effectKey === effect.effectKey && data.callId === effect.callId
    );
    if (marker === undefined) {
      find(
        "durable-intent",
        `the world let happen (${said}), and no durable effect/dispatched holds this key for this call`,
      );
      continue;
    }
    const call = before.rows[marker.data.callSeq ?? -1];
    const isRecorded = call !== undefined && call.seq < marker.seq && callIdOf(call) === effect.callId;
    if (!isRecorded) {
      find(
        "durable-intent",
        `the world let happen (${said}); its marker, seq ${marker.seq}, names seq ${marker.data.callSeq} as the call, ` +
          `which is ${call === undefined ? "not there" : `a ${call.type} of "${callIdOf(call) ?? "nobody"}"`}`,
      );
    }
    const recorded = call?.data.arguments;
    if (isRecorded && effect.arguments !== undefined && typeof recorded === "string") {
      if (canonicalArguments(recorded) !== canonicalArguments(effect.arguments)) {
        find(
          "durable-intent",
          `the world let happen (${said}) with the arguments ${
            show(effect.arguments)
          }, and its tool/call, seq ${call.seq}, ` +
            `has ${show(recorded)}`,
        );
      }
    }
    const steps = stepsOf(trace, effect.callId, effect.incarnation);
    const durableAt = steps?.markerFlushEndedAtStep;
    if (durableAt === undefined || durableAt >= effect.acceptedAtStep) {
      find(
        "durable-intent",
        `the world let happen (${said}), and the flush of its marker, seq ${marker.seq}, ` +
          (durableAt === undefined ? "had not ended at all" : `ended only at step ${durableAt}`),
      );
    }
  }
  for (const { oddMarker } of before.lifecycles) {
    if (oddMarker === null) continue;
    const { callId, callSeq } = oddMarker.data;
    find(
      "durable-intent",
      `seq ${oddMarker.seq} is a marker of call "${callId}" at seq ${callSeq}, and fits no recorded call`,
    );
  }
  for (const { callId, callSeq, bodyStartedAtStep, markerFlushEndedAtStep } of trace.calls) {
    if (bodyStartedAtStep === undefined) continue;
    if (markerFlushEndedAtStep !== undefined && markerFlushEndedAtStep < bodyStartedAtStep) continue;
    find(
      "durable-intent",
      `the body of call "${callId}" (tool/call seq ${callSeq}) began at step ${bodyStartedAtStep}, and the flush of its marker ` +
        (markerFlushEndedAtStep === undefined ? "had not ended" : `ended at step ${markerFlushEndedAtStep}`),
    );
  }
}

/** Why the marker of a call should not be there: a question about it was not answered with yes before. */
function refusalOf({ callId, call, marker }: CallEvidence, { decided, openQuestions }: Evidence): string | null {
  if (call === null || marker === null) return null;
  const isOfThisTry = ({ seq }: { readonly seq: number }) => seq > call.seq && seq < marker.seq;
  for (const question of decided.values()) {
    if (question.asked.data.callId !== callId || !isOfThisTry(question.asked)) continue;
    const { seq, data: { outcome } } = question.decided;
    if (outcome !== "allowed-once") return `the answer to its question, seq ${seq}, is ${outcome}`;
    if (seq > marker.seq) return `the answer to its question came only at seq ${seq}`;
  }
  const open = openQuestions.find((question) => question.callId === callId && isOfThisTry(question.asked));
  return open === undefined ? null : `its question, seq ${open.asked.seq}, has no answer`;
}

function callIdOf({ type, data }: { type: string; data: { callId?: string; subCallId?: string } }): string | undefined {
  if (type === "tool/call") return data.callId;
  return type === "tool/ptc-dispatch-start" ? data.subCallId : undefined;
}

/** The steps of a call of one process. */
export function stepsOf({ calls }: LabTrace, callId: string, incarnation: number): CallSteps | undefined {
  return calls.find((steps) => steps.callId === callId && steps.incarnation === incarnation);
}

/** A call that the crash left unknown was between its two flushes, and one that was for sure is unknown. */
export function checkWindow({ trace, before, find }: Case): void {
  const { crashedAtStep } = trace;
  for (const call of before.calls) {
    // A call answered before the crash was another crash's unknown, and without barriers nothing is promised.
    if (call.result !== null || !call.lifecycle.hasBarriers) continue;
    // Where a marker fits nothing, nobody can know which call it was for.
    if (call.marker === null && call.lifecycle.oddMarker !== null) continue;
    const steps = trace.calls.find(({ callId, callSeq }) => callId === call.callId && callSeq === call.call?.seq);
    const evidence = classOf(call);
    const said = `${nameOf(call)} is ${evidence.class} after the crash at step ${crashedAtStep} (${evidence.because})`;
    if (evidence.class === "outcome_unknown") {
      const outside = outsideOfWindow(steps, crashedAtStep);
      if (outside !== null) find("unknown-window", `${said}, and ${outside}`);
    } else if (mustBeUnknown(call, steps, crashedAtStep)) {
      find(
        "unknown-window",
        `${said}, and the flush of its marker had ended at step ${
          steps!.markerFlushEndedAtStep
        }, so its body may have run`,
      );
    }
  }
}

function outsideOfWindow(steps: CallSteps | undefined, crashedAtStep: number): string | null {
  const started = steps?.markerFlushStartedAtStep;
  const ended = steps?.resultFlushEndedAtStep;
  if (started === undefined) return "the flush of its marker had not begun";
  if (started > crashedAtStep) return `the flush of its marker began only at step ${started}`;
  if (ended !== undefined && ended <= crashedAtStep) return `the flush of its result had ended at step ${ended}`;
  return null;
}

function mustBeUnknown(call: CallEvidence, steps: CallSteps | undefined, crashedAtStep: number): boolean {
  const { markerFlushEndedAtStep: marker, resultFlushStartedAtStep: result } = steps ?? {};
  if (call.call === null || marker === undefined || marker > crashedAtStep) return false;
  return result === undefined || result > crashedAtStep;
}
