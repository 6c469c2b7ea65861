import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  ABSENT_TEXT,
  encodeRow,
  type EventData,
  HAPPENED_TEXT,
  NOT_DISPATCHED_TEXT,
  NOT_STARTED_TEXT,
  OUTCOME_UNKNOWN_TEXT,
  parseRow,
  type SessionEvent,
  shapeProblem,
} from "../../src/event/mod.ts";
import { deriveMessages, foldEvents, logFold } from "../../src/fold/mod.ts";
import { closers } from "../../src/session/repair.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { randomLogs } from "../fold/random_log.ts";

function closersOf(events: readonly SessionEvent[]): SessionEvent[] {
  return closers(foldEvents(logFold, events));
}

function closersAfter(write: (log: LogBuilder) => void): SessionEvent[] {
  const log = new LogBuilder();
  write(log);
  return closersOf(log.events);
}

/** A closer in short: type, and what tells one result or answer from another. */
function short(event: SessionEvent): string {
  if (event.type === "tool/result") {
    const { message, error } = event.data as unknown as EventData["tool/result"];
    const text = TEXTS.get(textOf(event)) ?? textOf(event);
    return `${message.source.callId} ${error?.code ?? "ok"} ${text} from ${event.sourceEventSeqs}`;
  }
  if (event.type === "approval/decided") return `decided ${(event.data as { id: string }).id}`;
  return event.type;
}

function textOf(event: SessionEvent): string {
  const [block] = (event.data as unknown as EventData["tool/result"]).message.content;
  const [text] = (block as unknown as { content: { text: string }[] }).content;
  return text!.text;
}

const TEXTS = new Map([
  [NOT_STARTED_TEXT, "not started"],
  [NOT_DISPATCHED_TEXT, "not dispatched"],
  [OUTCOME_UNKNOWN_TEXT, "unknown"],
]);
const NOT_STARTED = "TOOL_NOT_STARTED not started from undefined";
const NOT_DISPATCHED = "TOOL_NOT_STARTED not dispatched";
const UNKNOWN = "TOOL_OUTCOME_UNKNOWN unknown";
const END = ["step/end", "turn/end"];

function check(name: string, write: (log: LogBuilder) => void, expected: readonly string[]): void {
  assertEquals(closersAfter(write).map(short), expected, name);
}

Deno.test("exec/R01: a log without an open turn has no closers", () => {
  check("empty", () => {}, []);
  check("turn/end", (log) => (log.openStep(), log.endStep(), log.endTurn()), []);
  check("after turn/end", (log) => (log.startTurn(), log.endTurn(), log.endSeed(), log.policy()), []);
});

Deno.test("exec/R02: an open turn without a step gets turn/end {interrupted}", () => {
  const [event, ...others] = closersAfter((log) => log.startTurn());
  assertEquals(others, []);
  assertEquals(
    JSON.stringify(event),
    '{"type":"turn/end","seq":1,"time":1000,"data":{"turn":1,"reason":{"kind":"interrupted"}}}',
  );
  check("between steps", (log) => (log.openStep(), log.endStep()), ["turn/end"]);
});

Deno.test("exec/R03: an open step gets step/end, then turn/end", () => {
  const events = closersAfter((log) => (log.startTurn(), log.startStep()));
  assertEquals(events.map((event) => [event.type, event.seq, event.data]), [
    ["step/end", 2, { turn: 1, step: 1 }],
    ["turn/end", 3, { turn: 1, reason: { kind: "interrupted" } }],
  ]);
  check("with an answer", (log) => log.openStep(), END);
});

Deno.test("exec/R04: a call that was only proposed gets TOOL_NOT_STARTED, in the format's bytes", () => {
  const [event] = closersAfter((log) => log.openStep("c1"));
  assertEquals(
    encodeRow(event!),
    '{"type":"tool/result","seq":3,"time":1002,"data":{"turn":1,"step":1,"message":{"id":"interrupted-tool-result-c1-3",' +
      '"role":"user","source":{"kind":"tool","callId":"c1"},"content":[{"type":"tool-result","toolCallId":"c1",' +
      '"isError":true,"content":[{"type":"text","text":"The tool call was interrupted before the Harness recorded it as ' +
      'started. Retry it if it is still needed."}]}]},"error":{"name":"ToolNotStartedError","code":"TOOL_NOT_STARTED"}},' +
      '"surfaceOp":"append"}',
  );
});

Deno.test("exec/R06: a call that has its result gets no other", () => {
  check("one of two", (log) => (log.openStep("a", "b"), log.call("a"), log.result("a")), [`b ${NOT_STARTED}`, ...END]);
  check("all", (log) => (log.openStep("a"), log.call("a"), log.result("a")), END);
});

