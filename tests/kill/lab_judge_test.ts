/** The judge of the lab finds what is wrong: every claim that it makes is broken here once. */
import { assertEquals, assertThrows } from "@std/assert";
import type { JudgedEffect, LabCase } from "./lab_case.ts";
import { judgeLab } from "./lab_judge.ts";
import type { LabPlan } from "./lab_plan.ts";
import type { RawRow } from "./raw_log.ts";
import type { TraceLine } from "./stretched_disk.ts";

const ID = "lab-1-0-0";
const KEY = "a".repeat(32);
const AGAIN_KEY = "b".repeat(32);

type Row = Omit<RawRow, "text" | "seq" | "time"> & { readonly text?: string };

const START: Row = { type: "turn/start", data: { turn: 1 } };
const PROPOSAL: Row = proposal(ID);
const CALL: Row = { type: "tool/call", data: { callId: ID, arguments: `{"to":"${ID}"}` } };
const MARKER: Row = { type: "effect/dispatched", data: { callId: ID, callSeq: 2, effectKey: KEY } };
const STEP_END: Row = { type: "step/end", data: { turn: 1 } };
const END: Row = { type: "turn/end", data: { turn: 1, reason: { kind: "interrupted" } } };

/** What is read again of a call that is made again, in a turn of its own from seq `from` on. */
function again(from: number): Row[] {
  const callId = `${ID}-again`;
  return [
    { type: "turn/start", data: { turn: 2 } },
    proposal(callId),
    { type: "tool/call", data: { callId, arguments: `{"to":"${ID}"}` } },
    { type: "effect/dispatched", data: { callId, callSeq: from + 2, effectKey: AGAIN_KEY } },
    result(undefined, from + 2, callId),
    { type: "turn/end", data: { turn: 2, reason: { kind: "completed" } } },
  ];
}

function proposal(id: string): Row {
  return {
    type: "assistant/message",
    data: { message: { source: {}, content: [{ type: "tool-call", id, arguments: "" }] } },
  };
}

function result(code: string | undefined, callSeq: number | null, callId: string = ID): Row {
  const sources = callSeq === null ? {} : { sourceEventSeqs: [callSeq] };
  const error = code === undefined ? {} : { error: { code } };
  return { type: "tool/result", data: { message: { source: { callId }, content: [] }, ...error }, ...sources };
}

function verdict(found: string): Row {
  return { type: "effect/reconciled", data: { callId: ID, callSeq: 2, effectKey: KEY, verdict: found } };
}

function notice(): Row {
  const content = [{ type: "text", text: `The outcome of the earlier call "${ID}" of tool "pay" was unknown.` }];
  return {
    type: "agent/inbox/spliced",
    data: { inserted: [{ source: { kind: "plugin", plugin: "holdfast" }, content }] },
  };
}

function log(...rows: readonly Row[]): RawRow[] {
  return rows.map((row, seq) => ({ ...row, seq, time: seq, text: row.text ?? JSON.stringify({ ...row, seq }) }));
}

const PLAN: LabPlan = {
  ...{ seed: 1, id: "lab-1", encoding: "zstd", isParallel: false },
  processes: [{
    calls: [{ id: ID, tool: "pay", fate: { kind: "prompt" }, isLookupLost: false }],
    ...{ aim: { kind: "nth", nth: 1 }, kill: "self", tornPart: 0.5, heldMs: 0 },
  }],
};

/** The marker is durable at 10, the body begins at 11. */
const TRACE: readonly TraceLine[] = [
  ["appended", 1, 2, "tool/call", null],
  ["write", 2, 0, 2],
  ["wrote", 3, 0, 2],
  ["sync", 4, 0, 2],
  ["synced", 5, 0, 2],
  ["appended", 6, 3, "effect/dispatched", 2],
  ["write", 7, 3, 3],
  ["wrote", 8, 3, 3],
  ["sync", 9, 3, 3],
  ["synced", 10, 3, 3],
  ["body", 11, 2, KEY],
];

const HAPPENED: JudgedEffect = { callId: ID, tool: "pay", key: KEY, at: 12 };
const HAPPENED_AGAIN: JudgedEffect = { callId: ID, tool: "pay", key: AGAIN_KEY, at: 99 };

const LEFT: readonly Row[] = [START, PROPOSAL, CALL, MARKER];

/** A kill after the marker; the lookup found that it happened. */
const SETTLED: LabCase = {
  plan: PLAN,
  processes: [{ left: log(...LEFT), trace: TRACE }],
  read: [{ callId: ID, class: "outcome_unknown" }],
  opened: { calls: [{ callId: ID, class: "outcome_unknown" }], unresolved: [] },
  final: log(...LEFT, verdict("happened"), result(undefined, 2), STEP_END, END),
  effects: [HAPPENED],
};

/** The same, and the lookup found that it never will happen; so it was done again. */
const ABSENT: LabCase = {
  ...SETTLED,
  final: log(...LEFT, verdict("absent"), result("TOOL_NOT_STARTED", 2), STEP_END, END, ...again(8)),
  effects: [HAPPENED_AGAIN],
};

/** The first lookup found nothing out, the second one did. */
const LATER: LabCase = {
  ...SETTLED,
  final: log(
    ...[...LEFT, verdict("undecidable"), result("TOOL_OUTCOME_UNKNOWN", 2), STEP_END, END],
    ...[verdict("happened"), notice()],
  ),
};

