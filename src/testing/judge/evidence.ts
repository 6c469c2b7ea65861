/**
 * What the durable events of a log say about each call: a walk of the judge's own, by the session format §9, the execution
 * facts §7 and the crash classes of the file format.
 *
 * @module
 */
import type { Row } from "./rows.ts";
import type { CallClass } from "./trace.ts";

/** A call as its events show it. */
export interface CallEvidence {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly turn: number;
  readonly step: number;
  /** The seq of its `assistant/message`; of a nested call: of its `tool/ptc-dispatch-start`. */
  readonly proposedSeq: number;
  readonly lifecycle: Lifecycle;
  readonly isNested: boolean;
  /** Of a nested call: the top-level call it belongs to. */
  readonly rootCallId: string | null;
  /** The row of its `tool/call` or `tool/ptc-dispatch-start`. */
  call: Row | null;
  /** The first marker that fits it in everything. */
  marker: Row | null;
  /** More markers than one. */
  moreMarkers: Row[];
  /** The first row that answers it. */
  result: Row | null;
  /** Further answers. */
  moreResults: Row[];
  /** Verdicts about it, in order. */
  readonly verdicts: Row[];
}

/** The events from one `session/end-seed` up to the next. */
export interface Lifecycle {
  readonly fromSeq: number;
  /** Barriers were on by its `checkpoint/policy`. */
  hasBarriers: boolean;
  /** A marker in it fits no recorded call: nothing can be said about its pending calls. */
  oddMarker: Row | null;
}

/** A question without its answer. */
export interface OpenQuestion {
  readonly id: string;
  readonly callId: string | null;
  readonly asked: Row;
  readonly lifecycle: Lifecycle;
}

/** What a walk over the events of a log finds. */
export interface Evidence {
  readonly rows: readonly Row[];
  readonly calls: readonly CallEvidence[];
  readonly lifecycles: readonly Lifecycle[];
  readonly openTurn: number | null;
  readonly openStep: number | null;
  /** The unanswered calls of the open step, in the order of their message. */
  readonly pending: readonly CallEvidence[];
  readonly openQuestions: readonly OpenQuestion[];
  /** Answers to questions by the id of the question. */
  readonly decided: ReadonlyMap<string, { readonly asked: Row; readonly decided: Row }>;
  /** Verdicts that are about no call that was dispatched. */
  readonly oddVerdicts: readonly Row[];
  /** Results that answer no call that waits. */
  readonly orphans: readonly Row[];
}

/** Walks the events of a log once. */
export function walkEvents(rows: readonly Row[]): Evidence {
  const calls: CallEvidence[] = [];
  const lifecycles: Lifecycle[] = [];
  const bySeq = new Map<number, CallEvidence>();
  const pending = new Map<string, CallEvidence>();
  const nested = new Map<string, CallEvidence>();
  const asked = new Map<string, OpenQuestion>();
  const decided = new Map<string, { asked: Row; decided: Row }>();
  const oddVerdicts: Row[] = [];
  const orphans: Row[] = [];
  let openTurn: number | null = null;
  let openStep: number | null = null;
  let lifecycle: Lifecycle = { fromSeq: 0, hasBarriers: false, oddMarker: null };
  let hasTurn = false;
  lifecycles.push(lifecycle);

  for (const row of rows) {
    const { type, data, seq } = row;
    switch (type) {
      case "session/end-seed":
        lifecycle = { fromSeq: seq, hasBarriers: false, oddMarker: null };
        hasTurn = false;
        lifecycles.push(lifecycle);
        break;
      case "checkpoint/policy":
        if (!hasTurn && data.barriers?.includes("tool") && data.marker === true) lifecycle.hasBarriers = true;
        break;
      case "log/salvaged":
        for (const earlier of lifecycles) earlier.hasBarriers = false;
        break;
      case "turn/start":
        hasTurn = true;
        openTurn = data.turn ?? null;
        openStep = null;
        pending.clear();
        nested.clear();
        break;
      case "turn/end":
        openTurn = null;
        openStep = null;
        pending.clear();
        nested.clear();
        break;
      case "step/start":
        openStep = data.step ?? null;
        break;
      case "step/end":
        openStep = null;
        pending.clear();
        nested.clear();
        break;
      case "assistant/message":
        for (const block of data.message?.content ?? []) {
          if (block.type !== "tool-call" || typeof block.id !== "string") continue;
          const call = newCall(block.id, block.name ?? "", block.arguments ?? "", row, lifecycle, null);
          calls.push(call);
          pending.set(block.id, call);
        }
        break;
      case "tool/call": {
        const call = pending.get(data.callId ?? "");
        if (call === undefined || call.call !== null) break;
        call.call = row;
        bySeq.set(seq, call);
        break;
      }
      case "tool/ptc-dispatch-start": {
        const call = newCall(
          data.subCallId ?? "",
          data.name ?? "",
          textOf(data.arguments),
          row,
          lifecycle,
          data.rootCallId ?? null,
        );
        call.call = row;
        calls.push(call);
        nested.set(call.callId, call);
        bySeq.set(seq, call);
        break;
      }
      case "tool/ptc-dispatch": {
        const call = nested.get(data.subCallId ?? "");
        if (call === undefined) break;
        if (call.result === null) call.result = row;
        else call.moreResults.push(row);
        break;
      }
      case "effect/dispatched": {
        const call = bySeq.get(data.callSeq ?? -1);
        if (call === undefined || !fits(call, row)) lifecycle.oddMarker ??= row;
        else if (call.marker === null) call.marker = row;
        else call.moreMarkers.push(row);
        break;
      }
      case "effect/reconciled": {
        const call = bySeq.get(data.callSeq ?? -1);
        if (call?.marker == null || call.callId !== data.callId) oddVerdicts.push(row);
        else call.verdicts.push(row);
        break;
      }
      case "tool/result": {
        const callId = data.message?.source?.callId ?? "";
        const call = pending.get(callId);
        if (call !== undefined) {
          call.result = row;
          pending.delete(callId);
          break;
        }
        // A replacement of a result on the surface answers nothing anew.
        if (row.surfaceOp !== "append") break;
        const answered = calls.findLast((call) => call.callId === callId && call.result !== null);
        if (answered === undefined) orphans.push(row);
        else answered.moreResults.push(row);
        break;
      }
      case "approval/asked":
        asked.set(data.id ?? "", { id: data.id ?? "", callId: data.callId ?? null, asked: row, lifecycle });
        break;
      case "approval/decided": {
        const question = asked.get(data.id ?? "");
        if (question !== undefined) decided.set(question.id, { asked: question.asked, decided: row });
        asked.delete(data.id ?? "");
        break;
      }
    }
  }
  return {
    ...{ rows, calls, lifecycles, openTurn, openStep, pending: [...pending.values()] },
    ...{ openQuestions: [...asked.values()], decided, oddVerdicts, orphans },
  };
}