Deno.test("exec/R08: only the open turn is repaired, and only its open step", () => {
  const earlier = (log: LogBuilder) => (log.openStep("a"), log.call("a"), log.endStep(), log.endTurn());
  check("earlier turn", (log) => (earlier(log), log.openStep("b")), [`b ${NOT_STARTED}`, ...END]);
  check("earlier step", (log) => (log.openStep("a"), log.call("a"), log.endStep(), log.startStep()), END);
  check("closed turn only", earlier, []);
});

Deno.test("exec/R21: results come in the message's order, whatever the order of the calls", () => {
  check("three", (log) => (log.openStep("a", "b", "c"), log.call("c"), log.call("a")), [
    `a ${UNKNOWN} from 4`,
    `b ${NOT_STARTED}`,
    `c ${UNKNOWN} from 3`,
    ...END,
  ]);
});

Deno.test("each crash class has its own text, and a recorded call is cited", () => {
  check("barriers on", (log) => {
    log.policy();
    log.openStep("a", "b", "c");
    log.call("a");
    log.marker("a");
    log.call("b");
  }, [`a ${UNKNOWN} from 4`, `b ${NOT_DISPATCHED} from 6`, `c ${NOT_STARTED}`, ...END]);
  check("barriers off", (log) => {
    log.openStep("a", "b");
    log.call("a");
  }, [`a ${UNKNOWN} from 3`, `b ${NOT_STARTED}`, ...END]);
  check("another program's end-seed, then its call", (log) => {
    log.policy();
    log.openStep("a");
    log.endSeed();
    log.call("a");
  }, [`a ${UNKNOWN} from 5`, ...END]);
  check("salvaged", (log) => (log.policy(), log.openStep("a"), log.call("a"), log.salvaged()), [
    `a ${UNKNOWN} from 4`,
    ...END,
  ]);
  check("stray marker", (log) => (log.policy(), log.openStep("a", "b"), log.call("a"), log.marker("x")), [
    `a ${UNKNOWN} from 4`,
    `b ${UNKNOWN} from undefined`,
    ...END,
  ]);
});

Deno.test("exec/A21: a question left open is cancelled directly before its call's closer", () => {
  const ours = (log: LogBuilder) => (log.policy(), log.openStep("a", "b"), log.call("a"), log.call("b"));
  check("with a call", (log) => (ours(log), log.asked("q", "b")), [
    `a ${NOT_DISPATCHED} from 4`,
    "decided q",
    `b ${NOT_DISPATCHED} from 5`,
    ...END,
  ]);
  check("without a call", (log) => (ours(log), log.asked("q")), [
    "decided q",
    `a ${NOT_DISPATCHED} from 4`,
    `b ${NOT_DISPATCHED} from 5`,
    ...END,
  ]);
  check("no call at all", (log) => (log.policy(), log.startTurn(), log.asked("q", "gone")), ["decided q", "turn/end"]);
  check("decided", (log) => (log.policy(), log.openStep("a"), log.call("a"), log.asked("q", "a"), log.decided("q")), [
    `a ${NOT_DISPATCHED} from 4`,
    ...END,
  ]);
  const [event] = closersAfter((log) => (log.policy(), log.startTurn(), log.asked("q")));
  assertEquals(
    encodeRow(event!),
    '{"type":"approval/decided","seq":3,"time":1002,"data":{"id":"q","outcome":"cancelled"}}',
  );
});

Deno.test("a question of a lifecycle without barriers stays open, as the format says", () => {
  check("no policy", (log) => (log.openStep("a"), log.call("a"), log.asked("q", "a")), [`a ${UNKNOWN} from 3`, ...END]);
  check("end-seed after the question", (log) => (log.policy(), log.startTurn(), log.asked("q"), log.endSeed()), [
    "turn/end",
  ]);
});

Deno.test("compaction/C-24: an open compaction gets no end, and the closers may cross it", () => {
  const log = new LogBuilder();
  log.openStep();
  log.compaction(1);
  assertEquals(closersOf(log.events).map(short), END);
  log.append(closersOf(log.events));
  log.endSeed();
  const { brackets } = log.folds();
  assertEquals([brackets.problems.count, brackets.compaction, brackets.turn], [0, null, null]);
});

