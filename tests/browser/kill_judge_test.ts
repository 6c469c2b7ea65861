/** The judges of the browser tests find what is wrong: every claim they make is broken here once. */
import { assertEquals, assertThrows } from "@std/assert";
import { encodeZstdFrame } from "../../src/entry/file.ts";
import { type BrowserCase, judgeRun } from "./support/judge.ts";
import { judgeLog, type SessionCase } from "./support/judge_log.ts";
import { wholeLog } from "./support/judge.ts";
import type { Arrival } from "./support/remote.ts";

type Row = Record<string, unknown>;

const KEY = "k".repeat(32);

const HEADER: Row = { type: "session", version: 3, id: "s", createdAt: 0, isSeeded: false, delegationDepth: 0 };
const START: Row = { type: "turn/start", data: { turn: 1 } };
const INPUT: Row = {
  type: "user/message",
  data: { content: [{ type: "text", text: "pay 1 to a" }], source: { kind: "user" } },
};
const INSERTED: Row = {
  type: "agent/inbox/spliced",
  data: { target: "next-turn", start: 0, inserted: [{ content: [{ type: "text", text: "pay 1 to a" }] }] },
};
const CLAIMED: Row = {
  type: "agent/inbox/spliced",
  data: { target: "next-turn", start: 0, removedCount: 1, inserted: [] },
};
const COMPLETED: Row = { type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } };
const PROPOSAL: Row = {
  type: "assistant/message",
  data: { message: { content: [{ type: "tool-call", id: "c1", arguments: `{"to":"a"}` }], source: {} } },
};
const CALL: Row = { type: "tool/call", data: { callId: "c1", arguments: `{"to":"a"}` } };
const MARKER: Row = { type: "effect/dispatched", data: { callId: "c1", callSeq: 3, effectKey: KEY } };
const END: Row = { type: "turn/end", data: { turn: 1, reason: { kind: "interrupted" } } };

/** A result of the call: what came back, or a closer with its code. */
function result(code: string | null, cites: readonly number[] | null = null): Row {
  const data = { message: { content: [], source: { callId: "c1" } }, ...code === null ? {} : { error: { code } } };
  return { type: "tool/result", data, ...cites === null ? {} : { sourceEventSeqs: cites } };
}

/** The bytes of a log with these events. */
function log(...events: readonly Row[]): Uint8Array {
  const rows = events.map((event, seq) => JSON.stringify({ ...event, seq, time: 1000 + seq }));
  const frames = [[JSON.stringify(HEADER)], rows].map((rows) => encodeZstdFrame(rows));
  return new Uint8Array(frames.flatMap((frame) => [...frame]));
}

const ARRIVAL: Arrival = { effectKey: KEY, to: "a", arrivedAt: 1, paidAt: 2, witness: true };

/** A kill after the marker, rightly closed as unknown. */
const UNKNOWN: BrowserCase = {
  killed: log(START, INPUT, PROPOSAL, CALL, MARKER),
  repaired: log(START, INPUT, PROPOSAL, CALL, MARKER, result("TOOL_OUTCOME_UNKNOWN", [3]), END),
  told: { durableSeq: 4, events: [{ ...START, seq: 0, time: 1000 } as never] },
  arrivals: [ARRIVAL],
  reported: new Map([["c1", "outcome_unknown"]]),
};

Deno.test("judgeRun() accepts a kill after the marker that was closed as unknown", () => {
  assertEquals(judgeRun(UNKNOWN), [{ callId: "c1", class: "outcome_unknown" }]);
});

const NOT_DISPATCHED: BrowserCase = {
  ...UNKNOWN,
  killed: log(START, INPUT, PROPOSAL, CALL),
  repaired: log(START, INPUT, PROPOSAL, CALL, result("TOOL_NOT_STARTED", [3]), END),
  told: { durableSeq: 3, events: [] },
  arrivals: [],
  reported: new Map([["c1", "not_dispatched"]]),
};

Deno.test("judgeRun() accepts a kill before the marker, and one before the log", () => {
  assertEquals(judgeRun(NOT_DISPATCHED), [{ callId: "c1", class: "not_dispatched" }]);
  const told = { durableSeq: -1, events: [] };
  assertEquals(judgeRun({ killed: null, repaired: null, told, arrivals: [], reported: new Map() }), []);
});

