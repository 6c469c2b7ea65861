import { assertEquals } from "@std/assert";
import { foldEvents, type PendingCalls, pendingCallsFold } from "../../src/fold/mod.ts";
import { argumentsOf, effectKeyOf, LogBuilder } from "./log_builder.ts";

function pending(write: (log: LogBuilder) => void): PendingCalls {
  const log = new LogBuilder();
  write(log);
  return foldEvents(pendingCallsFold, log.events);
}

function calls(state: PendingCalls): [string, number | null][] {
  return state.calls.map((call) => [call.callId, call.callSeq]);
}

Deno.test("pendingCallsFold keeps what the message, the call and the marker say", () => {
  const state = pending((log) => {
    log.policy();
    log.openStep("a");
    log.call("a");
    log.marker("a", { effect: "keyed", retryOf: 1 });
  });
  assertEquals(state.calls, [{
    callId: "a",
    name: "pay",
    arguments: argumentsOf("a"),
    turn: 1,
    step: 1,
    messageSeq: 3,
    callSeq: 4,
    marker: { seq: 5, effectKey: effectKeyOf(4), effect: "keyed", retryOf: 1 },
    barriersOn: true,
    strayMarker: false,
    verdict: null,
  }]);
});

Deno.test("pendingCallsFold follows the format's scan: step/end, turn/end and turn/start leave nothing pending", () => {
  const open = (log: LogBuilder) => (log.openStep("a"), log.call("a"), log.asked("q", "a"));
  const cases: [string, (log: LogBuilder) => void, unknown[]][] = [
    ["open", (log) => open(log), [1, 1, 1, 1]],
    ["step/end", (log) => (open(log), log.endStep()), [1, null, 0, 1]],
    ["turn/end", (log) => (open(log), log.endTurn()), [null, null, 0, 0]],
    ["turn/start", (log) => (open(log), log.startTurn()), [2, null, 0, 0]],
    ["decided", (log) => (open(log), log.decided("q")), [1, 1, 1, 0]],
    ["another question decided", (log) => (open(log), log.decided("r")), [1, 1, 1, 1]],
  ];
  for (const [name, write, expected] of cases) {
    const state = pending(write);
    assertEquals([state.turn, state.step, state.calls.length, state.questions.length], expected, name);
  }
});

Deno.test("two blocks of one message with one id are two calls", () => {
  const write = (log: LogBuilder) => log.openStep("a", "a");
  assertEquals(calls(pending(write)), [["a", null], ["a", null]]);
  assertEquals(calls(pending((log) => (write(log), log.call("a")))), [["a", 3], ["a", null]]);
  assertEquals(calls(pending((log) => (write(log), log.call("a"), log.call("a")))), [["a", 3], ["a", 4]]);
  assertEquals(calls(pending((log) => (write(log), log.call("a"), log.result("a")))), [["a", null]]);
  // A result that cites the second call answers the second.
  const second = (log: LogBuilder) => (write(log), log.call("a"), log.call("a"), log.result("a"));
  assertEquals(calls(pending(second)), [["a", 3]]);
});

Deno.test("a result that cites nothing answers a recorded call before one that was never recorded", () => {
  const state = pending((log) => {
    log.openStep("a", "a");
    log.call("a");
    log.callSeqs.clear();
    log.result("a");
  });
  assertEquals(calls(state), [["a", null]]);
});

Deno.test("a call recorded more often than proposed has the newest seq", () => {
  assertEquals(calls(pending((log) => (log.openStep("a"), log.call("a"), log.call("a")))), [["a", 4]]);
});

Deno.test("a call or a result that nothing proposed changes nothing", () => {
  assertEquals(calls(pending((log) => (log.openStep("a"), log.call("b"), log.result("b")))), [["a", null]]);
});

Deno.test("a replacement of an older result leaves a call with the same id pending", () => {
  const state = pending((log) => {
    log.openStep("a");
    log.call("a");
    const seq = log.result("a");
    log.endStep();
    log.startStep();
    log.assistant(["a"]);
    const op = { op: "replace" as const, startSeq: seq, endSeq: seq };
    log.append([{ ...log.events[seq]!, seq: log.events.length, surfaceOp: op, sourceEventSeqs: [seq] }]);
  });
  assertEquals(calls(state), [["a", null]]);
});

Deno.test("a final verdict stays with its pending call", () => {
  const write = (log: LogBuilder) => (log.openStep("a"), log.call("a"), log.marker("a"));
  const verdictOf = (write: (log: LogBuilder) => void) => pending(write).calls[0]!.verdict;
  const content = [{ type: "text" as const, text: "paid" }];
  assertEquals(verdictOf((log) => (write(log), log.verdict("a", "happened", "paid"))), {
    verdict: "happened",
    content,
  });
  assertEquals(verdictOf((log) => (write(log), log.verdict("a", "absent"))), { verdict: "absent" });
  assertEquals(verdictOf((log) => (write(log), log.verdict("a", "undecidable"))), null);
  assertEquals(verdictOf((log) => (write(log), log.verdict("a", "retry"))), null);
});

Deno.test("nested calls stand under their root until they are settled", () => {
  const write = (log: LogBuilder) => {
    log.openStep("a");
    log.call("a");
    log.marker("a");
    log.nested("a", "a:1");
    log.nested("a", "a:2");
    log.marker("a:2");
  };
  const state = pending(write);
  assertEquals(state.nested.map((call) => [call.rootCallId, call.callId, call.callSeq, call.marker?.seq]), [
    ["a", "a:1", 5, undefined],
    ["a", "a:2", 6, 7],
  ]);
  assertEquals(state.strayMarker, false);
  assertEquals(pending((log) => (write(log), log.nestedResult("a", "a:1"))).nested.map((call) => call.callId), ["a:2"]);
  assertEquals(pending((log) => (write(log), log.endStep())).nested, []);
});

Deno.test("a question remembers whether its lifecycle kept its barriers", () => {
  const barriersOn = (write: (log: LogBuilder) => void) => pending(write).questions.map((each) => each.barriersOn);
  assertEquals(barriersOn((log) => (log.policy(), log.startTurn(), log.asked("q"))), [true]);
  assertEquals(barriersOn((log) => (log.startTurn(), log.asked("q"))), [false]);
  assertEquals(barriersOn((log) => (log.policy(), log.startTurn(), log.asked("q"), log.endSeed())), [false]);
  assertEquals(barriersOn((log) => (log.policy(), log.startTurn(), log.asked("q"), log.salvaged())), [false]);
});