function newCall(
  callId: string,
  name: string,
  text: string,
  { data, seq }: Row,
  lifecycle: Lifecycle,
  rootCallId: string | null,
): CallEvidence {
  return {
    ...{ callId, name, arguments: text, turn: data.turn ?? 0, step: data.step ?? 0, proposedSeq: seq, lifecycle },
    ...{ isNested: rootCallId !== null, rootCallId, call: null, marker: null, moreMarkers: [], result: null },
    ...{ moreResults: [], verdicts: [] },
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** A marker fits a call in turn, step and id; a nested call's start names no turn, so only its id counts. */
function fits(call: CallEvidence, { data }: Row): boolean {
  if (call.callId !== data.callId || typeof data.effectKey !== "string") return false;
  return call.isNested || (call.turn === data.turn && call.step === data.step);
}

/** What may be said about a call by the durable evidence. */
export interface ClassOfEvidence {
  /** The class; for a call that was settled: the one it had before. */
  readonly class: CallClass;
  /** The class is one that a crash left, not a process that lived. */
  readonly isLeft: boolean;
  /** Which rows say so, for a person. */
  readonly because: string;
}

/** Classes a call by the rows that are there, and by nothing else. */
export function classOf(call: CallEvidence): ClassOfEvidence {
  const { result, marker, lifecycle } = call;
  if (result !== null) return classOfResult(call, result);
  const odd = lifecycle.oddMarker;
  if (!lifecycle.hasBarriers) {
    return call.call === null ? left("not_started", `seq ${call.proposedSeq} proposes it, nothing records it`) : left(
      "outcome_unknown",
      `tool/call is seq ${call.call.seq}, and no checkpoint/policy of its lifecycle promises a marker`,
    );
  }
  if (marker !== null) return left("outcome_unknown", `its marker is seq ${marker.seq}, and no result follows`);
  if (odd !== null) {
    return left("outcome_unknown", `the marker at seq ${odd.seq} of its lifecycle fits no recorded call`);
  }
  if (call.call === null) return left("not_started", `seq ${call.proposedSeq} proposes it, nothing records it`);
  return left("not_dispatched", `tool/call is seq ${call.call.seq}, and no marker follows`);
}

function left(name: CallClass, because: string): ClassOfEvidence {
  return { class: name, isLeft: true, because };
}

function classOfResult(call: CallEvidence, result: Row): ClassOfEvidence {
  const because = `its result is seq ${result.seq}`;
  const code = result.data.error?.code;
  const settled = call.verdicts.some(({ seq, data }) => seq < result.seq && isFinal(data.verdict));
  if (code === "TOOL_OUTCOME_UNKNOWN" || settled) {
    return left("outcome_unknown", `${because}${settled ? ", after a verdict" : `, ${code}`}`);
  }
  if (code === "TOOL_NOT_STARTED") {
    return left(result.sourceEventSeqs === undefined ? "not_started" : "not_dispatched", `${because}, ${code}`);
  }
  const timedOut = code === "TOOL_TIMEOUT" && call.marker !== null && call.marker.data.effect !== "none";
  return {
    class: timedOut ? "outcome_unknown" : "done",
    isLeft: false,
    because: code ? `${because}, ${code}` : because,
  };
}

/** Says whether a verdict settles for good. */
export function isFinal(verdict: string | undefined): boolean {
  return verdict === "happened" || verdict === "absent";
}

/** The verdict that holds: the last one, unless a final one came before. */
export function verdictOf(call: CallEvidence): Row | null {
  return call.verdicts.find(({ data }) => isFinal(data.verdict)) ?? call.verdicts.at(-1) ?? null;
}

/** A call in a message for a person. */
export function nameOf(call: CallEvidence): string {
  const seq = call.call === null ? `proposed at seq ${call.proposedSeq}` : `${call.call.type} seq ${call.call.seq}`;
  return `call "${call.callId}" of ${call.name} (${seq})`;
}