Deno.test("compaction/C-25: a log cut after each event of a compaction is repaired and can be compacted again", () => {
  const log = new LogBuilder();
  log.startTurn();
  const user = log.user("long");
  log.startStep();
  const start = log.compaction(1);
  const summary = log.summary(user, user, [user]);
  log.checkpoint(user, user, [start, summary, user]);
  log.compactionEnd(1);
  for (let cut = start + 1; cut <= log.events.length; cut++) {
    const copy = new LogBuilder();
    copy.append(log.events.slice(0, cut));
    copy.append(closersOf(copy.events));
    copy.endSeed();
    const { brackets, surface } = copy.folds();
    assertEquals([brackets.problems.count, brackets.compaction], [0, null]);
    const isReplaced = cut > summary + 1;
    assertEquals(deriveMessages(surface).map((message) => message.id), [isReplaced ? `k${summary + 1}` : "u1"]);
    copy.compaction(null, "k2");
    assertEquals(copy.folds().brackets.problems.count, 0);
  }
});

Deno.test("a settled call is closed with what was settled", () => {
  const begun = (log: LogBuilder) => (log.policy(), log.openStep("a"), log.call("a"), log.marker("a"));
  const last = (write: (log: LogBuilder) => void) => closersAfter(write)[0]!;
  const block = (event: SessionEvent) => (event.data as unknown as EventData["tool/result"]).message.content[0]!;

  const found = last((log) => (begun(log), log.verdict("a", "happened", "receipt 7")));
  assertEquals([short(found), (block(found) as unknown as { isError: boolean }).isError], [
    "a ok receipt 7 from 4",
    false,
  ]);
  const happened = last((log) => (begun(log), log.verdict("a", "happened")));
  assertEquals([textOf(happened), happened.sourceEventSeqs], [HAPPENED_TEXT, [4]]);
  const absent = last((log) => (begun(log), log.verdict("a", "absent")));
  assertEquals([textOf(absent), absent.sourceEventSeqs, (absent.data as unknown as EventData["tool/result"]).error], [
    ABSENT_TEXT,
    [4],
    { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" },
  ]);
  for (const verdict of ["undecidable", "retry"] as const) {
    assertEquals(short(last((log) => (begun(log), log.verdict("a", verdict)))), `a ${UNKNOWN} from 4`);
  }
});

Deno.test("exec/R14: closers hold results, answers and ends, and nothing that runs or forbids anything", () => {
  const log = new LogBuilder();
  log.policy();
  log.openStep("a", "b");
  log.call("a");
  log.marker("a");
  log.asked("q", "b");
  const allowed = new Set(["approval/decided", "tool/result", "step/end", "turn/end"]);
  for (const event of closersOf(log.events)) assert(allowed.has(event.type), event.type);
});

Deno.test("exec/R11, exec/R15: every prefix of a random log is repaired to a log that keeps every rule, once", () => {
  let repaired = 0;
  let questions = 0;
  fc.assert(
    fc.property(randomLogs(), ({ events, ours }) => {
      let folds = logFold.initial();
      for (let length = 0; length <= events.length; length++) {
        if (length > 0) folds = logFold.apply(folds, events[length - 1]!);
        const added = closers(folds);
        assertEquals(JSON.stringify(closers(folds)), JSON.stringify(added));
        if (added.length > 0) repaired++;
        added.forEach((event, index) => {
          assertEquals([event.seq, event.time], [length + index, events[length - 1]!.time]);
          assertEquals([shapeProblem(event), parseRow(encodeRow(event))], [null, event]);
        });
        const after = foldEvents(logFold, added, folds);
        assertEquals([after.brackets.problems.first, after.surface.fault], [[], null]);
        assertEquals([after.brackets.turn, after.brackets.step, closers(after)], [null, null, []]);
        assertEveryCallAnsweredOnce(events.slice(0, length), added);
        const isOurs = ours.some(({ from, to }) => from < length && length <= to);
        const decided = added.filter(({ type }) => type === "approval/decided").map(({ data }) => idOf(data));
        assertEquals(decided, isOurs ? openQuestions(events.slice(0, length)) : []);
        if (decided.length > 0) questions++;
        if (folds.brackets.turn !== null) assert(foldsGoOn(after), "the next turn cannot begin");
      }
    }),
    { seed: 2, numRuns: 120 },
  );
  assert(repaired > 1000, `only ${repaired} prefixes needed repair`);
  assert(questions > 50, `only ${questions} prefixes had a question of ours open`);
});

/** Ids of the questions of the open turn without an answer. */
function openQuestions(events: readonly SessionEvent[]): string[] {
  const turn = events.slice(events.findLastIndex(({ type }) => type === "turn/start" || type === "turn/end") + 1);
  const answered = new Set(turn.filter(({ type }) => type === "approval/decided").map(({ data }) => idOf(data)));
  const asked = turn.filter(({ type }) => type === "approval/asked").map(({ data }) => idOf(data));
  return asked.filter((id) => !answered.has(id));
}

function idOf(data: SessionEvent["data"]): string {
  return (data as { id: string }).id;
}

/** Written from the format's words, without the folds: every block of the open step has exactly one result. */
function assertEveryCallAnsweredOnce(events: readonly SessionEvent[], added: readonly SessionEvent[]): void {
  const isOpen = events.findLastIndex(({ type }) => type === "step/start") >
    events.findLastIndex(({ type }) => type === "step/end" || type === "turn/end");
  if (!isOpen) return;
  const step = events.slice(events.findLastIndex(({ type }) => type === "step/start"));
  const proposed: string[] = [];
  for (const event of step.filter(({ type }) => type === "assistant/message")) {
    const { message } = event.data as unknown as EventData["assistant/message"];
    for (const block of message.content) if (block.type === "tool-call") proposed.push(block.id);
  }
  const results = [...step, ...added].filter((event) => event.type === "tool/result");
  const answered = results.map((event) => (event.data as unknown as EventData["tool/result"]).message.source.callId);
  assertEquals(answered.toSorted(), proposed.toSorted());
}

/** After repair and end-seed the next turn begins, even across a compaction left open. */
function foldsGoOn(folds: ReturnType<typeof logFold.initial>): boolean {
  const { nextSeq: seq } = folds;
  const seeded = logFold.apply(folds, { type: "session/end-seed", seq, time: 1, data: {} });
  const turn = folds.brackets.lastTurn + 1;
  const next = logFold.apply(seeded, { type: "turn/start", seq: seq + 1, time: 1, data: { turn } });
  return next.brackets.problems.count === 0;
}

// "Message ids then may differ in seq" (session-format §9) can only happen when somebody else repaired in between. A crash
// leaves a prefix of the closers, the next one continues at the same seq with the same time: so equality means equal bytes.
Deno.test("exec/R18: a crash between two closers ends in the same log, byte for byte", () => {
  fc.assert(
    fc.property(randomLogs(), fc.nat(), ({ events }, at) => {
      const prefix = events.slice(0, at % (events.length + 1));
      const whole = closersOf(prefix);
      for (let kept = 0; kept <= whole.length; kept++) {
        const again = closersOf([...prefix, ...whole.slice(0, kept)]);
        const log = [...whole.slice(0, kept), ...again];
        assertEquals(log.map(encodeRow), whole.map(encodeRow), `${kept} of ${whole.length} closers kept`);
      }
    }),
    { seed: 3, numRuns: 300 },
  );
});

Deno.test("exec/R18: a crash between two closers of a question, three calls and a verdict ends in the same log", () => {
  const log = new LogBuilder();
  log.policy();
  log.openStep("a", "b", "c");
  log.call("a");
  log.marker("a");
  log.call("b");
  log.asked("q0");
  log.asked("q", "b");
  log.verdict("a", "happened");
  const whole = closersOf(log.events);
  assertEquals(whole.length, 7);
  for (let kept = 0; kept <= whole.length; kept++) {
    const again = closersOf([...log.events, ...whole.slice(0, kept)]);
    assertEquals([...whole.slice(0, kept), ...again].map(encodeRow), whole.map(encodeRow));
  }
});

Deno.test("exec/R18: what another program repaired before it died counts, and only the rest is added", () => {
  const log = new LogBuilder();
  log.policy();
  log.openStep("a", "b");
  log.call("a");
  log.asked("q", "a");
  const [decided, first, ...others] = closersOf(log.events);
  // The other program knows no questions and closes "a" at once, so this message id holds another seq than ours would.
  log.append([JSON.parse(JSON.stringify(first).replaceAll(`${first!.seq}`, `${decided!.seq}`))]);
  const rest = closersOf(log.events);
  assertEquals(rest.map(short), ["decided q", ...others.map(short)]);
  assertEquals(rest.slice(1).map(encodeRow), others.map(encodeRow));
});

Deno.test("a closed log goes on, and a later crash repairs only the later turn", () => {
  const log = new LogBuilder();
  log.policy();
  log.openStep("a");
  log.call("a");
  log.append(closersOf(log.events));
  log.endSeed();
  log.policy();
  log.openStep("b");
  log.call("b");
  log.marker("b");
  assertEquals(log.folds().brackets.problems.first, []);
  assertEquals(closersOf(log.events).map(short), [`b ${UNKNOWN} from ${log.callSeqs.get("b")}`, ...END]);
});

Deno.test("closers() returns frozen events and leaves the folds alone", () => {
  const log = new LogBuilder();
  log.openStep("a");
  const folds = log.folds();
  const before = JSON.stringify(folds);
  for (const event of closers(folds)) assert(Object.isFrozen(event) && Object.isFrozen(event.data));
  assertEquals(JSON.stringify(folds), before);
});