/** A kill before the marker; it was done again. */
const NOT_DISPATCHED: LabCase = {
  ...SETTLED,
  processes: [{ left: log(START, PROPOSAL, CALL), trace: TRACE.slice(0, 5) }],
  read: [{ callId: ID, class: "not_dispatched" }],
  opened: { calls: [{ callId: ID, class: "not_dispatched" }], unresolved: [] },
  final: log(START, PROPOSAL, CALL, result("TOOL_NOT_STARTED", 2), STEP_END, END, ...again(6)),
  effects: [HAPPENED_AGAIN],
};

const RIGHT: readonly [name: string, run: LabCase, found: string][] = [
  ["an unknown that happened", SETTLED, "outcome_unknown happened"],
  ["an unknown that never will", ABSENT, "outcome_unknown absent"],
  ["an unknown that was settled later", LATER, "outcome_unknown happened"],
  ["a call that was not dispatched", NOT_DISPATCHED, "not_dispatched null"],
];

for (const [name, run, found] of RIGHT) {
  Deno.test(`judgeLab() accepts ${name}`, () => {
    assertEquals(judgeLab(run).map(({ class: truth, settled }) => `${truth} ${settled}`), [found]);
  });
}

/** A trace with a line exchanged for another. */
function traced(change: (line: TraceLine) => TraceLine | null): LabCase["processes"] {
  return [{ left: SETTLED.processes[0]!.left, trace: TRACE.map(change).filter((line) => line !== null) }];
}

const WRONG: readonly [name: string, run: LabCase, found: string][] = [
  ["an event that has changed", { ...SETTLED, final: log(START, PROPOSAL, CALL, verdict("absent"), END) }, "seq 3 was"],
  ["a log that is gone", { ...SETTLED, processes: [...SETTLED.processes, { left: null, trace: [] }] }, "is gone"],
  [
    "an acknowledged event that is gone",
    { ...SETTLED, processes: [{ ...SETTLED.processes[0]!, trace: [...TRACE, ["synced", 12, 4, 4]] }] },
    "was told that seq 4",
  ],
  [
    "an event that nobody wrote",
    { ...SETTLED, processes: traced((line) => line[1] === 7 ? null : line) },
    "nobody wrote",
  ],
  ["a reader's false class", { ...SETTLED, read: [{ callId: ID, class: "not_dispatched" }] }, "a reader reported"],
  ["a call that a resume keeps quiet about", { ...SETTLED, opened: { calls: [], unresolved: [] } }, "resume reported"],
  ["an effect without intent", { ...SETTLED, effects: [{ ...HAPPENED, key: "c".repeat(32) }] }, "which no durable"],
  [
    "an effect before its marker was durable",
    { ...SETTLED, effects: [{ ...HAPPENED, at: 9 }] },
    "its marker was durable",
  ],
  [
    "a body that did not wait",
    { ...SETTLED, processes: traced((line) => line[0] === "body" ? ["body", 9, 2, KEY] : line) },
    "did not wait",
  ],
  ["an effect that happened twice", { ...SETTLED, effects: [HAPPENED, HAPPENED] }, "happened 2 times"],
  ["a call that was forgotten", { ...NOT_DISPATCHED, effects: [] }, "happened 0 times"],
  [
    "a call that is not dispatched and happened",
    { ...NOT_DISPATCHED, effects: [{ ...HAPPENED, key: null, at: null, attempt: "first" }] },
    "its first try happened",
  ],
  [
    "a false absent",
    { ...SETTLED, final: log(...LEFT, verdict("absent"), result("TOOL_NOT_STARTED", 2), STEP_END, END) },
    "happened, and the verdict is",
  ],
  [
    "a false happened",
    { ...ABSENT, final: log(...LEFT, verdict("happened"), result(undefined, 2), STEP_END, END, ...again(8)) },
    "never happened, and the verdict is",
  ],
  [
    "a lookup after a verdict",
    {
      ...SETTLED,
      final: log(...LEFT, verdict("happened"), result(undefined, 2), STEP_END, END, verdict("undecidable")),
    },
    "looked up again",
  ],
  [
    "a lookup about a call that never was unknown",
    { ...NOT_DISPATCHED, final: log(...NOT_DISPATCHED.final, verdict("absent")) },
    "was looked up",
  ],
  [
    "a result that does not say what was found out",
    { ...SETTLED, final: log(...LEFT, verdict("happened"), result("TOOL_OUTCOME_UNKNOWN", 2), STEP_END, END) },
    "and its result says",
  ],
  ["a verdict that nobody is told", { ...LATER, final: LATER.final.slice(0, -1) }, "due is 1"],
  ["a notice that comes twice", { ...LATER, final: log(...LATER.final, notice()) }, "was told about 2 times"],
  ["a turn that is open", { ...SETTLED, final: SETTLED.final.slice(0, -1) }, "is open at the end"],
  [
    "a call with two results",
    { ...SETTLED, final: log(...LEFT, verdict("happened"), result(undefined, 2), result(undefined, 2), STEP_END, END) },
    "nobody waited for",
  ],
  [
    "an unknown whose result was written",
    {
      ...SETTLED,
      processes: [{
        left: SETTLED.processes[0]!.left,
        trace: [...TRACE, ["appended", 12, 4, "tool/result", 2], ["write", 13, 4, 4], ["wrote", 14, 4, 4]],
      }],
    },
    "its result was written",
  ],
];

for (const [name, run, found] of WRONG) {
  Deno.test(`judgeLab() finds ${name}`, () => {
    assertThrows(() => judgeLab(run), Error, found);
  });
}