const WRONG: readonly [name: string, run: BrowserCase, found: string][] = [
  ["an acknowledged event that is gone", { ...UNKNOWN, told: { durableSeq: 5, events: [] } }, "was told to be durable"],
  [
    "an acknowledged event that is another",
    { ...UNKNOWN, told: { durableSeq: 4, events: [{ type: "turn/end", seq: 0, time: 1000, data: {} }] } },
    "was told to be durable as",
  ],
  ["an effect without a marker", { ...NOT_DISPATCHED, arrivals: [ARRIVAL] }, "which no effect/dispatched"],
  [
    "an effect whose marker came to the disk later",
    { ...UNKNOWN, arrivals: [{ ...ARRIVAL, witness: false }] },
    "arrived before its marker",
  ],
  [
    "a class that was reported otherwise",
    { ...UNKNOWN, reported: new Map([["c1", "not_dispatched"]]) },
    "reported was not_dispatched",
  ],
  [
    "a call that is closed as not started although it may have run",
    { ...UNKNOWN, repaired: log(START, INPUT, PROPOSAL, CALL, MARKER, result("TOOL_NOT_STARTED", [3]), END) },
    "c1 is outcome_unknown",
  ],
  ["a call without a result", { ...UNKNOWN, repaired: log(START, INPUT, PROPOSAL, CALL, MARKER, END) }, "0 results"],
  [
    "a repair that changes what was there",
    { ...UNKNOWN, repaired: log(START, PROPOSAL, INPUT, CALL, MARKER, result("TOOL_OUTCOME_UNKNOWN", [3]), END) },
    "the repair changed seq 1",
  ],
  [
    "an effect when there is no log",
    { killed: null, repaired: null, told: { durableSeq: -1, events: [] }, arrivals: [ARRIVAL], reported: new Map() },
    "there is no log",
  ],
  [
    "a result although nobody was paid",
    {
      ...UNKNOWN,
      killed: log(START, INPUT, PROPOSAL, CALL, MARKER, result(null), END),
      repaired: log(START, INPUT, PROPOSAL, CALL, MARKER, result(null), END),
      arrivals: [],
      reported: new Map(),
    },
    "the remote was asked 0 times",
  ],
];

for (const [name, run, found] of WRONG) {
  Deno.test(`judgeRun() finds ${name}`, () => {
    assertThrows(() => judgeRun(run), Error, found);
  });
}

/** One payment from its input to its end; its `tool/call` has seq 5. */
const MARKER_OF_5: Row = { type: "effect/dispatched", data: { callId: "c1", callSeq: 5, effectKey: KEY } };
const PAID = [INSERTED, START, CLAIMED, INPUT, PROPOSAL, CALL, MARKER_OF_5, result(null), COMPLETED];

const SESSION: SessionCase = {
  rows: wholeLog(log(...PAID)),
  told: [{ durableSeq: 8, events: [] }],
  arrivals: [ARRIVAL],
  inputs: ["pay 1 to a"],
};

Deno.test("judgeLog() accepts a payment that was made once, and an input that was taken again after its turn was cut off", () => {
  assertEquals(judgeLog(SESSION).done, 1);
  const second = [{ ...START, data: { turn: 2 } }, CLAIMED, INPUT, { ...END, data: { ...END.data as Row, turn: 2 } }];
  const rows = wholeLog(log(INSERTED, START, CLAIMED, END, INSERTED, ...second));
  assertEquals(judgeLog({ rows, told: [], arrivals: [], inputs: SESSION.inputs }).done, 0);
});

const WRONG_SESSIONS: readonly [name: string, session: SessionCase, found: string][] = [
  [
    "a fork: another event was told to be durable",
    { ...SESSION, told: [{ durableSeq: 8, events: [{ type: "turn/start", seq: 2, time: 1002, data: {} }] }] },
    "was told to be durable as",
  ],
  ["an input that is lost", { ...SESSION, inputs: ["pay 1 to a", "pay 1 to b"] }, "was never taken"],
  [
    "an input that was taken twice",
    { ...SESSION, rows: wholeLog(log(...PAID, INSERTED)), told: [] },
    "was taken 2 times",
  ],
  [
    "an input that the model was told twice",
    { ...SESSION, rows: wholeLog(log(...PAID.slice(0, -1), INPUT, COMPLETED)), told: [] },
    "was told the input",
  ],
  [
    "an input that nobody claimed",
    { ...SESSION, rows: wholeLog(log(INSERTED)), told: [], arrivals: [] },
    "still waits",
  ],
  [
    "an input that a whole turn forgot",
    { ...SESSION, rows: wholeLog(log(INSERTED, START, CLAIMED, COMPLETED)), told: [], arrivals: [] },
    "0 times",
  ],
  ["a payment that was made twice", { ...SESSION, arrivals: [ARRIVAL, ARRIVAL] }, "reached the remote 2 times"],
];

for (const [name, session, found] of WRONG_SESSIONS) {
  Deno.test(`judgeLog() finds ${name}`, () => {
    assertThrows(() => judgeLog(session), Error, found);
  });
}
